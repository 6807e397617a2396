import pandas as pd
import throng_privacy as throng

people = pd.read_parquet("people.parquet")
release = throng.anonymize(
    people, k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"]
)
released = pd.DataFrame.from_arrow(release)

print(released.groupby(["age", "zip"]).size().min())
