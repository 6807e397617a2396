import polars as pl
import throng_privacy as throng

policy = throng.policy(
    k=5,
    p=2,
    quasi=["age", "zip"],
    sensitive=["diagnosis"],
    identifiers=["name"],
    privacy={"unit": "name"},
    output={"location": "released/people", "mode": "series"},
    series={"ledger": "private/ledger"},
)
people = pl.read_parquet("people.parquet")
throng.run(people.head(500), policy)
written = throng.run(people, policy)  # the next night
assert throng.verify("released/people", policy, ledger=True)

print(written)
