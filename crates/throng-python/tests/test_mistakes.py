"""What people get wrong at first, and what they are told."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import throng_privacy as throng

PEOPLE = pd.DataFrame(
    {
        "name": ["Ada", "Bob", "Cem", "Dag", "Eve", "Fay"] * 10,
        "age": [25, 29, 27, 61, 64, 60] * 10,
        "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"] * 10,
    }
)
ROLES = {"quasi": ["age"], "sensitive": ["illness"], "identifiers": ["name"]}


def refused(kind: type[throng.ThrongError], call) -> str:
    """The message of an exception, which quotes no value."""
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert not any(value in text for value in ("Ada", "asthma", "gout", "--")), text
    return text


def test_a_name_is_misspelled():
    text = refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=3, **{**ROLES, "quasi": ["agee"]}))
    assert "did you mean `age`?" in text


def test_columns_are_forgotten():
    text = refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=3, quasi=["age"]))
    assert "`name`, `illness`" in text
    assert 'unlisted="drop"' in text


def test_k_or_p_is_missing_wrong_or_too_high():
    assert "give k" in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, **ROLES))
    assert "give k" in refused(throng.UsageError, lambda: throng.sweep(PEOPLE, **ROLES))
    for k, told in ((3.5, "k is a float"), ("3", "k is a str"), (-1, "k = -1 is too small"), (None, "give k")):
        assert told in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, k=k, **ROLES))
    assert "k = 0 protects nobody" in refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=0, **ROLES))
    assert "highest p that works for it is 3" in refused(throng.PrivacyError, lambda: throng.anonymize(PEOPLE, k=10, p=5, **ROLES))
    text = refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=2, p=5, **ROLES))
    assert text.startswith("p: p = 5 is more than k = 2")
    assert "60 rows" in refused(throng.PrivacyError, lambda: throng.anonymize(PEOPLE, k=100, **ROLES))
    assert throng.anonymize(PEOPLE, k=pd.Series([3])[0], **ROLES).rows == 60, "a whole number of another library"


def test_an_index_without_a_name_is_no_column():
    adults = PEOPLE[PEOPLE.age > 26]
    assert adults.index.to_list() != list(range(len(adults)))
    release = throng.anonymize(adults, k=3, **ROLES)
    assert release.columns == ["age", "illness"]
    assert release.rows == 50
    labelled = PEOPLE.set_index(pd.MultiIndex.from_arrays([PEOPLE["name"], range(60)], names=["name", None]))[["age", "illness"]]
    assert throng.anonymize(labelled, k=3, **ROLES).columns == ["age", "illness"]


def test_an_index_with_a_name_is_a_column():
    assert throng.anonymize(PEOPLE.set_index("age"), k=3, **ROLES).rows == 60
    named = PEOPLE.set_index("name")
    assert "`name`" in refused(throng.PolicyError, lambda: throng.anonymize(named, k=3, quasi=["age"], sensitive=["illness"]))


def test_columns_have_the_same_name():
    twice = PEOPLE.set_axis(["name", "age", "age"], axis=1)
    assert "more than one column `age`" in refused(throng.DataError, lambda: throng.anonymize(twice, k=3, quasi=["age"]))
    table = pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    for data in (table, table.to_reader()):
        assert "more than one column `a`" in refused(throng.DataError, lambda: throng.anonymize(data, k=2, quasi=["a"]))


def test_a_column_has_values_of_several_types():
    mixed = PEOPLE.assign(mixed=[1, "Ada", None] * 20, number=1)
    with pytest.raises(throng.DataError) as caught:
        throng.anonymize(mixed, k=3, **ROLES, unlisted="drop")
    assert caught.value.column == "mixed"
    assert "`mixed`" in str(caught.value)
    assert "Ada" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    whole = mixed.assign(mixed=mixed["mixed"].astype(str))
    assert throng.anonymize(whole, k=3, **ROLES, unlisted="drop").rows == 60


def test_an_empty_column_of_polars_has_no_type():
    people = pl.DataFrame(pa.Table.from_pandas(PEOPLE)).with_columns(note=None)
    assert people.schema["note"] == pl.Null
    for frame in (people, people.lazy()):
        release = throng.anonymize(frame, k=3, **ROLES, insensitive=["note"])
        assert pl.DataFrame(release)["note"].null_count() == 60


def test_other_things_are_taken_for_tables():
    for data in (PEOPLE["age"], pl.Series([1, 2])):
        assert "to_frame()" in refused(throng.UsageError, lambda: throng.anonymize(data, k=3, quasi=["age"]))
    for data in (PEOPLE.to_dict("list"), PEOPLE["age"].to_numpy(), 7):
        assert "is no table" in refused(throng.UsageError, lambda: throng.anonymize(data, k=3, quasi=["age"]))
    for policy in (["age"], 3):
        assert "is no policy" in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, policy))


def test_a_setting_of_the_call_is_wrong():
    for settings, told in (
        ({"threads": 0}, "threads = 0 is too small"),
        ({"threads": "all"}, "threads is a str"),
        ({"seed": -1}, "seed = -1"),
        ({"memory_limit": "much"}, "no amount of memory"),
    ):
        assert told in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, k=3, **ROLES, **settings))
    text = refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=3, **ROLES, memory_limit="1MB"))
    assert "`memory_limit`" in text
    assert refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=3, **ROLES, budget="slow")).startswith("budget:")


def test_a_promise_is_named_in_whole_and_told_when_it_is_broken():
    for settings in ({}, {"k": 2, "sensitive": ["illness"]}):
        assert "give the promise" in refused(throng.UsageError, lambda: throng.verify(PEOPLE, quasi=["age"], **settings))
    text = refused(throng.VerificationError, lambda: throng.verify(PEOPLE, quasi=["age"], sensitive=["illness"], k=20, p=3))
    assert "the smallest class has 10 rows, and 20 are required" in text
    assert "p-sensitivity of `illness` is 1 in a class, and 3 is required" in text


def test_a_release_tells_how_its_rows_are_read():
    assert "polars.DataFrame(release)" in repr(throng.anonymize(PEOPLE, k=3, **ROLES))
