import throng_privacy as throng

risk = throng.risk("people.parquet", quasi=["age", "zip"], sensitive=["diagnosis"])
print(f"{risk.uniques} of {risk.rows} rows are unique, the average risk is {risk.average:.2f}")

draft = throng.draft("people.parquet")
for question in draft.questions:
    print(question.path, "-", question.hint)
policy = draft.answer({"privacy.p": 2}, name="identifier", age="quasi", zip="quasi", diagnosis="sensitive")

plan, bound = throng.plan("people.parquet", policy, k=5), throng.bound("people.parquet", policy, k=5)
print(f"{plan.leaves} leaves; the release loses {bound.loss:.3f}, and none loses less than {bound.lower_bound:.3f}")

swept = throng.sweep("people.parquet", policy, k=[5, 10, 20], loss=0.25)
k = swept.best.k if swept.best else 5
release = throng.anonymize("people.parquet", policy, k=max(k, 10))
release.write("released/people", report=True)
assert throng.verify("released/people", policy, k=10)
