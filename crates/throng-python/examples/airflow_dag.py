from airflow.sdk import dag, task


@dag(schedule="@daily")
def release_people() -> None:
    @task(retries=3)
    def release() -> dict[str, object]:
        import throng_privacy as throng
        from airflow.sdk.exceptions import AirflowFailException

        try:
            made = throng.anonymize("people.parquet", "policy.toml")
            return made.write("released/people", overwrite=True).to_dict()
        except throng.TemporaryError:
            raise  # another attempt may succeed
        except throng.ThrongError as error:
            raise AirflowFailException(str(error)) from None

    release()


release_people()
