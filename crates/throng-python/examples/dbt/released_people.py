import throng_privacy as throng


def model(dbt, session):
    dbt.config(materialized="table", packages=["throng-privacy"])
    people = dbt.ref("people")
    release = throng.anonymize(
        people, k=5, p=2, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"]
    )
    return session.from_arrow(release)
