"""Frames of every library, in and out."""

from __future__ import annotations

import datafusion
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import throng_privacy as throng

from conftest import ROWS


def test_every_library_has_the_same_release(frame, census, policy):
    released = pa.table(throng.anonymize(frame, policy))
    assert released.num_rows == ROWS
    assert released.to_pylist() == pa.table(throng.anonymize(census, policy)).to_pylist()


QUASI = ["age", "region", "sex"]


def _trials(swept: throng.Sweep) -> list[tuple]:
    return [(trial.k, trial.p, trial.algorithm, trial.ncp, trial.highest_risk) for trial in swept.trials]


def _plan(data: object, policy: dict) -> tuple:
    planned = throng.plan(data, policy)
    return planned.rows, planned.leaves, planned.ncp, planned.warnings


def _errors_of_counts(data: object, policy: dict) -> list[bool]:
    trials = throng.sweep(data, policy, k=[5, 9], utility=True).trials
    return [0 < (trial.median_query_error or 0) < 1 for trial in trials]


QUESTIONS = {
    "check": lambda data, policy: throng.check(data, policy).to_dict(),
    "plan": _plan,
    "sweep": lambda data, policy: _trials(throng.sweep(data, policy, k=[5, 9])),
    "sweep of surveys": lambda data, policy: _trials(throng.sweep(data, policy, algorithms=["mondrian", "mdr"])),
    "sweep of utility": _errors_of_counts,
    "bound": lambda data, policy: throng.bound(data, policy).to_dict(),
    "risk": lambda data, policy: throng.risk(data, QUASI, sensitive=["occupation"]).to_dict(),
    "risk in a population": lambda data, policy: throng.risk(
        data, QUASI, population=throng.generate_census(5000)
    ).to_dict(),
    "verify": lambda data, policy: throng.verify(data, quasi=QUASI, k=1).to_dict(),
    "draft": lambda data, policy: throng.draft(data).to_dict(),
}


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_every_library_has_the_same_answers(question, frame, census, policy):
    policy["columns"]["name"] = {"role": "identifier"}
    ask = QUESTIONS[question]
    assert ask(frame, policy) == ask(census, policy)


def test_a_stream_has_the_warnings_of_a_table(frame, policy):
    policy["columns"]["name"] = {"role": "identifier"}
    assert any("`name` has 2665 distinct values" in warning for warning in throng.check(frame, policy).warnings)


@pytest.mark.parametrize("kind", ["release", "provider"])
def test_a_release_and_a_table_of_datafusion_can_be_asked_too(kind, census, policy):
    release = throng.anonymize(census, policy)
    table = release if kind == "release" else _OnlyTable(release)
    named = {"k": 5, "p": 2, "quasi": ["age", "region"], "sensitive": ["occupation"], "insensitive": ["hours"], "unlisted": "drop"}
    assert throng.check(table, **named)
    assert throng.plan(table, **named).rows == ROWS
    assert [trial.feasible for trial in throng.sweep(table, **{**named, "k": [5], "p": 2}, algorithms=["mondrian", "mdr"]).trials] == [True] * 2


class _OnlyTable:
    """A table of DataFusion without an Arrow stream."""

    def __init__(self, release: throng.Release) -> None:
        self._release = release

    def __datafusion_table_provider__(self, session: object) -> object:
        return self._release.__datafusion_table_provider__(session)


def test_a_stream_that_is_asked_for_twice_says_so(census, policy):
    from throng_privacy import _native
    from throng_privacy._policy import read_policy

    table = _native.NativeTable.streamed(census.to_reader())
    read = read_policy(policy, locations=["table"])
    settings = {"threads": None, "memory_limit": None, "on_progress": None}
    _native.anonymize(read, table, settings)
    with pytest.raises(throng.UsageError, match="has been read already"):
        _native.anonymize(read, table, settings)


def test_a_frame_that_is_changed_in_place_does_not_change_its_release():
    import numpy as np

    rows = np.arange(ROWS)
    columns = {"age": rows % 50, "weight": rows / 7, "seen": rows.astype("datetime64[s]"), "illness": rows % 5}
    frame = pd.DataFrame({**columns, "note": [f"the note of row number {row}" for row in rows]})
    shared = pa.RecordBatchReader.from_stream(frame).read_all()
    release = throng.anonymize(
        frame, k=5, p=2, quasi=["age"], sensitive=["illness"], insensitive=["weight", "seen", "note"]
    )
    expected = pa.table(release).to_pylist()
    for column in ("weight", "seen", "illness", "note"):
        frame.loc[:, column] = frame[column].iloc[0]
    assert shared["weight"].unique().to_pylist() == [0.0], "pandas shares the memory of such a frame"
    assert pa.table(release).to_pylist() == expected
    assert release.verify()


def test_locations_have_the_same_release(census, policy, tmp_path):
    expected = pa.table(throng.anonymize(census, policy))
    path = tmp_path / "people.parquet"
    pq.write_table(census, path)
    census_csv = tmp_path / "people.csv"
    pl.DataFrame(census).write_csv(census_csv)
    for location in (path, str(path), [str(path)], str(tmp_path / "*.parquet")):
        assert pa.table(throng.anonymize(location, policy)).equals(expected)
    assert pa.table(throng.anonymize(census_csv, policy)).to_pylist() == expected.to_pylist()
    policy["input"] = {"location": str(path)}
    assert pa.table(throng.anonymize(None, policy)).equals(expected)


def test_a_release_goes_on_in_every_library(census, policy):
    release = throng.anonymize(census, policy)
    expected = pa.table(release).to_pylist()
    assert pa.RecordBatchReader.from_stream(release).read_all().to_pylist() == expected
    assert pl.DataFrame(release).to_dicts() == expected
    assert pl.LazyFrame(release).collect().to_dicts() == expected
    assert pd.DataFrame.from_arrow(release).to_dict("records") == expected
    connection = duckdb.connect()
    assert connection.sql("select count(*) from release").fetchall() == [(ROWS,)]
    smallest = "select min(n) from (select count(*) as n from release group by age, region, sex)"
    assert connection.sql(smallest).fetchall()[0][0] >= 5
    assert len(release) == release.rows == ROWS


@pytest.mark.parametrize("library", ["polars", "polars-lazy", "pyarrow-views", "categories"])
def test_text_leaves_as_views_if_it_came_so(library, census, policy):
    views = pl.DataFrame(census).to_arrow(compat_level=pl.CompatLevel.newest())
    frame = {
        "polars": lambda: pl.DataFrame(census),
        "polars-lazy": lambda: pl.LazyFrame(census),
        "pyarrow-views": lambda: views,
        "categories": lambda: pl.DataFrame(census).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    }[library]()
    plain = pa.table(throng.anonymize(census, policy))
    release = throng.anonymize(frame, policy)
    table = pa.table(release)
    text = [field.name for field in plain.schema if field.type == pa.string()]
    assert {"age", "occupation"} <= set(text)
    assert pa.schema(release).field("age").type == pa.string_view()
    assert [field.name for field in table.schema if field.type == pa.string_view()] == text
    assert table.to_pylist() == plain.to_pylist()
    assert pa.table(release, schema=plain.schema).equals(plain)
    assert pl.DataFrame(release).equals(pl.DataFrame(plain))
    assert pd.DataFrame.from_arrow(release).equals(pd.DataFrame.from_arrow(plain))
    assert duckdb.sql("select * from release").fetchall() == duckdb.sql("select * from plain").fetchall()
    assert throng.verify(release, policy).holds


def test_no_buffer_of_a_release_has_text_of_rows_that_are_left_out(tmp_path):
    canary = "an illness that only the row without an age has"
    people = pl.DataFrame(
        {
            "age": [None, *(row % 20 for row in range(60))],
            "illness": [canary, *(f"an illness with a long name, {row % 3}" for row in range(60))],
            "note": [canary, *(f"a note that nobody else has, {row}" for row in range(60))],
        }
    )
    settings = {"k": 3, "p": 2, "quasi": {"age": {"nulls": "suppress"}}, "sensitive": ["illness"], "insensitive": ["note"]}
    release = throng.anonymize(people, **settings)
    assert release.suppressed_rows == 1
    pl.DataFrame(release).write_ipc(tmp_path / "released.arrow")
    for column in pa.table(release).itercolumns():
        for buffer in (buffer for chunk in column.chunks for buffer in chunk.buffers() if buffer is not None):
            assert canary.encode() not in buffer.to_pybytes()
    assert canary.encode() not in (tmp_path / "released.arrow").read_bytes()
    people.write_ipc(tmp_path / "people.arrow")
    assert canary.encode() in (tmp_path / "people.arrow").read_bytes()


def test_a_release_is_a_table_for_another_call(census, policy):
    release = throng.anonymize(census, policy)
    risk = throng.risk(release, quasi=["age", "region", "sex"])
    assert risk.uniques == 0
    assert risk.smallest_class == release.verify().smallest_class >= 5
    assert throng.verify(release, policy).holds


def test_a_release_becomes_a_delta_table_and_a_delta_table_a_release(census, policy, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "people", census)
    release = throng.anonymize(deltalake.DeltaTable(tmp_path / "people"), policy)
    assert pa.table(release).equals(pa.table(throng.anonymize(census, policy)))
    deltalake.write_deltalake(tmp_path / "released", release)
    assert deltalake.DeltaTable(tmp_path / "released").to_pyarrow_table().num_rows == ROWS


WRITERS = {
    "pyarrow": (lambda table: table, lambda frame, path: pq.write_table(frame, path)),
    "pandas": (pd.DataFrame.from_arrow, lambda frame, path: frame.to_parquet(path)),
    "polars": (pl.DataFrame, lambda frame, path: frame.write_parquet(path)),
    "duckdb": (duckdb.from_arrow, lambda frame, path: frame.write_parquet(str(path))),
    "datafusion": (lambda table: datafusion.SessionContext().from_arrow(table), lambda frame, path: frame.write_parquet(str(path))),
}


@pytest.mark.parametrize("library", list(WRITERS))
def test_the_files_are_those_of_the_command(library, census, policy, tmp_path, command):
    convert, write = WRITERS[library]
    frame, path = convert(census), tmp_path / "people.parquet"
    write(frame, path)
    text = f"""
        version = 1
        input.location = '{path}'
        output.location = '{tmp_path / "command"}'
        privacy = {{ k = 5, p = 2 }}
        columns.default = "drop"
        columns.age.role = "quasi"
        columns.region.role = "quasi"
        columns.sex.role = "quasi"
        columns.occupation.role = "sensitive"
        columns.hours.role = "insensitive"
    """
    (tmp_path / "policy.toml").write_text(text)
    assert command("run", tmp_path / "policy.toml").returncode == 0
    expected = (tmp_path / "command" / "part-00000.parquet").read_bytes()
    for data, location in ((frame, "of-frame"), (str(path), "of-file")):
        assert throng.anonymize(data, policy).write(tmp_path / location).files == 1
        assert (tmp_path / location / "part-00000.parquet").read_bytes() == expected, location


def test_an_object_that_is_no_table_is_refused():
    for data in (17, object(), {"age": [1]}, [1, 2], pa.array([1])):
        with pytest.raises(throng.UsageError, match="no table"):
            throng.risk(data, quasi=["age"])


def test_a_stream_can_be_read_once(census, policy):
    reader = census.to_reader()
    throng.anonymize(reader, policy)
    with pytest.raises((throng.DataError, throng.PrivacyError)):
        throng.anonymize(reader, policy)


def test_a_stream_that_fails_shows_no_value(policy, census):
    def batches():
        yield census.to_batches()[0]
        raise ValueError("Ada Lovelace")

    reader = pa.RecordBatchReader.from_batches(census.schema, batches())
    with pytest.raises(throng.DataError) as caught:
        throng.anonymize(reader, policy)
    assert "Ada" not in str(caught.value)


class _Failing:
    """A table whose stream raises an exception."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise self._error


class _OnlyFailing:
    """A table of DataFusion that raises an exception."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __datafusion_table_provider__(self, session: object) -> object:
        raise self._error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
def test_what_ends_a_program_is_passed_on(kind):
    for table in (_Failing(kind("enough")), _OnlyFailing(kind("enough"))):
        with pytest.raises(kind):
            throng.risk(table, quasi=["age"])


def test_a_panic_of_another_library_is_not():
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(throng.DataError, match="PanicException") as caught:
        throng.risk(_Failing(panic("Ada")), quasi=["age"])
    assert "Ada" not in str(caught.value)


def test_a_query_of_polars_that_fails_shows_no_value():
    people = pl.LazyFrame({"age": ["25", "Ada Lovelace"]}).with_columns(pl.col("age").cast(pl.Int64))
    absent = pl.scan_parquet("absent-Ada.parquet")
    for frame in (people, absent):
        for call in (lambda: throng.risk(frame, quasi=["age"]), lambda: throng.draft(frame)):
            with pytest.raises(throng.DataError) as caught:
                call()
            assert "Ada" not in str(caught.value)
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_data_set_of_pyarrow_that_fails_shows_no_value(tmp_path):
    import pyarrow.dataset

    pq.write_table(pa.table({"age": [1]}), tmp_path / "Ada.parquet")
    data = pa.dataset.dataset(tmp_path)
    (tmp_path / "Ada.parquet").write_bytes(b"damaged")
    with pytest.raises(throng.DataError) as caught:
        throng.risk(data, quasi=["age"])
    assert "Ada" not in str(caught.value)


def test_pandas_needs_pyarrow_for_its_streams(monkeypatch):
    people = pd.DataFrame({"age": [25, 29, 27], "illness": ["flu", "gout", "flu"]})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(throng.UsageError, match="install pyarrow") as caught:
        throng.anonymize(people, k=3, quasi=["age"], sensitive=["illness"])
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_frame_that_can_not_be_converted_shows_no_value():
    mixed = pd.DataFrame({"age": pd.Series([1, "Ada Lovelace", b"x"], dtype=object)})
    with pytest.raises(throng.DataError) as caught:
        throng.anonymize(mixed, k=2, quasi=["age"])
    assert "Ada" not in str(caught.value)
    assert caught.value.__cause__ is None
