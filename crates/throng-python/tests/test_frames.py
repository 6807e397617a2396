"""Frames of every library, in and out."""

from __future__ import annotations

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


def test_a_frame_that_can_not_be_converted_shows_no_value():
    mixed = pd.DataFrame({"age": pd.Series([1, "Ada Lovelace", b"x"], dtype=object)})
    with pytest.raises(throng.DataError) as caught:
        throng.anonymize(mixed, k=2, quasi=["age"])
    assert "Ada" not in str(caught.value)
    assert caught.value.__cause__ is None
