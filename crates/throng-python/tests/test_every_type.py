"""Every type that a frame of a library can have: in as a frame, out as a frame of the same library, with the same values.

A type that a library does not have raises an exception of that library when the column is made, and is not counted as tested; the
number of the others is fixed below, so that none gets lost.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable

import datafusion
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import throng_privacy as throng

N = 24
UTC = dt.timezone.utc


def sparse(values: list) -> list:
    """Every fifth value is missing."""
    return [None if row % 5 == 3 else value for row, value in enumerate(values)]


def columns() -> dict[str, pa.Array]:
    """A column of every type that pyarrow can make, with nulls."""
    numbers = sparse([row % 7 for row in range(N)])
    words = sparse([f"a word of more than twelve bytes {row % 6}" for row in range(N)])
    raw = sparse([bytes([row]) * (row % 3) for row in range(N)])
    days = sparse([dt.date(2020, 1, 1 + row % 20) for row in range(N)])
    moments = sparse([dt.datetime(2020, 1, 1 + row % 20, 7) for row in range(N)])
    zoned = sparse([dt.datetime(2020, 1, 1 + row % 20, 7, tzinfo=UTC) for row in range(N)])
    spans = sparse([dt.timedelta(seconds=row) for row in range(N)])
    prices = sparse([decimal.Decimal(row) / 4 for row in range(N)])
    made = {str(kind): pa.array(numbers, kind) for kind in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()
    )}
    made["float16"] = pa.array(numbers, pa.float32()).cast(pa.float16())
    for kind in (pa.decimal32(9, 2), pa.decimal64(18, 3), pa.decimal128(38, 4), pa.decimal256(76, 5)):
        made[str(kind)] = pa.array(prices, kind)
    made["bool"] = pa.array(sparse([row % 2 == 0 for row in range(N)]))
    made["null"] = pa.nulls(N)
    made["date32"] = pa.array(days)
    made["date64"] = pa.array(days, pa.date64())
    for unit in ("s", "ms", "us", "ns"):
        made[f"timestamp {unit}"] = pa.array(moments, pa.timestamp(unit))
        made[f"timestamp {unit}, UTC"] = pa.array(zoned, pa.timestamp(unit, "UTC"))
        made[f"timestamp {unit}, Paris"] = pa.array(zoned, pa.timestamp(unit, "Europe/Paris"))
        made[f"duration {unit}"] = pa.array(spans, pa.duration(unit))
    made["timestamp us, +05:30"] = pa.array(zoned, pa.timestamp("us", "+05:30"))
    clock = sparse([dt.time(row % 20, 5) for row in range(N)])
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        made[str(kind)] = pa.array(clock, kind)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        made[str(kind)] = pa.array(words, kind)
        made[f"list of {kind}"] = pa.array([[word] for word in words], pa.list_(kind))
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        made[str(kind)] = pa.array(raw, kind)
    made["fixed binary"] = pa.array(sparse([bytes([row] * 3) for row in range(N)]), pa.binary(3))
    made["list"] = pa.array(sparse([[row, None][: row % 3] for row in range(N)]), pa.list_(pa.int32()))
    made["large list"] = pa.array(sparse([[row] for row in range(N)]), pa.large_list(pa.int32()))
    made["fixed list"] = pa.array(sparse([[row, None] for row in range(N)]), pa.list_(pa.int32(), 2))
    made["struct"] = pa.array(sparse([{"a": row, "b": f"b {row}"} for row in range(N)]))
    made["list of structs"] = pa.array(sparse([[{"a": row}] for row in range(N)]))
    made["map"] = pa.array(sparse([[("key", row)] for row in range(N)]), pa.map_(pa.string(), pa.int32()))
    made["dictionary of text"] = pa.array(words).dictionary_encode()
    made["dictionary of numbers"] = pa.array(numbers).dictionary_encode()
    made["dictionary, small keys"] = pa.array(words).cast(pa.dictionary(pa.uint8(), pa.large_string()))
    return made


COLUMNS = columns()


def through_duckdb(table: pa.Table) -> tuple[object, Callable[[object], pa.Table]]:
    connection = duckdb.connect()
    connection.sql("set timezone = 'UTC'")
    return connection.from_arrow(table), lambda release: connection.from_arrow(release).to_arrow_table()


def through_datafusion(table: pa.Table) -> tuple[object, Callable[[object], pa.Table]]:
    session = datafusion.SessionContext()
    return session.from_arrow(table), lambda release: pa.table(session.from_arrow(release))


LIBRARIES: dict[str, Callable[[pa.Table], tuple[object, Callable[[object], pa.Table]]]] = {
    "pyarrow": lambda table: (table, pa.table),
    "pandas": lambda table: (pd.DataFrame.from_arrow(table), lambda release: pa.table(pd.DataFrame.from_arrow(release))),
    "polars": lambda table: (pl.DataFrame(table), lambda release: pa.table(pl.DataFrame(release))),
    "duckdb": through_duckdb,
    "datafusion": through_datafusion,
}

# What libraries raise for a type that they do not have. A panic is no `Exception`.
NO_SUCH_TYPE = (Exception, pl.exceptions.PanicException)

# Types of `COLUMNS` that a library can hold.
HELD = {"pyarrow": 59, "pandas": 57, "polars": 57, "duckdb": 53, "datafusion": 59}


def comparable(values: list) -> list[str]:
    """Values as text, in any order: times in UTC, and without what libraries write differently."""

    def text(value: object) -> object:
        if isinstance(value, dt.datetime):
            value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return value.isoformat(sep=" ")
        if isinstance(value, dt.date):
            return dt.datetime(value.year, value.month, value.day).isoformat(sep=" ")
        if isinstance(value, float):
            # Whole numbers with nulls are floats in pandas.
            return None if value != value else int(value) if value.is_integer() else value
        if isinstance(value, decimal.Decimal):
            return str(value.normalize())
        if isinstance(value, list):
            return [tuple(item) if isinstance(item, tuple) else text(item) for item in value]
        if isinstance(value, dict):
            return {name: text(item) for name, item in value.items()}
        return value

    return sorted(str(text(value)) for value in values)


@pytest.mark.parametrize("library", list(LIBRARIES))
def test_kept_columns_come_back_as_they_were(library):
    held = []
    for name, column in COLUMNS.items():
        table = pa.table({"q": [row % 8 for row in range(N)], "s": ["flu", "gout", "asthma"] * (N // 3), "kept": column})
        try:
            frame, back = LIBRARIES[library](table)
            expected = back(frame)["kept"].to_pylist()
        except NO_SUCH_TYPE:
            continue
        if "INTERVAL" in str(getattr(frame, "types", "")):
            # What DuckDB makes of a duration has no place in Parquet.
            with pytest.raises(throng.PolicyError, match="column `kept` is Interval"):
                throng.anonymize(frame, k=3, quasi=["q"], sensitive=["s"], insensitive=["kept"])
            continue
        held.append(name)
        release = throng.anonymize(frame, k=3, p=2, quasi=["q"], sensitive=["s"], insensitive=["kept"])
        released = back(release)["kept"].to_pylist()
        assert comparable(released) == comparable(expected), name
    assert len(held) == HELD[library], sorted(set(COLUMNS) - set(held))


# Types without an order or a hierarchy are refused as quasi-identifiers, by name.
NESTED = ("null", "list", "large list", "fixed list", "struct", "map", "binary", "fixed binary", "duration")


@pytest.mark.parametrize("library", list(LIBRARIES))
def test_quasi_identifiers_are_generalized_or_refused_by_name(library):
    refused, released = [], []
    for name, column in COLUMNS.items():
        table = pa.table({"q": column, "s": ["flu", "gout", "asthma"] * (N // 3)})
        try:
            frame, _ = LIBRARIES[library](table)
            pa.table(frame)
        except NO_SUCH_TYPE:
            continue
        try:
            release = throng.anonymize(frame, k=3, p=2, quasi=["q"], sensitive=["s"])
        except throng.PolicyError as error:
            assert [problem.path for problem in error.problems] == ["columns.q.role"], f"{name}: {error}"
            refused.append(name)
            continue
        released.append(name)
        classes = pd.DataFrame.from_arrow(pa.table(release)).groupby("q", dropna=False)
        assert classes.size().min() >= 3, name
        assert classes["s"].nunique().min() >= 2, name
    assert all(name.startswith(NESTED) or "binary" in name for name in refused), refused
    assert len(released) >= 30


@pytest.mark.parametrize("library", list(LIBRARIES))
def test_an_empty_frame_is_refused_by_every_library_alike(library):
    table = pa.table({"q": pa.array([], pa.int32()), "s": pa.array([], pa.string())})
    frame, _ = LIBRARIES[library](table)
    with pytest.raises(throng.ThrongError) as caught:
        throng.anonymize(frame, k=3, quasi=["q"], sensitive=["s"])
    assert caught.value.exit_code in (3, 65)
    assert "row" in str(caught.value)
    with pytest.raises(throng.DataError, match="no rows"):
        throng.risk(LIBRARIES[library](table)[0], quasi=["q"])
