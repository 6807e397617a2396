import throng_privacy as throng
from deltalake import DeltaTable, write_deltalake

release = throng.anonymize(
    DeltaTable("lake/people"), k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"]
)
write_deltalake("lake/released", release)
