"""Throng in sessions of DataFusion for Python."""

from __future__ import annotations

import gc
import importlib.metadata
import subprocess
import sys
import textwrap
import weakref

import datafusion
import pyarrow as pa
import pyarrow.compute
import pytest

import throng_privacy as throng

from conftest import ROWS

TOML = """
version = 1
privacy = { k = 5, p = 2 }
columns.default = "drop"
columns.age.role = "quasi"
columns.region.role = "quasi"
columns.sex.role = "quasi"
columns.occupation.role = "sensitive"
columns.hours.role = "insensitive"
"""


@pytest.fixture
def ctx(census) -> datafusion.SessionContext:
    """A session with the census."""
    session = datafusion.SessionContext()
    session.register_record_batches("people", [census.to_batches()])
    return session


def rows(frame: datafusion.DataFrame) -> list[dict]:
    return pa.table(frame).to_pylist()


def test_a_release_is_a_table(ctx, census, policy):
    release = throng.table(census, policy, memory_limit="1GiB")
    ctx.register_table("released", release)
    assert rows(ctx.sql("select count(*) as n from released")) == [{"n": ROWS}]
    smallest = "select min(n) as n from (select count(*) as n from released group by age, region, sex)"
    assert rows(ctx.sql(smallest))[0]["n"] >= 5
    assert rows(ctx.sql("select sum(hours) as h from released where age > '3' limit 1"))
    assert pa.table(ctx.table("released")).num_rows == ROWS


def test_a_table_of_a_session_is_an_input(ctx, census, policy):
    ctx.sql("create view adults as select * from people where age >= 18")
    expected = pa.table(throng.anonymize(census, policy)).to_pylist()
    assert pa.table(throng.anonymize(ctx.table("people"), policy)).to_pylist() == expected
    provider = ctx.catalog().schema().table("people")
    if hasattr(provider, "__datafusion_table_provider__"):
        assert pa.table(throng.anonymize(provider, policy)).to_pylist() == expected


def test_sql_functions(ctx, census, tmp_path):
    throng.register(ctx)
    query = f"select count(*) as n, min(age) as age from anonymize('people', '{TOML}')"
    first = rows(ctx.sql(query))
    assert first[0]["n"] == ROWS
    found = rows(ctx.sql("select k_anonymity(age, region, sex) as k, p_sensitivity(occupation, sex) as p from people"))
    assert found[0]["k"] == throng.risk(census, quasi=["age", "region", "sex"]).smallest_class
    assert found[0]["p"] > 2
    (tmp_path / "city.csv").write_text("Paris;France;*\nRome;Italy;*\n")
    assert rows(ctx.sql(f"select generalize('Rome', '{tmp_path / 'city.csv'}', 1) as country")) == [{"country": "Italy"}]


def test_a_release_is_made_once_per_session_and_table(ctx, monkeypatch):
    calls = []
    made = throng.sql.anonymize
    monkeypatch.setattr(throng.sql, "anonymize", lambda *given, **settings: calls.append(given) or made(*given, **settings))
    throng.register(ctx)
    query = f"select age, count(*) as n from anonymize('people', '{TOML}') group by age order by age"
    assert rows(ctx.sql(query)) == rows(ctx.sql(query))
    assert len(calls) == 1


def test_a_release_follows_its_table_and_its_policy(ctx, census, tmp_path):
    throng.register(ctx)
    path = tmp_path / "policy.toml"
    path.write_text(TOML)
    query = f"select count(*) as n, count(distinct age) as ages from anonymize('people', '{path}')"
    before = rows(ctx.sql(query))
    assert before[0]["n"] == ROWS
    ctx.deregister_table("people")
    ctx.register_record_batches("people", [census.slice(0, 1000).to_batches()])
    assert rows(ctx.sql(query))[0]["n"] == 1000
    ctx.deregister_table("people")
    shifted = census.set_column(2, "age", pa.compute.add(census["age"], 1).cast(pa.int32()))
    ctx.register_record_batches("people", [shifted.to_batches()])
    assert rows(ctx.sql(query))[0]["n"] == ROWS
    ages = f"select distinct age from anonymize('people', '{path}') order by age"
    alone = sorted(set(pa.table(throng.anonymize(shifted, TOML))["age"].to_pylist()))
    assert [row["age"] for row in rows(ctx.sql(ages))] == alone
    fine = rows(ctx.sql(query))[0]["ages"]
    path.write_text(TOML.replace("k = 5", "k = 500"))
    assert rows(ctx.sql(query))[0]["ages"] < fine


def test_a_session_with_functions_is_freed(census):
    session = datafusion.SessionContext()
    throng.register(session)
    seen = weakref.ref(session)
    del session
    gc.collect()
    assert seen() is None


def test_ctrl_c_is_not_held_up_by_a_release_of_a_query():
    text = """
        import os, signal, threading, time
        import datafusion, pyarrow as pa, throng_privacy as throng
        ctx = datafusion.SessionContext()
        ctx.register_record_batches("people", [pa.table(throng.generate_census(1_000_000)).to_batches()])
        throng.register(ctx)
        sent = []
        def interrupt():
            time.sleep(2)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        toml = 'version = 1\\nprivacy.k = 5\\nalgorithm.budget = "thorough"\\ncolumns.default = "drop"\\n' + "".join(
            f'columns.{name}.role = "quasi"\\n' for name in ("age", "region", "sex", "education", "industry", "race")
        )
        try:
            ctx.sql(f"select count(*) from anonymize('people', '{toml}')").collect()
            print("was done before")
        except BaseException as error:
            print(time.monotonic() - sent[0], type(error).__name__)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    seconds, _ = done.stdout.split(maxsplit=1)
    assert float(seconds) < 5, done.stdout


def test_an_error_of_a_function_has_its_message_and_no_value(ctx):
    throng.register(ctx)
    with pytest.raises(Exception, match="can't be met|privacy") as caught:
        rows(ctx.sql("select * from anonymize('people', '" + TOML.replace("k = 5", "k = 5000") + "')"))
    assert "00-1011" not in str(caught.value)


@pytest.mark.parametrize("version", ["54.0.0", "56.1.0", "155.0"])
def test_another_version_of_datafusion_is_an_exception_that_names_the_right_one(version, ctx, census, policy, monkeypatch):
    release = throng.anonymize(census, policy)
    installed = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version if name == "datafusion" else installed(name))
    for call in (
        lambda: ctx.register_table("released", release),
        lambda: throng.register(ctx),
        lambda: throng.table(census, policy),
    ):
        with pytest.raises(throng.UsageError, match="datafusion==55"):
            call()
