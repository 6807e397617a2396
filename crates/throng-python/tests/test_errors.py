"""Exceptions, one for each exit code, without values of the data."""

from __future__ import annotations

import errno

import pyarrow as pa
import pytest

import throng_privacy as throng
from throng_privacy import exceptions

PEOPLE = pa.table({"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]})


def test_each_exit_code_has_a_class():
    classes = [getattr(exceptions, name) for name in exceptions.__all__ if name not in ("Problem", "ThrongError")]
    assert {one.__name__: one.exit_code for one in classes} == {
        "UsageError": 2,
        "PrivacyError": 3,
        "VerificationError": 4,
        "DataError": 65,
        "NotFound": 66,
        "InternalError": 70,
        "TemporaryError": 75,
        "PolicyError": 78,
    }
    assert all(issubclass(one, throng.ThrongError) for one in classes)
    assert issubclass(throng.DataError, ValueError)
    assert issubclass(throng.NotFound, FileNotFoundError)
    assert issubclass(throng.TemporaryError, OSError)


def test_an_absent_input_has_the_number_of_the_system():
    with pytest.raises(FileNotFoundError, match="absent.parquet") as caught:
        throng.risk("absent.parquet", quasi=["age"])
    assert caught.value.errno == errno.ENOENT


def test_a_policy_has_all_its_problems():
    with pytest.raises(throng.PolicyError) as caught:
        throng.anonymize(PEOPLE, {"privacy": {"k": 3, "p": 9}, "columns": {"age": {"role": "quasi", "weight": -1}}})
    paths = {problem.path for problem in caught.value.problems}
    assert {"privacy.p", "columns.age.weight"} <= paths
    assert all(problem.line is None for problem in caught.value.problems)
    text = "version = 1\nprivacy.k = 3\n[columns.age]\nrole = 'quasi'\nwieght = 2"
    with pytest.raises(throng.PolicyError, match="did you mean `weight`") as caught:
        throng.anonymize(PEOPLE, text)
    assert [(problem.path, problem.line, problem.column) for problem in caught.value.problems] == [
        ("columns.age.wieght", 5, 1)
    ]


def test_an_argument_that_is_wrong_is_named_as_an_argument():
    with pytest.raises(throng.PolicyError) as caught:
        throng.anonymize(PEOPLE, k=3, p=9, quasi=["age"], sensitive=["illness"])
    assert [problem.path for problem in caught.value.problems] == ["p"]


def test_columns_that_the_policy_does_not_name_are_an_error():
    with pytest.raises(throng.PolicyError, match="illness"):
        throng.anonymize(PEOPLE, k=3, quasi=["age"])
    assert throng.anonymize(PEOPLE, k=3, quasi=["age"], unlisted="drop").columns == ["age"]


def test_a_target_that_can_not_be_met():
    with pytest.raises(throng.PrivacyError) as caught:
        throng.anonymize(PEOPLE, k=6, p=4, quasi=["age"], sensitive=["illness"])
    assert caught.value.column == "illness"
    assert "asthma" not in str(caught.value)


def test_a_promise_that_is_broken():
    with pytest.raises(throng.VerificationError) as caught:
        throng.verify(PEOPLE, quasi=["age"], k=2)
    assert caught.value.verification is not None
    assert caught.value.verification.smallest_class == 1
    assert not throng.verify(PEOPLE, quasi=["age"], k=2, raises=False)


def test_a_location_without_files(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        throng.risk(tmp_path / "absent.parquet", quasi=["age"])
    assert isinstance(caught.value, throng.NotFound)
    with pytest.raises(throng.PolicyError, match="no such policy file"):
        throng.anonymize(PEOPLE, tmp_path / "absent.toml")


def test_a_damaged_file(tmp_path):
    path = tmp_path / "people.parquet"
    path.write_bytes(b"PAR1 is not enough")
    with pytest.raises(throng.DataError, match="not readable as Parquet"):
        throng.risk(path, quasi=["age"])


def test_a_column_that_is_not_there():
    with pytest.raises(throng.UsageError, match="no column `zip`"):
        throng.risk(PEOPLE, quasi=["zip"])


def test_a_value_outside_of_a_hierarchy_is_counted_and_not_shown():
    with pytest.raises(throng.DataError) as caught:
        throng.anonymize(PEOPLE.select(["illness"]), k=2, quasi=["illness"], hierarchies={"illness": {"all": ["flu", "gout"]}})
    assert "asthma" not in str(caught.value)
    assert caught.value.column == "illness"


def test_neither_or_both_of_policy_and_columns():
    with pytest.raises(throng.UsageError, match="give a policy"):
        throng.anonymize(PEOPLE)
    with pytest.raises(throng.UsageError, match="and not both"):
        throng.anonymize(PEOPLE, {"privacy": {"k": 2}}, quasi=["age"])
    with pytest.raises(throng.UsageError, match="a list of names"):
        throng.anonymize(PEOPLE, k=2, quasi="age")
