"""Runs that publish: series, appends and linked tables; and what the command reports without a release: plan, bound, units."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import throng_privacy as throng
from store import store

QUASI = ["age", "region", "sex"]
NAMED = {"quasi": QUASI, "sensitive": ["occupation"], "insensitive": ["hours"], "unlisted": "drop"}


@pytest.fixture
def file(census, tmp_path):
    """The census as a file."""
    path = tmp_path / "people.parquet"
    pq.write_table(census, path)
    return path


@pytest.fixture
def toml(file, tmp_path):
    """The policy of the tests as a file, for the command."""
    path = tmp_path / "policy.toml"
    lines = [
        "version = 1",
        f"input.location = '{file}'",
        f"output.location = '{tmp_path / 'out'}'",
        "privacy = { k = 5, p = 2 }",
        "columns.default = 'drop'",
        *(f"columns.{name}.role = 'quasi'" for name in QUASI),
        "columns.occupation.role = 'sensitive'",
        "columns.hours.role = 'insensitive'",
    ]
    path.write_text("\n".join(lines))
    return path


def answer(done) -> dict:
    """The outcome of a command."""
    return json.loads(done.stdout.splitlines()[-1])


def test_warnings_are_seen_before_a_release_is_published(census, file, toml, tmp_path, command):
    toml.write_text(toml.read_text() + "\ncolumns.name.role = 'identifier'\n")
    expected = answer(command("run", toml))["warnings"]
    assert any("k counts rows and not people" in warning for warning in expected)
    sidecar = json.loads((tmp_path / "out" / "_throng" / "metrics.json").read_text())
    assert sidecar["privacy"]["repeating_identifiers"] == 1
    for name, data in (("of-file", file), ("of-table", census), ("of-frame", pl.DataFrame(census))):
        release = throng.anonymize(data, toml)
        assert release.warnings == expected
        written = release.write(tmp_path / name)
        assert written.warnings == expected
        for metrics in (release.metrics, written.metrics):
            assert metrics["privacy"]["repeating_identifiers"] == 1
        assert throng.run(data, toml, output=tmp_path / f"run-{name}").warnings == expected
        for found in (throng.check(data, toml), throng.plan(data, toml)):
            assert expected[0] in found.warnings
    assert throng.anonymize(census.to_reader(), toml).warnings == expected[1:], "a stream is read once"


def test_a_stream_is_read_once_unless_the_policy_needs_it_again(frame, policy, tmp_path, monkeypatch):
    assert throng.run(frame, policy, output=tmp_path / "once").rows == 3000
    reads = []
    opened = throng._data.open_data
    monkeypatch.setattr(throng._data, "open_data", lambda data, **how: reads.append(how["reads"]) or opened(data, **how))
    people = pl.LazyFrame(throng.generate_census(3000, seed=7))
    throng.run(people, policy, output=tmp_path / "again")
    throng.run(people, {**policy, "privacy": {"k": 5, "p": 2, "attacks": {"max_gain": 1000.0}}}, output=tmp_path / "examined")
    assert reads == [1, 2]


def test_a_run_publishes_what_the_command_does(census, toml, tmp_path, command, monkeypatch):
    assert command("run", toml).returncode == 0
    expected = (tmp_path / "out" / "part-00000.parquet").read_bytes()
    with pytest.raises(throng.PolicyError, match="already holds files"):
        throng.run(None, toml)
    for number, data in enumerate((None, census, census.to_reader())):
        written = throng.run(data, toml, output=tmp_path / str(number))
        assert (written.rows, written.files, written.location) == (3000, 1, str(tmp_path / str(number)))
        assert (tmp_path / str(number) / "part-00000.parquet").read_bytes() == expected
        assert written.metrics == json.loads((tmp_path / str(number) / "_throng" / "metrics.json").read_text())
        assert written.metrics["run_id"] == written.run_id
    assert throng.run(census, toml, overwrite=True).location == str(tmp_path / "out")
    toml.write_text("".join(line for line in toml.read_text().splitlines(keepends=True) if not line.startswith("output")))
    with pytest.raises(throng.PolicyError, match="output"):
        throng.run(census, toml)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(throng.UsageError, match="output=..."):
        throng.run(census, throng.policy(k=5, **NAMED))
    assert not (tmp_path / "release").exists()


@pytest.fixture
def series(tmp_path, monkeypatch) -> dict:
    """A policy of a series."""
    monkeypatch.setenv("THRONG_LEDGER_KEY", "a key of these tests alone, and long enough")
    return throng.policy(
        k=5,
        p=2,
        quasi=QUASI,
        sensitive=["occupation"],
        identifiers=["person_id"],
        unlisted="drop",
        privacy={"unit": "person_id"},
        output={"location": str(tmp_path / "out"), "mode": "series"},
        series={"ledger": str(tmp_path / "ledger")},
    )


def test_a_series_is_published_from_frames_and_verified_with_its_ledger(series, tmp_path):
    people = pl.DataFrame(throng.generate_census(3000, seed=5))
    assert people["person_id"].n_unique() == 3000
    first = throng.run(people.head(2700), series)
    assert first.rows == 2700
    shutil.copy(tmp_path / "out" / "part-00000.parquet", tmp_path / "night-1.parquet")
    second = throng.run(people.slice(1, 2999), series)
    assert second.rows >= 2700
    found = throng.verify(tmp_path / "out", series, against=[tmp_path / "night-1.parquet"], ledger=True, raises=False)
    assert found, str(found.to_dict())
    assert found.to_dict()["ledger"]["releases"] == 2
    assert [one["rows_below_k"] for one in found.against] == [0]
    # The same people without a series single out others, together with the first night.
    plain = throng.anonymize(people.slice(1, 2999), k=5, p=2, quasi=QUASI, sensitive=["occupation"], unlisted="drop")
    plain.write(tmp_path / "plain")
    rules = throng.policy(k=5, p=2, quasi=QUASI, sensitive=["occupation"], unlisted="drop")
    with pytest.raises(throng.VerificationError) as caught:
        throng.verify(tmp_path / "plain", rules, against=[tmp_path / "night-1.parquet"])
    assert caught.value.verification is not None
    assert caught.value.verification.against[0]["rows_below_k"] > 0


def test_a_release_of_a_series_is_not_made_without_its_ledger(series, census, tmp_path):
    with pytest.raises(throng.PolicyError, match="ledger"):
        throng.anonymize(census, series)
    with pytest.raises(throng.UsageError, match="location of the release"):
        throng.verify(census, series, ledger=True)
    assert not (tmp_path / "out").exists()


def test_files_are_appended_once(census, toml, tmp_path):
    toml.write_text(toml.read_text().replace("people.parquet", "in/") + "\noutput.mode = 'append'\n")
    (tmp_path / "in").mkdir()
    pq.write_table(census.slice(0, 2000), tmp_path / "in" / "1.parquet")
    assert throng.run(None, toml).rows == 2000
    again = throng.run(None, toml)
    assert again.is_unchanged and again.metrics == {} and "nothing" in repr(again)
    pq.write_table(census.slice(2000), tmp_path / "in" / "2.parquet")
    appended = throng.run(None, toml)
    assert appended.rows == 1000
    assert appended.to_dict()["append"]["total_rows"] == 3000
    with pytest.raises(throng.PolicyError, match="table of the host"):
        throng.run(census, toml)
    release = throng.anonymize(census, toml)
    with pytest.raises(throng.PolicyError, match="appended by a run"):
        release.write(tmp_path / "out")


def test_linked_tables_are_verified_together(tmp_path):
    people = pl.DataFrame({"id": range(300), "age": [20 + row * 7 % 40 for row in range(300)]})
    visits = pl.DataFrame({"who": [row % 300 for row in range(600)], "day": [row * 11 % 30 for row in range(600)]})
    people.write_parquet(tmp_path / "people.parquet")
    visits.write_parquet(tmp_path / "visits.parquet")
    pseudonym = {"role": "identifier", "release": "pseudonym"}
    rules = {
        "version": 1,
        "table": "people",
        "input": {"location": str(tmp_path / "people.parquet")},
        "output": {"location": str(tmp_path / "out")},
        "privacy": {"k": 5, "unit": "id"},
        "columns": {"id": pseudonym, "age": {"role": "quasi"}},
        "tables": {
            "visits": {
                "input": {"location": str(tmp_path / "visits.parquet")},
                "unit": "who",
                "columns": {"who": pseudonym, "day": {"role": "quasi"}},
            }
        },
    }
    written = throng.run(None, rules)
    assert any("pseudonym" in warning for warning in written.warnings)
    found = throng.verify(tmp_path / "out", rules)
    assert found.to_dict()["linked"]["smallest_profile"] >= 5
    assert {table["name"] for table in found.to_dict()["tables"]} == {"people", "visits"}
    for call in (throng.anonymize, throng.verify):
        with pytest.raises(throng.ThrongError, match="pseudonym"):
            call(people, rules)


def test_a_plan_tells_what_the_command_tells(census, toml, command):
    expected = answer(command("plan", toml))
    plan = throng.plan(None, toml)
    for name in ("rows", "partition", "cluster", "leaves", "predicted_ncp", "max_classes"):
        assert plan.to_dict()[name] == expected[name], name
    of_frame = throng.plan(census, toml)
    assert of_frame and (of_frame.leaves, of_frame.ncp) == (plan.leaves, plan.ncp)
    assert repr(plan).startswith("Plan: 3000 rows")
    unmet = throng.plan(census, k=4000, **NAMED)
    assert not unmet and unmet.leaves is None and "can't be met" in repr(unmet)


def test_a_bound_tells_what_the_command_tells(census, toml, command):
    expected = answer(command("bound", toml))
    for data in (None, census):
        found = throng.bound(data, toml)
        assert found.to_dict() == expected
    assert 0 < found.lower_bound <= found.loss
    assert found.gap == pytest.approx(found.loss / found.lower_bound - 1)
    assert throng.anonymize(census, toml).ncp == pytest.approx(found.loss, abs=1e-6)


def test_the_risk_in_a_population_is_that_of_the_command(census, file, command):
    weighted = census.append_column("people", pa.array([1.0 + row % 7 for row in range(3000)]))
    pq.write_table(weighted, file)
    for flags, settings in (
        (["--fraction", "0.1"], {"fraction": 0.1}),
        (["--weight", "people"], {"weight": "people"}),
        (["--population", file], {"population": weighted}),
    ):
        expected = answer(command("risk", file, "--quasi", ",".join(QUASI), *flags))
        assert throng.risk(weighted, quasi=QUASI, **settings).to_dict() == expected
    with pytest.raises(throng.UsageError, match="above 0"):
        throng.risk(census, quasi=QUASI, fraction=1.5)
    with pytest.raises(throng.UsageError, match="one of fraction"):
        throng.risk(weighted, quasi=QUASI, fraction=0.5, weight="people")


def test_algorithms_are_swept(census):
    swept = throng.sweep(census, k=[5, 10], p=[2], algorithms=["mondrian", "none/mdav"], budget="fast", **NAMED)
    assert [(trial.k, trial.algorithm) for trial in swept.trials] == [
        (5, "mondrian"),
        (10, "mondrian"),
        (5, "none/mdav"),
        (10, "none/mdav"),
    ]
    with pytest.raises(throng.UsageError, match="choose from"):
        throng.sweep(census, k=[5], algorithms=["magic"], **NAMED)


def test_people_with_several_rows_are_counted_as_people(tmp_path):
    rows = range(1200)
    visits = pl.DataFrame(
        {
            "person": [row * 7 % 400 for row in rows],
            "age": [20 + (row * 7 % 400) % 47 for row in rows],
            "illness": [("flu", "gout", "asthma")[row * row % 7 % 3] for row in rows],
        }
    )
    rules = throng.policy(
        k=5, p=2, quasi=["age"], sensitive=["illness"], identifiers=["person"], privacy={"unit": "person"}
    )
    release = throng.anonymize(visits, rules)
    assert [found["achieved"] for found in release.metrics["privacy"]["requirements"]][0] >= 5
    # Each person has one age, so that the people of a class are those of its ages.
    ages = {row["age"] for row in pl.DataFrame(release).to_dicts()}
    for label in ages:
        low, _, high = str(label).strip("[]").partition("-")
        people = visits.filter(pl.col("age").is_between(int(low), int(high or low)))["person"].n_unique()
        assert people >= 5, label
    counted = throng.verify(visits, quasi=["age"], k=1, unit="person")
    assert counted.smallest_class == visits.group_by("age").agg(pl.col("person").n_unique())["person"].min()


def test_lists_are_sensitive_element_by_element():
    codes = ["I10", "E11", "J45", "C50"]
    people = pl.DataFrame(
        {
            "age": [20 + row * 7 % 50 for row in range(300)],
            "diagnoses": [[codes[row % 4], codes[row * row % 3]][: row % 3] for row in range(300)],
        }
    )
    release = throng.anonymize(people, k=5, quasi=["age"], sensitive={"diagnoses": {"max_share": 0.75}})
    for _, of_class in pl.DataFrame(release).group_by("age"):
        carriers = of_class.with_columns(pl.col("diagnoses").list.unique()).explode("diagnoses")
        most = carriers.drop_nulls("diagnoses").group_by("diagnoses").len()["len"].max() or 0
        assert most <= 0.75 * of_class.height + 1e-9
    assert sorted(map(str, pl.DataFrame(release)["diagnoses"].to_list())) == sorted(map(str, people["diagnoses"].to_list()))


def test_a_table_is_read_from_a_store_and_its_release_published_there(census, policy, tmp_path, monkeypatch):
    pq.write_table(census, tmp_path / "people.parquet")
    expected = throng.anonymize(tmp_path / "people.parquet", policy).write(tmp_path / "released")
    with store() as (address, objects):
        for name, value in (("ENDPOINT_URL", address), ("ALLOW_HTTP", "true"), ("REGION", "us-east-1")):
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        objects["lake/people/part.parquet"] = (tmp_path / "people.parquet").read_bytes()
        assert throng.risk("s3://lake/people/", quasi=QUASI).rows == census.num_rows
        release = throng.anonymize("s3://lake/people/part.parquet", policy)
        written = release.write("s3://lake/released")
        assert (written.rows, written.files) == (expected.rows, expected.files)
        published = {name.removeprefix("lake/released/"): content for name, content in objects.items() if "/released/" in name}
        files = [name for name in published if name.endswith(".parquet")]
        assert [published[name] for name in files] == [path.read_bytes() for path in sorted((tmp_path / "released").rglob("*.parquet"))]
        assert throng.verify("s3://lake/released", policy).rows == written.rows
        with pytest.raises(throng.PolicyError, match="overwrite=True"):
            release.write("s3://lake/released")
        with pytest.raises(throng.NotFound):
            throng.anonymize("s3://lake/nobody.parquet", policy)
