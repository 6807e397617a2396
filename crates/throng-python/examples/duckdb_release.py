import duckdb
import throng_privacy as throng

people = duckdb.sql("select * from 'people.parquet' where age >= 18")
release = throng.anonymize(
    people, k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"]
)
by_age = duckdb.sql("select age, count(*) as people from release group by age order by age")

print(by_age)
