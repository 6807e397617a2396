import polars as pl
import throng_privacy as throng
from throng_privacy import hierarchy

people = pl.read_parquet("people.parquet")
codes = people.select("zip").unique().with_columns(area=pl.col("zip").str.slice(0, 2), all=pl.lit("*"))

policy = throng.policy(
    k=5,
    p=2,
    quasi={
        "age": {"hierarchy": hierarchy.intervals(5, 10, 20), "weight": 2.0},
        "zip": {"hierarchy": codes},
    },
    sensitive={"diagnosis": {"p": 3}},
    identifiers=["name"],
    algorithm={"budget": "thorough"},
)
release = throng.anonymize(people, policy)
