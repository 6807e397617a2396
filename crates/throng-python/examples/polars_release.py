import polars as pl
import throng_privacy as throng

people = pl.read_parquet("people.parquet")
release = throng.anonymize(
    people, k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"]
)
released = pl.DataFrame(release)

print(released.group_by("age", "zip").len().sort("len").head(3))
