import throng_privacy as throng
from datafusion import SessionContext

policy = throng.policy(k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"])

ctx = SessionContext()
ctx.register_parquet("people", "people.parquet")
ctx.register_table("released", throng.table(ctx.table("people"), policy, memory_limit="1GiB"))
print(ctx.sql("select age, count(*) as people from released group by age order by age"))

throng.register(ctx)
print(ctx.sql("select k_anonymity(age, zip) as k, p_sensitivity(diagnosis, age, zip) as p from released"))
