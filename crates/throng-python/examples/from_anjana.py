# anjana: k_anonymity(data, ["name"], ["age", "zip"], 5, supp_level, hierarchies)
# pycanon: anonymity.k_anonymity(data, ["age", "zip"]); anonymity.l_diversity(data, ["age", "zip"], ["diagnosis"])
import pandas as pd
import throng_privacy as throng

people = pd.read_parquet("people.parquet")
before = throng.risk(people, quasi=["age", "zip"], sensitive=["diagnosis"])
print("k was", before.smallest_class, "and l was", before.to_dict()["sensitive"][0]["fewest"])

release = throng.anonymize(
    people, k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"]
)
found = release.verify()
print("k is", found.smallest_class, "and l is", found.sensitive[0]["fewest"])
