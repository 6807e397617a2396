"""Common mistakes, and their messages."""

from __future__ import annotations

import numpy as np
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
    for k, expected in ((3.5, "k is a float"), ("3", "k is a str"), (-1, "k = -1 is too small"), (None, "give k"), (True, "k is a bool"), (2**70, "too large")):
        assert expected in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, k=k, **ROLES))
    assert "k = 0 protects no one" in refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=0, **ROLES))
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


def test_a_subclass_of_a_frame_is_a_frame():
    class People(pd.DataFrame):
        @property
        def _constructor(self) -> type:
            return People

    adults = People(PEOPLE)[PEOPLE.age > 26]
    assert type(adults) is People
    assert throng.anonymize(adults, k=3, **ROLES).columns == ["age", "illness"]
    of_polars = type("People", (pl.DataFrame,), {})(PEOPLE.to_dict("list")).with_columns(note=None)
    assert throng.anonymize(of_polars, k=3, **ROLES, unlisted="drop").rows == 60


def test_an_index_with_a_name_is_a_column():
    assert throng.anonymize(PEOPLE.set_index("age"), k=3, **ROLES).rows == 60
    named = PEOPLE.set_index("name")
    assert "`name`" in refused(throng.PolicyError, lambda: throng.anonymize(named, k=3, quasi=["age"], sensitive=["illness"]))


def test_an_index_has_the_name_of_a_column():
    both = PEOPLE.set_index("age", drop=False)
    level = PEOPLE.set_index(pd.MultiIndex.from_arrays([PEOPLE["age"], range(60)], names=["age", "row"]))
    for frame in (both, level):
        text = refused(throng.DataError, lambda: throng.anonymize(frame, k=3, **ROLES, unlisted="drop"))
        assert "a column and an index named `age`" in text
    assert throng.anonymize(both.reset_index(drop=True), k=3, **ROLES).rows == 60


def test_columns_are_named_by_other_things_than_lists():
    expected = pa.table(throng.anonymize(PEOPLE, k=3, **ROLES))
    for kind in (tuple, pd.Index, pd.Series, np.array, pl.Series, iter):
        named = {role: kind(names) for role, names in ROLES.items()}
        assert pa.table(throng.anonymize(PEOPLE, k=3, **named)).equals(expected), kind
        assert throng.risk(PEOPLE, quasi=kind(["age"]), sensitive=kind(["illness"])).classes == 6
        assert throng.verify(PEOPLE, quasi=kind(["age"]), sensitive=kind(["illness"]), k=2, p=1).holds
        assert throng.utility(PEOPLE, PEOPLE, quasi=kind(["age"]), sensitive=kind(["illness"])).median_query_error == 0
    for named in ({"age"}, "age", 7, None):
        assert "quasi" in refused(throng.UsageError, lambda: throng.risk(PEOPLE, quasi=named))
    assert "not a set" in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, k=3, **{**ROLES, "quasi": {"age"}}))
    assert "at least one column" in refused(throng.UsageError, lambda: throng.risk(PEOPLE, quasi=[]))


def test_there_is_no_table():
    rules = throng.policy(k=3, **ROLES)
    for call in (throng.anonymize, throng.check, throng.plan, throng.bound):
        assert "there is no table" in refused(throng.UsageError, lambda: call(None, k=3, **ROLES))
        assert "there is no table" in refused(throng.UsageError, lambda: call(None, rules))
    assert "there is no table" in refused(throng.UsageError, lambda: throng.sweep(None, rules, k=[3]))
    assert "there is no table" in refused(throng.UsageError, lambda: throng.run(None, rules, output="out"))
    for empty in (pl.DataFrame(), pd.DataFrame(), pd.DataFrame(index=range(5)), pa.table({})):
        assert "no columns" in refused(throng.DataError, lambda: throng.anonymize(empty, k=3, **ROLES))


def test_a_table_has_one_row():
    for one in (PEOPLE.head(1), pl.DataFrame(PEOPLE.head(1).to_dict("list")), pa.Table.from_pandas(PEOPLE.head(1))):
        assert "there is 1 row" in refused(throng.PrivacyError, lambda: throng.anonymize(one, k=3, **ROLES))
        assert throng.risk(one, quasi=["age"]).uniques == 1
        assert not throng.check(one, k=3, **ROLES)


def test_missing_and_infinite_numbers():
    ages = PEOPLE.assign(age=PEOPLE["age"].where(PEOPLE["age"] > 26))
    missing = pa.table(throng.anonymize(ages, k=3, **ROLES))["age"].null_count
    assert missing == 10, "NaN of pandas is a missing value"
    for number in (float("nan"), float("inf")):
        frame = pl.DataFrame(PEOPLE.to_dict("list")).with_columns(pl.col("age").cast(pl.Float64).replace(25, number))
        assert "10 rows" in refused(throng.DataError, lambda: throng.anonymize(frame, k=3, **ROLES))
    nothing = pl.DataFrame(PEOPLE.to_dict("list")).with_columns(age=pl.lit(None, pl.Int64))
    released = pl.DataFrame(throng.anonymize(nothing, k=3, **ROLES))
    assert released["age"].null_count() == 60


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
    assert "frame.drop(columns=['mixed'])" in str(caught.value)
    whole = mixed.assign(mixed=mixed["mixed"].astype(str))
    assert throng.anonymize(whole, k=3, **ROLES, unlisted="drop").rows == 60


def test_an_empty_column_of_polars_has_no_type():
    people = pl.DataFrame(pa.Table.from_pandas(PEOPLE)).with_columns(note=None)
    assert people.schema["note"] == pl.Null
    for frame in (people, people.lazy()):
        release = throng.anonymize(frame, k=3, **ROLES, insensitive=["note"])
        assert pl.DataFrame(release)["note"].null_count() == 60


def test_a_column_of_polars_has_a_type_of_its_own():
    people = pl.DataFrame(PEOPLE.to_dict("list")).with_columns(wide=pl.col("age").cast(pl.Int128))
    with pytest.raises(throng.DataError) as caught:
        throng.anonymize(people, k=3, **ROLES, unlisted="drop")
    assert caught.value.column == "wide"
    assert "frame.drop(['wide'])" in str(caught.value)
    assert throng.anonymize(people.drop("wide"), k=3, **ROLES).rows == 60


def test_other_things_are_taken_for_tables():
    for data in (PEOPLE["age"], pl.Series([1, 2])):
        assert "to_frame()" in refused(throng.UsageError, lambda: throng.anonymize(data, k=3, quasi=["age"]))
    for data in (PEOPLE.to_dict("list"), PEOPLE["age"].to_numpy(), 7):
        assert "is no table" in refused(throng.UsageError, lambda: throng.anonymize(data, k=3, quasi=["age"]))
    for policy in (["age"], 3):
        assert "is no policy" in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, policy))


def test_a_setting_of_the_call_is_wrong():
    for settings, expected in (
        ({"threads": 0}, "threads = 0 is too small"),
        ({"threads": "all"}, "threads is a str"),
        ({"seed": -1}, "seed = -1"),
        ({"memory_limit": "much"}, "no amount of memory"),
        ({"memory_limit": -5}, "memory_limit = -5 is too small"),
        ({"memory_limit": 1.5e9}, "memory_limit is a float"),
        ({"memory_limit": "9" * 400}, "too large"),
        ({"seed": 2**64}, "too large"),
    ):
        assert expected in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, k=3, **ROLES, **settings))
    for call in (
        lambda: throng.generate_census(-1),
        lambda: throng.verify(PEOPLE, quasi=["age"], k=-1),
        lambda: throng.utility(PEOPLE, PEOPLE, quasi=["age"], queries=-1),
        lambda: throng.bound(PEOPLE, k=3, **ROLES, seconds=-1),
    ):
        assert "= -1 is too small" in refused(throng.UsageError, call)
    text = refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=3, **ROLES, memory_limit="1MB"))
    assert "`memory_limit`" in text
    assert refused(throng.PolicyError, lambda: throng.anonymize(PEOPLE, k=3, **ROLES, budget="slow")).startswith("budget:")


def test_a_promise_is_named_in_whole_and_reported_when_it_is_broken():
    for settings in ({}, {"k": 2, "sensitive": ["illness"]}):
        assert "give the promise" in refused(throng.UsageError, lambda: throng.verify(PEOPLE, quasi=["age"], **settings))
    text = refused(throng.VerificationError, lambda: throng.verify(PEOPLE, quasi=["age"], sensitive=["illness"], k=20, p=3))
    assert "the smallest class has 10 rows, and 20 are required" in text
    assert "p-sensitivity of `illness` is 1 in a class, and 3 is required" in text


def test_one_value_is_given_where_several_may_be():
    for one in (5, np.int64(5), [5], np.array([5]), (k for k in [5]), range(5, 6)):
        found = [(trial.k, trial.p) for trial in throng.sweep(PEOPLE, k=one, p=1, algorithms="mondrian", **ROLES).trials]
        assert found == [(5, 1)], type(one)
    several = throng.sweep(PEOPLE, k=(k for k in (3, 5)), p=np.array([1, 2]), algorithms=iter(["mondrian"]), **ROLES)
    assert [(trial.k, trial.p) for trial in several.trials] == [(3, 1), (3, 2), (5, 1), (5, 2)]
    assert "mondrian" in repr(several) and "mondrian" in repr(several.trials[0])
    for settings, expected in (
        ({"k": "5"}, "k is a str"),
        ({"k": [5.0]}, "k is a float"),
        ({"k": {5}}, "k is a set"),
        ({"k": [None]}, "k has a None"),
        ({"k": 5, "p": 2.5}, "p is a float"),
        ({"k": 5, "algorithms": 3}, "algorithms is a int"),
        ({"k": 5, "algorithms": [3]}, "algorithms has a int"),
    ):
        assert expected in refused(throng.UsageError, lambda: throng.sweep(PEOPLE, **ROLES, **settings))


def test_one_release_is_given_where_several_may_be(tmp_path):
    rules = throng.policy(k=3, p=2, **ROLES)
    release = throng.anonymize(PEOPLE, rules)
    places = [str(release.write(tmp_path / name).location) for name in ("first", "second")]
    for against in (places[0], tmp_path / "first", [places[0]], iter([tmp_path / "first"])):
        assert len(throng.verify(places[1], rules, against=against, raises=False).against) == 1
    for against, expected in ((3, "against is a int"), ([PEOPLE], "against has a DataFrame"), ({"x"}, "against is a set")):
        assert expected in refused(throng.UsageError, lambda: throng.verify(places[1], rules, against=against))
    expected = throng.attack(release, PEOPLE, rules, previous=[release]).to_dict()
    frames = (release, places[0], pd.DataFrame.from_arrow(release), pl.DataFrame(release), pa.table(release))
    for previous in (*frames, iter([release])):
        assert throng.attack(release, PEOPLE, rules, previous=previous).to_dict() == expected, type(previous)


def test_a_setting_has_another_type():
    risk, sweep = throng.risk, throng.sweep
    for call, expected in (
        (lambda: risk(PEOPLE, quasi=[7]), "a name that is a int"),
        (lambda: risk(PEOPLE, quasi=["age"], sensitive=[None]), "a name that is a NoneType"),
        (lambda: risk(PEOPLE, quasi=["age"], threshold="high"), "threshold is a str"),
        (lambda: risk(PEOPLE, quasi=["age"], threshold=7.0), "threshold = 7.0 is out of range"),
        (lambda: risk(PEOPLE, quasi=["age"], threshold=float("nan")), "threshold = nan is out of range"),
        (lambda: risk(PEOPLE, quasi=["age"], fraction="half"), "fraction is a str"),
        (lambda: sweep(PEOPLE, k=3, **ROLES, loss="low"), "loss is a str"),
        (lambda: sweep(PEOPLE, k=3, **ROLES, loss=-1), "loss = -1 is out of range"),
        (lambda: throng.policy(quasi=["age"], sensitive={"illness": 3}), "the sensitive column `illness` are a int"),
        (lambda: throng.policy(quasi={"age": "intervals"}), "the quasi column `age` are a str"),
        (lambda: throng.policy(quasi={7: {}}), "a name that is a int"),
        (lambda: throng.anonymize(PEOPLE, k=3, **ROLES, on_progress="bar"), "on_progress is a str"),
    ):
        assert expected in refused(throng.UsageError, call)
    assert risk(PEOPLE, quasi=["age"], threshold=np.float64(0.5)).rows == 60


def test_a_dict_has_values_of_other_libraries(tmp_path):
    rules = throng.policy(**ROLES, privacy={"k": np.int64(3), "p": np.int32(2)}, output={"location": tmp_path / "out"})
    rules["columns"]["age"]["weight"] = np.float32(2.0)
    assert throng.run(PEOPLE, rules).location == str(tmp_path / "out")
    for change, place in (
        ({"privacy": {"k": pd.Timestamp(0)}}, "a Timestamp at `privacy.k`"),
        ({"privacy": {"k": float("nan")}}, "not finite at `privacy.k`"),
        ({"columns": {**rules["columns"], "age": {"role": "quasi", 5: 1}}}, "a int at `columns.age`"),
        ({"columns": {"age": {"role": "quasi", "hierarchy": {"lines": {"gout": {"asthma": {1}}}}}}}, "`columns.age.hierarchy`"),
    ):
        assert place in refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, {**rules, **change}))


def test_a_path_of_a_policy_may_have_an_equals_sign(tmp_path):
    path = tmp_path / "k=3.toml"
    roles = "columns.name.role = 'identifier'\ncolumns.age.role = 'quasi'\ncolumns.illness.role = 'sensitive'"
    path.write_text(f"version = 1\nprivacy = {{ k = 3, p = 2 }}\n{roles}")
    assert throng.anonymize(PEOPLE, str(path)).rows == 60


def test_a_builder_of_a_hierarchy_is_misspelled():
    for form in ({"interval": [5, 10]}, {"widths": 5}):
        text = refused(throng.UsageError, lambda: throng.anonymize(PEOPLE, k=3, **ROLES, hierarchies={"age": form}))
        assert "did you mean" in text
    assert throng.hierarchy.normalize({"intervals": [5]}) == {"intervals": [5]}
    assert throng.hierarchy.normalize({"interval": ["a", "b"]}) == {"tree": {"interval": ["a", "b"]}}


def test_a_policy_is_read_before_the_table():
    def fails() -> object:
        raise AssertionError("the table was read")

    class Table:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return fails()

    wrong = {"privacy": {"k": 3, "p": 9}, "columns": {"age": {"role": "quasi"}}}
    for call in (throng.anonymize, throng.check, throng.plan, throng.bound, throng.sweep, throng.verify):
        refused(throng.PolicyError, lambda: call(Table(), wrong))


def test_a_location_that_is_taken_names_the_argument(tmp_path):
    release = throng.anonymize(PEOPLE, k=3, p=2, **ROLES)
    release.write(tmp_path / "out")
    assert "pass overwrite=True" in refused(throng.PolicyError, lambda: release.write(tmp_path / "out"))


def test_a_release_tells_how_its_rows_are_read():
    assert "polars.DataFrame(release)" in repr(throng.anonymize(PEOPLE, k=3, **ROLES))
