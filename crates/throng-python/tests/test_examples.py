"""The examples of the guide and of the README of the package, which run as they are."""

from __future__ import annotations

import re
import runpy
import sys
import types
from pathlib import Path

import duckdb
import jinja2
import polars as pl
import pytest

import throng_privacy as throng
from conftest import EXAMPLES, POLICY_OF_PEOPLE

README = Path(__file__).parent.parent / "README.md"
SCHEDULERS = {"airflow_dag.py", "dagster_asset.py"}


@pytest.fixture
def people(people_folder, monkeypatch) -> pl.DataFrame:
    """The folder of the people, with a hierarchy, as the current one; and the table."""
    monkeypatch.chdir(people_folder)
    monkeypatch.setenv("THRONG_LEDGER_KEY", "a key of these tests alone, and long enough")
    frame = pl.read_parquet("people.parquet")
    codes = sorted(set(frame["zip"]))
    Path("zip.csv").write_text("".join(f"{code};{code[:4]}*;*\n" for code in codes))
    return frame


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in SCHEDULERS))
def test_an_example_runs(name, people):
    if name == "delta_release.py":
        from deltalake import DeltaTable, write_deltalake

        write_deltalake("lake/people", people)
    found = runpy.run_path(str(EXAMPLES / name))
    if "release" in found:
        assert found["release"].verify().smallest_class >= 5
    if name == "delta_release.py":
        assert DeltaTable("lake/released").to_pyarrow_table().num_rows == 600
    if name == "look_first.py":
        assert Path("released/people/_throng/report.html").exists()


def test_the_readme_of_the_package_runs(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    found: dict[str, object] = {}
    exec(compile(block, str(README), "exec"), found)
    assert found["released"].height == 10_000


def test_the_model_and_the_test_of_dbt(people):
    connection = duckdb.connect()
    dbt = types.SimpleNamespace(config=lambda **_: None, ref=lambda name: connection.from_arrow(people))
    model = runpy.run_path(str(EXAMPLES / "dbt" / "released_people.py"))["model"]
    released = model(dbt, connection)
    assert len(released.fetchall()) == 600
    text = (EXAMPLES / "dbt" / "k_anonymous.sql").read_text()
    body = re.sub(r"\{% (test .*?|endtest) %\}", "", text)
    query = jinja2.Template(body).render(model="released", quasi=["age", "zip"], k=5)
    released.create("released")
    assert connection.sql(query).fetchall() == []
    connection.from_arrow(people).create("people")
    assert connection.sql(query.replace("released", "people")).fetchall() != []


def _module(name: str, **content: object) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(content)
    return module


class _Failed(Exception):
    pass


class _Result:
    """Stands in for a generic class with metadata."""

    def __init__(self, metadata: dict[str, object]) -> None:
        self.metadata = metadata

    def __class_getitem__(cls, _: object) -> type:
        return cls


def test_the_task_of_airflow(people, monkeypatch):
    """Airflow is not installed; its decorators are stood in for, and the task runs when it is called."""
    results: list[object] = []

    def task(**_: object):
        return lambda function: lambda: results.append(function())

    monkeypatch.setitem(sys.modules, "airflow", _module("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk", _module("airflow.sdk", dag=lambda **_: lambda function: function, task=task))
    monkeypatch.setitem(sys.modules, "airflow.sdk.exceptions", _module("airflow.sdk.exceptions", AirflowFailException=_Failed))
    runpy.run_path(str(EXAMPLES / "airflow_dag.py"))
    assert results[0]["rows"] == 600
    Path("policy.toml").write_text(POLICY_OF_PEOPLE.replace("k = 5", "k = 5000"))
    with pytest.raises(_Failed, match="can't be met"):
        runpy.run_path(str(EXAMPLES / "airflow_dag.py"))


def test_the_asset_of_dagster(people, monkeypatch):
    """Dagster is not installed; its decorators are stood in for."""
    stand_in = _module(
        "dagster",
        asset=lambda function: function,
        asset_check=lambda **_: lambda function: function,
        MaterializeResult=_Result,
        AssetCheckResult=lambda passed: passed,
    )
    monkeypatch.setitem(sys.modules, "dagster", stand_in)
    found = runpy.run_path(str(EXAMPLES / "dagster_asset.py"))
    assert found["released_people"]().metadata["rows"] == 600
    assert found["keeps_its_promise"]() is True
    assert throng.verify("released/people", "policy.toml").holds
