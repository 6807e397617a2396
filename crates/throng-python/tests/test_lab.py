"""Attacks, utility and differences of releases, on frames and against counts made by other means."""

from __future__ import annotations

import json
import re
from collections import Counter

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import throng_privacy as throng

QUASI = ["age", "region", "sex"]


@pytest.fixture(scope="module")
def small() -> pa.Table:
    """A census that is small enough for a loop over all pairs of people and classes."""
    return pa.table(throng.generate_census(600, seed=11))


@pytest.fixture
def rules() -> dict:
    """A policy whose labels are intervals and sets, which a few lines of Python can read."""
    return {
        "version": 1,
        "privacy": {"k": 5, "p": 2},
        "columns": {
            "default": "drop",
            "age": {"role": "quasi"},
            "region": {"role": "quasi", "release": "set"},
            "sex": {"role": "quasi", "release": "set"},
            "occupation": {"role": "sensitive"},
        },
    }


def covers(label: object, value: object) -> bool:
    """Whether a released label stands for a value."""
    text, value = str(label), str(value)
    if interval := re.fullmatch(r"\[(-?\d+)-(-?\d+)\]", text):
        return int(interval[1]) <= int(value) <= int(interval[2])
    if text.startswith("{"):
        return value in text[1:-1].split(", ")
    return text == value


def candidates(frame: pd.DataFrame, person: object) -> pd.DataFrame:
    """Rows of a release that may be those of a person."""
    known = frame[[all(covers(row[column], getattr(person, column)) for column in QUASI) for _, row in frame.iterrows()]]
    return known


def by_class(release: pa.Table) -> tuple[pd.DataFrame, dict[tuple, Counter]]:
    """The distinct labels of a release, and the histogram of each class."""
    frame = release.to_pandas()
    values: dict[tuple, Counter] = {}
    for row in frame.itertuples(index=False):
        values.setdefault(tuple(getattr(row, column) for column in QUASI), Counter())[row.occupation] += 1
    return pd.DataFrame(list(values), columns=QUASI), values


def histogram(release: tuple[pd.DataFrame, dict[tuple, Counter]], person: object) -> Counter:
    """Sensitive values of the rows that may be those of a person."""
    labels, values = release
    found: Counter = Counter()
    for row in candidates(labels, person).itertuples(index=False):
        found.update(values[tuple(row)])
    return found


def test_attacks_agree_with_a_second_implementation(small, rules):
    first = pa.table(throng.anonymize(small, rules))
    second = pa.table(throng.anonymize(small, rules, seed=5))
    found = throng.attack(first, small, rules, previous=[second], targets=10**6)
    assert found.targets == 600
    people = small.to_pandas()
    releases = [by_class(first), by_class(second)]
    linkage = homogeneity = together = 0.0
    below_k = 0
    for person in people.itertuples():
        latest, earlier = (histogram(release, person) for release in releases)
        linkage += 1 / latest.total()
        homogeneity += latest[person.occupation] / latest.total()
        both = latest & earlier
        below_k += both.total() < 5
        together += both[person.occupation] / both.total()
    for name, expected in [("linkage", linkage), ("homogeneity", homogeneity), ("composition", together)]:
        assert found[name].release == pytest.approx(expected / 600, abs=1e-5), name
    composition = found["composition"].to_dict()
    assert composition["share_below_k"] == pytest.approx(below_k / 600, abs=1e-5)
    # Diff counts the same people.
    diff = throng.diff(second, first, rules, original=small, targets=10**6)
    assert (diff.method, diff.people, diff.people_below_k) == ("original", 600, below_k)


def test_attack_is_that_of_the_command(small, rules, command, tmp_path):
    release = throng.anonymize(small, rules)
    release.write(tmp_path / "out")
    pl.DataFrame(small).write_parquet(tmp_path / "people.parquet")
    (tmp_path / "policy.json").write_text(json.dumps(rules))
    found = throng.attack(tmp_path / "out", tmp_path / "people.parquet", rules, seed=3)
    of_frames = throng.attack(release, pl.DataFrame(small), rules, seed=3)
    # Files have an order and metadata, which frames have not.
    other = {"metadata"}
    gains = [{one.name: one.gain for one in report.attacks if one.name not in other} for report in (found, of_frames)]
    assert gains[0] == gains[1]
    assert found["linkage"].gain <= 1.0
    assert found.above(found.highest_gain) == []
    assert "oracle" in found.skipped
    assert repr(found).startswith("Attack on 600 people\n  linkage: gain ")
    with pytest.raises(KeyError):
        found["guessing"]
    named = {"quasi": QUASI, "sensitive": ["occupation"]}
    utility = throng.utility(tmp_path / "out", tmp_path / "people.parquet", **named)
    ran = command("utility", tmp_path / "out", "--original", tmp_path / "people.parquet", "--quasi", ",".join(QUASI),
                  "--sensitive", "occupation")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == utility.to_dict()


def test_several_rows_of_a_person_are_found_out(small, rules):
    people = small.append_column("person", pa.array([row // 6 for row in range(600)]))
    # All rows of a person have the same quasi-identifiers.
    of_person = [row // 6 * 6 for row in range(600)]
    people = pa.table({
        name: people[name].take(of_person) if name in QUASI else people[name] for name in people.column_names
    })
    by_rows = throng.anonymize(people, rules)
    counted = {**rules, "privacy": {"k": 5, "p": 2, "unit": "person"}}
    by_people = throng.anonymize(people, counted)
    rows, units = (throng.attack(release, people, counted)["linkage"] for release in (by_rows, by_people))
    assert rows.gain > 2 > 1 >= units.gain, (rows, units)


def test_utility_and_diff_have_typed_results(small, rules):
    release = throng.anonymize(small, rules)
    utility = throng.utility(release, small, rules)
    assert 0 < utility.median_query_error < 1
    assert set(utility.marginals) == {*QUASI, "occupation"}
    assert utility.models is not None and utility.models["column"] == "occupation"
    again = throng.anonymize(small, rules, seed=9)
    diff = throng.diff(release, again, rules)
    assert diff.method == "labels"
    assert diff.to_dict()["outcome"] == "measured"
    assert 0 <= diff.people_disclosed <= diff.people_below_p <= diff.people
    assert diff.gain >= 1.0
    assert "Diff: of " in repr(diff) and "Utility: " in repr(utility)


def test_what_is_missing_is_said(small, rules):
    with pytest.raises(throng.UsageError, match="give a policy, or name the quasi-identifiers"):
        throng.diff(small, small)
    with pytest.raises(throng.UsageError, match="and not both"):
        throng.utility(small, small, rules, quasi=QUASI)
    with pytest.raises(throng.UsageError, match="goes with one of the first"):
        throng.diff(small, small, quasi=QUASI, second_policy=rules)
    with pytest.raises(throng.ThrongError, match="no column `height`"):
        throng.utility(small, small, quasi=["height"])


def test_a_release_is_attacked_before_it_is_given(small, rules):
    rules["privacy"]["attacks"] = {"max_gain": 1.0}
    with pytest.raises(throng.VerificationError, match="max_gain = 1"):
        throng.anonymize(small, rules)
    # A stream is read once, so that it is held for the attacks.
    with pytest.raises(throng.VerificationError, match="max_gain = 1"):
        throng.anonymize(pa.RecordBatchReader.from_batches(small.schema, small.to_batches()), rules)
    rules["privacy"]["attacks"] = {"max_gain": 100.0}
    gains = {gain["name"] for gain in throng.anonymize(small, rules).metrics["attacks"]["measured"]}
    assert {"linkage", "homogeneity"} <= gains


def test_people_of_the_population_are_counted_in_each_class(small, rules, tmp_path):
    everyone = pa.table(throng.generate_census(3000, seed=12))
    path = tmp_path / "population.parquet"
    pl.from_arrow(pa.concat_tables([small, everyone])).write_parquet(path)
    rules["privacy"]["population"] = {"table": str(path)}
    release = throng.anonymize(small, rules)
    labels, _ = by_class(pa.table(release))
    people = pa.concat_tables([small, everyone]).to_pandas()[QUASI]
    counts = [
        sum(all(covers(row[column], person[column]) for column in QUASI) for person in people.to_dict("records"))
        for _, row in labels.iterrows()
    ]
    assert release.metrics["risk"]["population"]["matched"]["fewest"] == min(counts)
    rules["privacy"]["population"]["k_map"] = min(counts) + 1
    with pytest.raises(throng.PrivacyError, match="k_map"):
        throng.anonymize(small, rules)


def test_risk_among_the_people_of_a_population(small):
    everyone = pa.concat_tables([small, pa.table(throng.generate_census(3000, seed=12))])
    found = throng.risk(small, QUASI, population=everyone)
    people = everyone.to_pandas().groupby(QUASI).size()
    rows = small.to_pandas().groupby(QUASI).size()
    expected = sum(count / people[key] for key, count in rows.items())
    assert found.to_dict()["population"]["reidentified"] == pytest.approx(expected, abs=1e-4)
