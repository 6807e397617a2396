"""A release every night, by a worker that has the binary `throng` on its PATH.

The exit code decides what happens after a failure: 75 is worth another try, everything else needs attention.
The last line that Throng prints is one JSON object with the outcome, which becomes the XCom of the task.

THRONG_SECRET, which keys the random choices of every release, must be in the environment of all workers, the same in each.
"""

import json
import os
import signal
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

TRY_AGAIN = 75

# After SIGTERM a run removes what it has staged, for up to 30 s, and gives back its spill files, for up to 5 s.
GRACE_SECONDS = 45


class ThrongOperator(BaseOperator):
    """Runs one command of Throng."""

    template_fields = ("arguments", "env")

    def __init__(self, *, arguments: list[str], env: dict[str, str] | None = None, **kwargs):
        super().__init__(**kwargs)
        self.arguments = arguments
        self.env = env or {}
        self.process = None

    def execute(self, context):
        """Returns the outcome, or raises what makes Airflow try again or not."""
        self.process = subprocess.Popen(
            ["throng", *self.arguments],
            env={**os.environ, **self.env},
            stdout=subprocess.PIPE,
            text=True,
        )
        printed, _ = self.process.communicate()
        code = self.process.returncode
        lines = printed.splitlines()
        outcome = json.loads(lines[-1]) if lines else {}
        if code == 0:
            return outcome
        message = f"throng ended with {code}: {outcome.get('error', 'see the log')}"
        if code == TRY_AGAIN:
            raise AirflowException(message)
        raise AirflowFailException(message)

    def on_kill(self):
        """Lets the run clean up before it is killed."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()


with DAG(
    dag_id="census_release",
    description="Anonymizes the census of the day",
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    default_args={
        "retries": 4,
        "retry_delay": timedelta(minutes=2),
        "retry_exponential_backoff": True,
        "max_retry_delay": timedelta(hours=1),
        "execution_timeout": timedelta(hours=4),
    },
) as dag:
    locations = {
        "CENSUS_INPUT": "s3://census/raw/{{ ds }}/",
        "CENSUS_OUTPUT": "s3://census-public/{{ ds }}/",
        "OPENLINEAGE_NAMESPACE": "census",
    }
    check = ThrongOperator(
        task_id="check",
        arguments=["check", "/etc/throng/census.toml"],
        env=locations,
    )
    release = ThrongOperator(
        task_id="release",
        arguments=[
            "run",
            "/etc/throng/census.toml",
            "--memory-limit=1536MiB",
            "--log-format=json",
            "--lineage-file=/var/lib/throng/lineage/census.json",
        ],
        env=locations,
    )
    check >> release
