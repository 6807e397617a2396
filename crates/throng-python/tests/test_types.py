"""Types of columns, nulls, and what frames carry besides their rows."""

from __future__ import annotations

import datetime as dt
import decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import throng_privacy as throng

N = 60
UTC = dt.timezone.utc

VALUES = {
    "int8": pa.array([row % 20 for row in range(N)], pa.int8()),
    "uint64": pa.array([row % 20 for row in range(N)], pa.uint64()),
    "float32": pa.array([row % 20 / 2 for row in range(N)], pa.float32()),
    "double": pa.array([row % 20 / 2 for row in range(N)], pa.float64()),
    "decimal": pa.array([decimal.Decimal(row % 20) for row in range(N)], pa.decimal128(12, 2)),
    "bool": pa.array([row % 2 == 0 for row in range(N)]),
    "string": pa.array([f"v{row % 4}" for row in range(N)]),
    "large_string": pa.array([f"v{row % 4}" for row in range(N)], pa.large_string()),
    "string_view": pa.array([f"a value of more than twelve bytes {row % 4}" for row in range(N)], pa.string_view()),
    "dictionary": pa.array([f"v{row % 4}" for row in range(N)]).dictionary_encode(),
    "date32": pa.array([dt.date(2020, 1, 1 + row % 20) for row in range(N)]),
    "timestamp": pa.array([dt.datetime(2020, 1, 1 + row % 20) for row in range(N)], pa.timestamp("us")),
    "zoned": pa.array([dt.datetime(2020, 1, 1 + row % 20, tzinfo=UTC) for row in range(N)], pa.timestamp("ns", "Europe/Paris")),
    "time": pa.array([dt.time(row % 20) for row in range(N)], pa.time64("us")),
}


KEPT = {
    **VALUES,
    "binary": pa.array([bytes([row]) for row in range(N)]),
    "large_binary": pa.array([bytes([row]) for row in range(N)], pa.large_binary()),
    "binary_view": pa.array([bytes([row]) * 20 for row in range(N)], pa.binary_view()),
    "fixed": pa.array([bytes([row, row]) for row in range(N)], pa.binary(2)),
    "date64": pa.array([dt.date(2020, 1, 1 + row % 20) for row in range(N)], pa.date64()),
    "time32": pa.array([dt.time(row % 20) for row in range(N)], pa.time32("s")),
    "seconds": pa.array([dt.datetime(2020, 1, 1 + row % 20) for row in range(N)], pa.timestamp("s")),
    "list": pa.array([[row, None] for row in range(N)]),
    "large_list": pa.array([[str(row)] for row in range(N)], pa.large_list(pa.large_string())),
    "struct": pa.array([{"a": row, "b": str(row)} for row in range(N)]),
    "null": pa.nulls(N),
    "nulls": pa.array([None if row % 3 else row for row in range(N)], pa.int64()),
    "duration": pa.array([dt.timedelta(row) for row in range(N)], pa.duration("s")),
    "halves": pa.array([row / 2 for row in range(N)], pa.float16()),
}


def people(**columns: pa.Array) -> pa.Table:
    sensitive = pa.array(["flu", "gout", "asthma"] * (N // 3))
    return pa.table({**columns, "illness": sensitive})


@pytest.mark.parametrize("name", list(VALUES))
def test_quasi_identifiers_of_every_type(name):
    table = people(q=VALUES[name])
    release = throng.anonymize(table, k=3, p=2, quasi=["q"], sensitive=["illness"])
    assert release.verify().smallest_class >= 3
    assert pa.table(release).num_rows == N


@pytest.mark.parametrize("name", list(KEPT))
def test_insensitive_columns_of_every_type_come_back_as_they_are(name):
    table = people(q=VALUES["int8"], kept=KEPT[name])
    release = throng.anonymize(table, k=3, p=2, quasi=["q"], sensitive=["illness"], insensitive=["kept"])
    released = pa.table(release)["kept"].to_pylist()
    if name == "date64":
        # Parquet has no such type; a release shows the day as a timestamp.
        released = [moment.date() for moment in released]
    assert sorted(released, key=str) == sorted(table["kept"].to_pylist(), key=str)


def test_nulls_are_values_or_are_suppressed():
    ages = pa.array([None if row % 10 == 0 else row % 20 for row in range(N)], pa.int32())
    table = people(age=ages)
    release = throng.anonymize(table, k=3, quasi=["age"], sensitive=["illness"])
    assert (release.rows, release.suppressed_rows) == (N, 0)
    suppressed = throng.anonymize(table, k=3, quasi={"age": {"nulls": "suppress"}}, sensitive=["illness"])
    assert (suppressed.rows, suppressed.suppressed_rows) == (54, 6)
    with pytest.raises(throng.DataError, match="age") as caught:
        throng.anonymize(table, k=3, quasi={"age": {"nulls": "error"}}, sensitive=["illness"])
    assert caught.value.column == "age"


def test_categories_of_pandas_and_polars():
    text = [f"v{row % 4}" for row in range(N)]
    illness = ["flu", "gout", "asthma"] * (N // 3)
    plain = pa.table(throng.anonymize(pa.table({"c": text, "illness": illness}), k=3, quasi=["c"], sensitive=["illness"]))
    of_pandas = pd.DataFrame({"c": pd.Categorical(text, categories=["v9", "v3", "v2", "v1", "v0"]), "illness": illness})
    of_polars = pl.DataFrame({"c": text, "illness": illness}, schema={"c": pl.Categorical, "illness": pl.String})
    of_enum = pl.DataFrame({"c": text, "illness": illness}, schema={"c": pl.Enum(["v3", "v2", "v1", "v0", "v9"]), "illness": pl.String})
    for frame in (of_pandas, of_polars, of_enum):
        assert pa.table(throng.anonymize(frame, k=3, quasi=["c"], sensitive=["illness"])).to_pylist() == plain.to_pylist()


def test_types_of_duckdb():
    connection = duckdb.connect()
    query = """
        select (i % 20)::hugeint as big, (i % 20)::decimal(9, 2) as price, date '2020-01-01' + (i % 20)::int as day,
            timestamptz '2020-01-01 00:00:00+00' as moment, ['flu', 'gout', 'asthma'][1 + (i % 3)] as illness, uuid() as id
        from range(60) as t (i)
    """
    settings = {"k": 3, "p": 2, "quasi": ["big", "price", "day"], "sensitive": ["illness"], "insensitive": ["moment"]}
    release = throng.anonymize(connection.sql(query), **settings, identifiers=["id"])
    assert release.verify().smallest_class >= 3
    assert connection.sql("select distinct moment = timestamptz '2020-01-01 00:00:00+00' as same from release").fetchall() == [(True,)]


def test_a_type_that_no_release_can_hold_is_refused_by_the_name_of_its_column():
    table = people(q=VALUES["int8"], span=pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()))
    with pytest.raises(throng.PolicyError, match="column `span` is Interval"):
        throng.anonymize(table, k=3, quasi=["q"], sensitive=["illness"], insensitive=["span"])
    release = throng.anonymize(table, k=3, quasi=["q"], sensitive=["illness"], identifiers=["span"])
    assert release.columns == ["q", "illness"]


def test_a_frame_without_rows_is_refused_by_name():
    for frame in (pa.table({"age": pa.array([], pa.int32())}), pl.DataFrame({"age": []}, schema={"age": pl.Int32})):
        with pytest.raises(throng.ThrongError) as caught:
            throng.anonymize(frame, k=2, quasi=["age"])
        assert caught.value.exit_code in (3, 65)


def test_nothing_that_a_frame_carries_besides_its_rows_is_released(tmp_path):
    canary = "canary-7f3a"
    field = pa.field("age", pa.int32(), metadata={"note": canary})
    schema = pa.schema([field, pa.field("illness", pa.string())], metadata={"pandas": canary, canary: canary})
    table = people(age=pa.array([row % 20 for row in range(N)], pa.int32())).cast(schema)
    frame = pd.DataFrame({"age": [row % 20 for row in range(N)], "illness": ["flu", "gout", "asthma"] * (N // 3)})
    frame.index = pd.Index([f"{canary}-{row}" for row in range(N)], name=canary)
    enum = pl.DataFrame(
        {"age": [row % 20 for row in range(N)], "illness": ["flu", "gout", "asthma"] * (N // 3)},
        schema={"age": pl.Int32, "illness": pl.Enum(["flu", "gout", "asthma", canary])},
    )
    for number, data in enumerate((table, frame, enum)):
        release = throng.anonymize(data, k=3, quasi=["age"], sensitive=["illness"], unlisted="drop")
        released = pa.table(release)
        assert released.schema.metadata is None
        assert all(field.metadata is None for field in released.schema)
        assert canary not in str(released.to_pylist())
        location = tmp_path / str(number)
        release.write(location, report=True)
        for path in (path for path in location.rglob("*") if path.is_file()):
            assert canary.encode() not in path.read_bytes(), path
        metadata = pq.read_schema(location / "part-00000.parquet").metadata
        assert metadata is None or canary not in str(metadata)
