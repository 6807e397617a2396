#!/usr/bin/env python3
"""Writes files of every type and format with DuckDB, polars, pyarrow and pandas, and odd CSV files, for the test of foreign files:

    python3 fuzz/foreign.py DIR
    THRONG_CORPUS=DIR cargo test --release --workspace --locked --test cli -- foreign_corpus --nocapture

The packages are those of crates/throng-python/requirements.txt. What a writer refuses is printed and left out.
"""

import datetime
import decimal
import sys
import uuid
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

ROWS = 500


class Folder:
    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def write(self, name, write):
        """Calls `write` with the path of a file, which is removed if that fails."""
        path = self.path / name.replace("(", "_").replace(")", "_").replace(" ", "")
        try:
            write(str(path))
        except BaseException as error:  # polars panics
            path.unlink(missing_ok=True)
            print(f"not written: {path.name}: {str(error).splitlines()[0]}")


def write_duckdb(folder):
    connection = duckdb.connect()

    def copy(query, name, options="format parquet"):
        folder.write(name, lambda path: connection.sql(f"COPY ({query}) TO '{path}' ({options})"))

    types = connection.sql("SELECT column_name FROM (DESCRIBE SELECT * FROM test_all_types())").fetchall()
    for (name,) in types:
        rows = f'SELECT i AS age, "{name}" FROM test_all_types() t, range(6) r(i)'
        codecs = ["zstd", "snappy", "uncompressed", "gzip", "brotli", "lz4_raw"]
        for codec in codecs if name in ["int", "varchar"] else codecs[:1]:
            copy(rows, f"duckdb-{name}-{codec}.parquet", f"format parquet, codec '{codec}'")
    mixed = """SELECT i % 80 age, 'c' || (i % 7) city, i::hugeint h, i::uhugeint u, uuid() id, (i * 1.5)::decimal(38, 9) d,
        interval (i) day iv, [i, null] l, {'a': i, 'b': 'x'} s, map([i], ['v']) m FROM range(5000) r(i)"""
    for version in ["V1", "V2"]:
        copy(mixed, f"duckdb-{version}.parquet", f"format parquet, parquet_version {version}, row_group_size 700")
    copy("SELECT * EXCLUDE (bit) FROM test_all_types()", "duckdb-all.csv", "header")
    copy("SELECT i age, repeat('x', 2000000) t FROM range(3) r(i)", "duckdb-wide.parquet")
    copy("SELECT i age FROM range(0) r(i)", "duckdb-empty.parquet")
    copy("SELECT 1 age FROM range(2000000) r(i)", "duckdb-equal.parquet")


def polars_columns():
    rows = range(ROWS)
    numbers = polars.Series([i % 100 if i % 9 else None for i in rows], dtype=polars.Int64)
    words = polars.Series([f"w{i % 3}" if i % 9 else None for i in rows])
    instants = polars.Series([datetime.datetime(2000, 1, 1) + datetime.timedelta(i) for i in rows])
    for name in ["Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128"]:
        if hasattr(polars, name):
            yield name, lambda name=name: numbers.cast(getattr(polars, name))
    for name in ["Float16", "Float32", "Float64"]:
        if hasattr(polars, name):
            yield name, lambda name=name: numbers.cast(getattr(polars, name))
    yield "Boolean", lambda: polars.Series([i % 2 == 0 if i % 9 else None for i in rows])
    yield "String", lambda: words
    yield "Binary", lambda: polars.Series([bytes([i % 256] * (i % 5)) for i in rows])
    yield "Categorical", lambda: words.cast(polars.Categorical)
    yield "Enum", lambda: words.cast(polars.Enum(["w0", "w1", "w2"]))
    yield "Date", lambda: instants.cast(polars.Date)
    for unit in ["ms", "us", "ns"]:
        yield f"Datetime-{unit}", lambda unit=unit: instants.cast(polars.Datetime(unit))
        yield f"Zoned-{unit}", lambda unit=unit: instants.cast(polars.Datetime(unit)).dt.replace_time_zone("UTC")
        yield f"Duration-{unit}", lambda unit=unit: (instants - instants.min()).cast(polars.Duration(unit))
    yield "Time", lambda: polars.Series([datetime.time(i % 24, i % 60) for i in rows])
    yield "Decimal", lambda: polars.Series([decimal.Decimal(i) / 4 for i in rows])
    yield "List", lambda: polars.Series([[i] * (i % 4) if i % 7 else None for i in rows])
    yield "ListList", lambda: polars.Series([[[i], []] for i in rows])
    yield "Array", lambda: polars.Series([[i, i + 1] for i in rows], dtype=polars.Array(polars.Int64, 2))
    yield "Array0", lambda: polars.Series([[] for _ in rows], dtype=polars.Array(polars.Int64, 0))
    yield "Struct", lambda: polars.Series([{"a": i, "b": "x"} for i in rows])
    yield "StructEmpty", lambda: polars.Series([{} for _ in rows], dtype=polars.Struct([]))
    yield "Null", lambda: polars.Series([None] * ROWS)


def write_polars(folder):
    for name, column in polars_columns():
        frame = polars.DataFrame({"age": [i % 80 for i in range(ROWS)], "x": column()})
        folder.write(f"polars-{name}.parquet", frame.write_parquet)
        folder.write(f"polars-{name}.arrow", frame.write_ipc)
        folder.write(f"polars-{name}.stream", frame.write_ipc_stream)
        for codec in ["zstd", "lz4"]:
            folder.write(f"polars-{name}-{codec}.arrow", lambda path: frame.write_ipc(path, compression=codec))
        folder.write(f"polars-{name}.csv", frame.write_csv)


def write_ipc(folder, name, table, options=None):
    for end, new in [("stream", pyarrow.ipc.new_stream), ("arrow", pyarrow.ipc.new_file)]:

        def write(path):
            with new(path, table.schema, options=options) as writer:
                writer.write_table(table, 100)

        folder.write(f"{name}.{end}", write)


def pyarrow_columns():
    numbers = pyarrow.array(range(6))
    zeros = pyarrow.array([0] * 6, pyarrow.int8())
    yield "run-end", pyarrow.RunEndEncodedArray.from_arrays([2, 6], [7, 8])
    yield "list-view", pyarrow.ListViewArray.from_arrays([0] * 6, [1] * 6, numbers)
    yield "large-list-view", pyarrow.LargeListViewArray.from_arrays([0] * 6, [1] * 6, numbers)
    yield "dense-union", pyarrow.UnionArray.from_dense(zeros, pyarrow.array(range(6), pyarrow.int32()), [numbers])
    yield "sparse-union", pyarrow.UnionArray.from_sparse(zeros, [numbers])
    yield "interval", pyarrow.array([pyarrow.MonthDayNano([1, 2, 3])] * 6)
    yield "float16", pyarrow.array([1.5] * 6, pyarrow.float16())
    for name, data_type in [
        ("decimal32", pyarrow.decimal32(7, 2)),
        ("decimal64", pyarrow.decimal64(17, 2)),
        ("decimal256", pyarrow.decimal256(70, 2)),
        ("decimal-negative", pyarrow.decimal128(10, -2)),
    ]:
        yield name, pyarrow.array([decimal.Decimal(300)] * 6, data_type)
    yield "empty-struct", pyarrow.array([{}] * 6, pyarrow.struct([]))
    yield "uuid", pyarrow.array([uuid.UUID(int=7).bytes] * 6, pyarrow.uuid())
    yield "json", pyarrow.array(["{}"] * 6, pyarrow.json_())
    yield "string-view", pyarrow.array(["a long text of a view"] * 6, pyarrow.string_view())
    yield "binary-view", pyarrow.array([b"x"] * 6, pyarrow.binary_view())
    yield "no-bytes", pyarrow.array([b""] * 6, pyarrow.binary(0))
    yield "no-items", pyarrow.array([[]] * 6, pyarrow.list_(pyarrow.int32(), 0))
    yield "unknown-zone", pyarrow.array([0] * 6, pyarrow.timestamp("us", "Not/AZone"))


def write_pyarrow(folder):
    rows = range(ROWS)
    words = pyarrow.array([f"w{i % 11}" for i in rows]).dictionary_encode()
    lists, structs = pyarrow.array([[i] for i in rows]), pyarrow.array([{"a": i} for i in rows])
    table = pyarrow.table({"age": [i % 80 for i in rows], "w": words, "l": lists, "s": structs})
    for version in ["1.0", "2.4", "2.6"]:
        for pages in ["1.0", "2.0"]:
            for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]:
                options = {"version": version, "data_page_version": pages, "compression": codec, "row_group_size": 100}
                name = f"pyarrow-{version}-{pages}-{codec}.parquet"
                folder.write(name, lambda path: pyarrow.parquet.write_table(table, path, write_page_index=True, **options))
    checked = lambda path: pyarrow.parquet.write_table(table, path, write_page_checksum=True)  # noqa: E731
    folder.write("pyarrow-checksum.parquet", checked)
    for version in pyarrow.ipc.MetadataVersion.V4, pyarrow.ipc.MetadataVersion.V5:
        for is_legacy in [False, True]:
            for codec in [None, "lz4", "zstd"]:
                options = pyarrow.ipc.IpcWriteOptions(
                    metadata_version=version, use_legacy_format=is_legacy, compression=codec
                )
                write_ipc(folder, f"pyarrow-{version.name}-{is_legacy}-{codec}", table, options)
    for name, column in pyarrow_columns():
        one = pyarrow.table({"age": range(6), "x": column})
        write_ipc(folder, f"pyarrow-{name}", one)
        folder.write(f"pyarrow-{name}.parquet", lambda path: pyarrow.parquet.write_table(one, path))
    write_ipc(folder, "pyarrow-no-columns", pyarrow.table({}))
    write_dictionaries(folder)


def write_dictionaries(folder):
    """Streams whose dictionaries grow, and are replaced."""
    schema = pyarrow.schema([("age", pyarrow.dictionary(pyarrow.int32(), pyarrow.int64()))])
    for name, are_deltas, values in [
        ("growing", True, lambda number: range(number)),
        ("replaced", False, lambda number: [number]),
    ]:

        def write(path):
            options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=are_deltas)
            with pyarrow.ipc.new_stream(path, schema, options=options) as writer:
                for number in range(1, 5):
                    keys = pyarrow.array([0, 0], pyarrow.int32())
                    column = pyarrow.DictionaryArray.from_arrays(keys, pyarrow.array(values(number), pyarrow.int64()))
                    writer.write_batch(pyarrow.record_batch([column], schema=schema))

        folder.write(f"pyarrow-{name}.stream", write)


def write_pandas(folder):
    columns = {
        "age": [i % 80 for i in range(ROWS)],
        "c": pandas.Categorical([f"w{i % 5}" for i in range(ROWS)]),
        "t": pandas.date_range("2000", "2001", ROWS),
    }
    more = {
        "p": pandas.period_range("2000-01", periods=ROWS, freq="D"),
        "i": pandas.arrays.IntervalArray.from_tuples([(i, i + 1) for i in range(ROWS)]),
    }
    folder.write("pandas.parquet", pandas.DataFrame(columns | more).to_parquet)
    folder.write("pandas.csv", pandas.DataFrame(columns).to_csv)


def write_odd_csv(folder):
    texts = {
        "bom": b"\xef\xbb\xbfage,x\n1,2\n3,4\n",
        "utf-16": "age,x\n1,2\n".encode("utf-16"),
        "latin-1": "age,x\n1,é\n2,è\n".encode("latin-1"),
        "nul": b"age,x\n1,a\x00b\n2,c\n",
        "cr": b"age,x\r1,2\r3,4\r",
        "crlf": b"age,x\r\n1,2\r\n3,4\r\n",
        "no-end": b"age,x\n1,2",
        "open-quote": b'age,x\n1,"2\n3,4\n',
        "header": b"age,x\n",
        "empty": b"",
        "newline": b"\n",
        "repeated": b"age,age\n1,2\n",
        "nameless": b"age,\n1,2\n",
        "long": b"age,x\n1," + b"y" * 3_000_000 + b"\n",
        "ragged": b"age,x\n1\n2,3,4\n",
        "semicolon": b"age;x\n1;2\n",
        "quotes": b'age,x\n1,"a""b"\n2,"c\nd"\n',
        "spaces": b" age , x \n 1 , 2 \n",
        "not-finite": b"age,x\nNaN,inf\n1,-inf\n",
        "digits": b"age,x\n" + b"9" * 400 + b",1\n1,2\n",
        "wide": (",".join(f"c{i}" for i in range(2000)) + "\n" + ",".join("1" * 2000) + "\n").encode(),
        "zip": b"PK\x03\x04",
        "gzip": b"\x1f\x8b\x08\x00",
    }
    for name, text in texts.items():
        folder.write(f"odd-{name}.csv", lambda path: Path(path).write_bytes(text))


def main():
    folder = Folder(sys.argv[1])
    for write in [write_duckdb, write_polars, write_pyarrow, write_pandas, write_odd_csv]:
        write(folder)
    print(f"{len(list(folder.path.iterdir()))} files in {folder.path}")


main()
