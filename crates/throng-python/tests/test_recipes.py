"""The recipes for dbt, Dagster and Airflow, run by these packages.

They need hundreds of packages, so that each has an environment of its own, which is made in the cache of the user when
THRONG_RECIPES=1 asks for it (about two minutes and 1 GB). Without it these tests are skipped, and say so; `test_examples.py` then runs
the recipes with stand-ins.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import throng_privacy as throng
from conftest import EXAMPLES, POLICY_OF_PEOPLE

PINNED = Path(__file__).parent / "recipes"
PACKAGE = Path(throng.__file__).parent
QUASI = ["age", "zip"]


def environment(name: str) -> Path:
    """The programs of an environment with a package, or a skip."""
    if os.environ.get("THRONG_RECIPES") != "1":
        pytest.skip(f"{name} is not installed for the tests; THRONG_RECIPES=1 installs it")
    pinned = (PINNED / f"{name}.txt").read_bytes()
    digest = hashlib.sha256(pinned + sys.version.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "throng" / "python"
    folder = cache / f"{name}-{digest}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
        subprocess.run([folder / "bin/python", *install, "--requirement", PINNED / f"{name}.txt"], check=True)
        (folder / "complete").touch()
    return folder / "bin"


@pytest.fixture
def people(people_folder) -> Path:
    """A folder with a table of people and a policy."""
    return people_folder


def alone(folder: Path) -> Path:
    """A folder that has this package and no other: where it is installed, the packages of the tests may be too."""
    packages = folder / "package"
    packages.mkdir(exist_ok=True)
    if not (packages / PACKAGE.name).exists():
        (packages / PACKAGE.name).symlink_to(PACKAGE)
    return packages


def run(folder: Path, *line: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of an environment, with this package beside its own."""
    outside = {**os.environ, "PYTHONPATH": str(alone(folder)), "NO_COLOR": "1", **variables}
    return subprocess.run(
        [str(part) for part in line], cwd=folder, env=outside, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_model_and_the_test_run_in_dbt(people):
    programs = environment("dbt")
    (people / "models").mkdir()
    (people / "tests" / "generic").mkdir(parents=True)
    shutil.copy(EXAMPLES / "dbt" / "released_people.py", people / "models")
    shutil.copy(EXAMPLES / "dbt" / "k_anonymous.sql", people / "tests" / "generic")
    (people / "models" / "people.sql").write_text("select * from read_parquet('people.parquet')")
    tested = [{"name": name, "data_tests": [{"k_anonymous": {"arguments": {"quasi": QUASI, "k": 5}}}]} for name in ("people", "released_people")]
    # JSON is YAML.
    (people / "models" / "schema.yml").write_text(json.dumps({"models": tested}))
    (people / "dbt_project.yml").write_text(json.dumps({"name": "recipes", "version": "1.0", "profile": "recipes"}))
    profile = {"target": "dev", "outputs": {"dev": {"type": "duckdb", "path": "people.duckdb"}}}
    (people / "profiles.yml").write_text(json.dumps({"recipes": profile}))
    dbt = [programs / "dbt", "--no-send-anonymous-usage-stats"]
    assert run(people, *dbt, "run", "--select", "people").returncode == 0
    done = run(people, *dbt, "build", "--select", "released_people")
    assert done.returncode == 0, done.stdout
    assert "PASS=2" in done.stdout
    released = duckdb.connect(str(people / "people.duckdb"), read_only=True)
    ((rows, ages),) = released.sql("select count(*), count(distinct age) from released_people").fetchall()
    released.close()
    assert rows == 600
    assert 1 < ages < 59
    # The test finds a table that is not anonymous.
    refused = run(people, *dbt, "test", "--select", "people")
    assert refused.returncode == 1
    assert "FAIL" in refused.stdout


RUN_DAGSTER = """
import json, runpy, sys
from dagster import Definitions
found = runpy.run_path(sys.argv[1])
definitions = Definitions(assets=[found["released_people"]], asset_checks=[found["keeps_its_promise"]])
done = definitions.get_implicit_global_asset_job_def().execute_in_process(raise_on_error=False)
made = done.asset_materializations_for_node("released_people") if done.success else []
passed = [check.passed for check in done.get_asset_check_evaluations()]
print(json.dumps({"success": done.success, "passed": passed, "rows": [one.metadata["rows"].value for one in made]}))
"""


def test_the_asset_and_its_check_run_in_dagster(people):
    programs = environment("dagster")
    line = [programs / "python", "-c", RUN_DAGSTER, EXAMPLES / "dagster_asset.py"]
    done = run(people, *line, DAGSTER_HOME="", DAGSTER_DISABLE_TELEMETRY="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"success": True, "passed": [True], "rows": [600]}
    assert throng.verify(people / "released" / "people", people / "policy.toml").rows == 600
    (people / "policy.toml").write_text(POLICY_OF_PEOPLE.replace("k = 5", "k = 5000"))
    failed = run(people, *line, DAGSTER_HOME="", DAGSTER_DISABLE_TELEMETRY="1")
    assert json.loads(failed.stdout.splitlines()[-1]) == {"success": False, "passed": [], "rows": []}
    assert "PrivacyError" in failed.stderr


def test_the_task_runs_in_airflow(people):
    programs = environment("airflow")
    (people / "dags").mkdir()
    shutil.copy(EXAMPLES / "airflow_dag.py", people / "dags")
    variables = {
        "AIRFLOW_HOME": str(people / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(people / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    migrated = run(people, programs / "airflow", "db", "migrate", **variables)
    assert migrated.returncode == 0, migrated.stderr
    done = run(people, programs / "airflow", "dags", "test", "release_people", **variables)
    assert "state=success" in done.stdout + done.stderr, done.stdout + done.stderr
    assert throng.verify(people / "released" / "people", people / "policy.toml").rows == 600
    (people / "policy.toml").write_text(POLICY_OF_PEOPLE.replace("k = 5", "k = 5000"))
    failed = run(people, programs / "airflow", "dags", "test", "release_people", **variables)
    output = failed.stdout + failed.stderr
    assert "state=failed" in output, output
    # No second attempt, as none can succeed.
    assert "AirflowFailException" in output
    assert "up_for_retry" not in output.lower()


@pytest.mark.parametrize(("name", "example"), [("dagster", "dagster_asset.py"), ("airflow", "airflow_dag.py")])
def test_mypy_is_content_with_a_recipe(name, example, tmp_path):
    installed = environment(name) / "python"
    line = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--python-executable", installed]
    done = run(tmp_path, *line, "--cache-dir", tmp_path / "cache", EXAMPLES / example, MYPYPATH=str(alone(tmp_path)))
    assert done.returncode == 0, done.stdout
