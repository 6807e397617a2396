import throng_privacy as throng

policy = throng.policy(k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"])
release = throng.anonymize("people.parquet", policy)

attack = throng.attack(release, "people.parquet", policy)
assert attack["linkage"].gain <= 1.0
for outcome in attack.above(1.5):
    print(outcome)

utility = throng.utility(release, "people.parquet", policy)
print(f"counts are wrong by {utility.median_query_error:.1%} in the median")

again = throng.anonymize("people.parquet", policy, seed=1)
together = throng.diff(release, again, policy)
print(f"{together.people_below_k} of {together.people} people have fewer than k candidates in both together")
