"""Shared fixtures: a secret of the tests alone, and a table of people in every library."""

from __future__ import annotations

import os
from pathlib import Path

# Before the package is used: no test reads or makes the secret of a user.
os.environ["THRONG_SECRET"] = "a secret of these tests alone"

import datafusion
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import throng_privacy as throng

ROWS = 3000

POLICY = {
    "version": 1,
    "privacy": {"k": 5, "p": 2},
    "columns": {
        "default": "drop",
        "age": {"role": "quasi"},
        "region": {"role": "quasi"},
        "sex": {"role": "quasi"},
        "occupation": {"role": "sensitive"},
        "hours": {"role": "insensitive"},
    },
}


EXAMPLES = Path(__file__).parent.parent / "examples"

#: A policy for the people of the examples.
POLICY_OF_PEOPLE = """
version = 1
privacy = { k = 5, p = 2 }
columns.name.role = "identifier"
columns.age.role = "quasi"
columns.zip.role = "quasi"
columns.diagnosis.role = "sensitive"
"""


@pytest.fixture
def people_folder(tmp_path: Path) -> Path:
    """A folder with the people of the examples and a policy for them."""
    rows = range(600)
    frame = pl.DataFrame(
        {
            "name": [f"Person {row}" for row in rows],
            "age": [18 + row * row % 59 for row in rows],
            "zip": [str(41000 + row * 7 % 41) for row in rows],
            "diagnosis": [("flu", "gout", "asthma", "cold")[row * row % 11 % 4] for row in rows],
        }
    )
    frame.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "policy.toml").write_text(POLICY_OF_PEOPLE)
    return tmp_path


@pytest.fixture(autouse=True)
def messages(monkeypatch: pytest.MonkeyPatch):
    """Fails a test in which the message of an exception names a flag of the command, which has no meaning here."""
    seen: list[str] = []
    made = throng.ThrongError.__init__

    def see(error: throng.ThrongError, message: str, **fields: object) -> None:
        seen.append(message)
        made(error, message, **fields)

    monkeypatch.setattr(throng.ThrongError, "__init__", see)
    yield
    assert not [message for message in seen if "--" in message]


@pytest.fixture(scope="session")
def census() -> pa.Table:
    """A synthetic census, as a table of pyarrow."""
    return pa.table(throng.generate_census(ROWS, seed=7))


@pytest.fixture
def policy() -> dict:
    """A policy for the census."""
    return {name: dict(section) if isinstance(section, dict) else section for name, section in POLICY.items()}


def _duckdb(table: pa.Table) -> object:
    return duckdb.connect().from_arrow(table)


def _datafusion(table: pa.Table) -> object:
    return datafusion.SessionContext().from_arrow(table)


FRAMES = {
    "pyarrow": lambda table: table,
    "pyarrow-reader": lambda table: table.to_reader(max_chunksize=700),
    "pyarrow-dataset": lambda table: pa.dataset.dataset(table),
    "pandas": lambda table: pd.DataFrame.from_arrow(table),
    "polars": lambda table: pl.DataFrame(table),
    "polars-lazy": lambda table: pl.LazyFrame(table),
    "duckdb": _duckdb,
    "datafusion": _datafusion,
    "census": lambda table: throng.generate_census(table.num_rows, seed=7),
}


@pytest.fixture(params=list(FRAMES))
def frame(request: pytest.FixtureRequest, census: pa.Table) -> object:
    """The census in each library."""
    import pyarrow.dataset  # noqa: F401 - used by one of them

    return FRAMES[request.param](census)


@pytest.fixture(scope="session")
def command():
    """Runs the command of the package."""
    import subprocess
    import sys

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "throng_privacy", *map(str, arguments)]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)

    return run
