# ARX: data.getDefinition().setAttributeType("zipcode", Hierarchy.create("zipcode.csv"))
#      config.addPrivacyModel(new KAnonymity(5)); config.addPrivacyModel(new DistinctLDiversity("disease", 2))
import throng_privacy as throng
from throng_privacy import hierarchy

release = throng.anonymize(
    "people.parquet",
    k=5,
    p=2,
    quasi={"zip": {"hierarchy": hierarchy.from_csv("zip.csv")}, "age": {}},
    sensitive=["diagnosis"],
    identifiers=["name"],
)
