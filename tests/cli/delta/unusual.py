"""Tables of deltalake with unusual columns, partitions and histories: read as deltalake reads them, or refused by name."""

import subprocess, sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, TableFeatures, write_deltalake

throng, folder = sys.argv[1], Path(sys.argv[2])
COUNT = 12
NUMBERS = range(COUNT)


def run(path, names, pin=""):
    roles = "".join(f'[columns."{name}"]\nrole = "{"quasi" if name == "one" else "insensitive"}"\n' for name in names)
    output = folder / "released"
    (folder / "policy.toml").write_text(
        f'version = 1\n[input]\nlocation = "delta+{path}"\n{pin}\n[output]\nlocation = "{output}"\nmode = "overwrite"\n'
        f"[privacy]\nk = 2\n{roles}"
    )
    ended = subprocess.run([throng, "run", "policy.toml"], cwd=folder, capture_output=True, text=True)
    if ended.returncode:
        return ended.returncode, ended.stderr
    return 0, pa.concat_tables([pq.read_table(file) for file in sorted(output.glob("part-*.parquet"))])


def rows(table):
    names = sorted(name for name in table.column_names if name != "one")
    return sorted(repr([repr(row[name]) for name in names]) for row in table.select(names).to_pylist())


def frame(columns):
    return pa.table({"one": pa.array(["x"] * COUNT), **columns})


def made(name, columns, **more):
    path = str(folder / name)
    write_deltalake(path, frame(columns), **more)
    return path


def same(path, names=None):
    expected = None if names else pa.table(DeltaTable(path).to_pyarrow_table())
    code, released = run(path, names or expected.column_names)
    assert code == 0, (path, released)
    assert names or rows(released) == rows(expected), path
    checked.append(path)


def refused(path, names, code, words, pin=""):
    found, said = run(path, names, pin)
    assert found == code and words in said, (path, found, said)
    checked.append(path)


checked = []
times = [datetime(2026, 1, 1 + n % 3, 7, 8, 9, 123456) for n in NUMBERS]
long = pa.array(NUMBERS, pa.int64())

# Columns.
same(made("times", {
    "local": pa.array(times, pa.timestamp("us")), "nanos": pa.array(times, pa.timestamp("ns")),
    "utc": pa.array(times, pa.timestamp("us", "UTC")), "zoned": pa.array(times, pa.timestamp("us", "Europe/Berlin")),
}))
same(made("nested", {
    "struct": pa.array([{"a": n, "b": {"c": str(n)}} for n in NUMBERS]),
    "list": pa.array([[n, None] for n in NUMBERS]),
    "structs": pa.array([[{"x": n}] for n in NUMBERS]),
    "map": pa.array([[("k", n)] for n in NUMBERS], pa.map_(pa.string(), pa.int64())),
    "fixed": pa.array([[n, n + 1] for n in NUMBERS], pa.list_(pa.int64(), 2)),
}))
same(made("small", {
    "byte": pa.array(NUMBERS, pa.int8()), "short": pa.array(NUMBERS, pa.int16()), "float": pa.array(map(float, NUMBERS), pa.float32()),
    "decimal": pa.array([Decimal(10) ** 30 + n for n in NUMBERS], pa.decimal128(38, 2)), "none": pa.array([None] * COUNT, pa.int64()),
}))
same(made("texts", {
    "view": pa.array(map(str, NUMBERS), pa.string_view()), "bytes": pa.array([b"\x00\xff"] * COUNT, pa.binary_view()),
    "large": pa.array(map(str, NUMBERS), pa.large_string()), "coded": pa.array(["a"] * COUNT).dictionary_encode(),
}))
same(made("names", {"a b": long, "ü%": long, "A": long}))

# Partitions.
for name, values in {
    "dates": pa.array([date(2024, 1, 1 + n % 3) if n % 4 else None for n in NUMBERS]),
    "moments": pa.array([None, *times[1:]], pa.timestamp("us", "UTC")),
    "local times": pa.array([None, *times[1:]], pa.timestamp("us")),
    "decimals": pa.array([Decimal(n % 3).scaleb(-2) for n in NUMBERS], pa.decimal128(9, 2)),
    "flags": pa.array([n % 2 == 0 for n in NUMBERS]),
    "floats": pa.array([[0.1, -0.0, 1e30][n % 3] for n in NUMBERS]),
    "texts of folders": pa.array([["", None, "a/b", "x=y"][n % 4] for n in NUMBERS]),
}.items():
    same(made(name, {"part %": values, "v": long}, partition_by=["part %"]))
parted = made("bytes", {"part": pa.array([[b"\x00\xff", b"a"][n % 2] for n in NUMBERS]), "v": long}, partition_by=["part"])
refused(parted, ["one", "part", "v"], 65, "partitioned by `part`")

# Schemas that evolve.
path = made("evolved", {"a": pa.array(NUMBERS, pa.int32())})
write_deltalake(path, frame({"a": pa.array(NUMBERS, pa.int32()), "b": long}), mode="append", schema_mode="merge")
write_deltalake(path, frame({"b": long}), mode="append", schema_mode="merge")
same(path)
path = made("evolved inside", {"s": pa.array([{"a": n} for n in NUMBERS])})
write_deltalake(path, frame({"s": pa.array([{"a": n, "b": n} for n in NUMBERS])}), mode="append", schema_mode="merge")
refused(path, ["one", "s"], 65, "column `s` is Struct")

# Histories.
path = made("vacuumed", {"a": long})
for n in range(3):
    write_deltalake(path, frame({"a": pa.array(range(n, COUNT + n))}), mode="overwrite")
DeltaTable(path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
same(path)
refused(path, ["one", "a"], 66, "choose a later version", pin="version = 1")
path = made("cleaned", {"a": long}, configuration={"delta.logRetentionDuration": "interval 0 days"})
for n in range(5):
    write_deltalake(path, frame({"a": pa.array(range(n, COUNT + n))}), mode="append")
table = DeltaTable(path)
table.create_checkpoint()
table.cleanup_metadata()
assert not Path(path, "_delta_log", f"{2:020}.json").exists()
same(path)
refused(path, ["one", "a"], 66, "log is missing", pin="version = 2")
path = made("changes", {"a": long}, configuration={"delta.enableChangeDataFeed": "true"})
DeltaTable(path).update(updates={"a": "a + 100"}, predicate="a % 2 = 0")
DeltaTable(path).delete("a = 1")
same(path)
path = made("merged", {"a": long, "b": long})
merge = DeltaTable(path).merge(frame({"a": pa.array(range(6, 6 + COUNT)), "b": long}), "t.a = s.a", source_alias="s", target_alias="t")
merge.when_matched_update_all().when_not_matched_insert_all().execute()
same(path)
path = made("restored", {"a": long})
write_deltalake(path, frame({"a": long}), mode="append")
DeltaTable(path).restore(0)
same(path)
path = made("emptied", {"a": long})
DeltaTable(path).delete()
refused(path, ["one", "a"], 65, "no rows")
path = str(folder / "created")
DeltaTable.create(path, pa.schema([("one", pa.string()), ("a", pa.int64())]))
refused(path, ["one", "a"], 65, "no rows")

# Features of writers do not concern readers, and those of readers do only where they are used.
path = made("constrained", {"a": long})
DeltaTable(path).alter.add_constraint({"positive": "a >= 0"})
same(path)
for feature in ["AppendOnly", "ChangeDataFeed", "RowTracking", "DomainMetadata"]:
    path = made(feature, {"a": long})
    DeltaTable(path).alter.add_feature(getattr(TableFeatures, feature), allow_protocol_versions_increase=True)
    same(path)
for feature in ["DeletionVectors", "ColumnMapping", "V2Checkpoint"]:
    path = made(feature, {"a": long})
    DeltaTable(path).alter.add_feature(getattr(TableFeatures, feature), allow_protocol_versions_increase=True)
    same(path, names=["one", "a"])
print("tables", len(checked))
