# sdcMicro: sdc <- createSdcObj(people, keyVars = c("age", "zip"), sensibleVar = "diagnosis")
#           sdc <- kAnon(sdc, k = 5); print(sdc, "risk"); microaggregation(sdc, variables = "income")
import throng_privacy as throng

risk = throng.risk("people.parquet", quasi=["age", "zip"])
release = throng.anonymize(
    "people.parquet",
    k=5,
    quasi={"age": {"release": "mean"}, "zip": {}},
    sensitive=["diagnosis"],
    identifiers=["name"],
)
print(risk.highest, release.metrics["risk"]["after"]["prosecutor"]["highest"])
