import throng_privacy as throng

try:
    throng.anonymize("people.parquet", k=5, p=9, quasi=["age"], sensitive=["diagnosis"])
except throng.PolicyError as error:
    for problem in error.problems:
        print(problem.path, problem.message)

try:
    throng.anonymize(
        "people.parquet", k=50, p=40, quasi=["age"], sensitive=["diagnosis"], unlisted="drop"
    )
except throng.PrivacyError as error:
    print(error.column, error.exit_code)
