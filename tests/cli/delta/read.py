"""Compares every version of tables that deltalake has written with a release that leaves all columns but one as they are."""

import json, os, random, subprocess, sys, time
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

throng, folder = sys.argv[1], Path(sys.argv[2])
draw = random.Random(int(sys.argv[3]))


def run(table, columns, pin, code=0):
    roles = "".join(f'[columns.{name}]\nrole = "{"quasi" if name == "one" else "insensitive"}"\n' for name in columns)
    output = folder / "released"
    policy = (
        f'version = 1\n[input]\nlocation = "delta+{table}"\n{pin}\n[output]\nlocation = "{output}"\nmode = "overwrite"\n'
        f"[privacy]\nk = 2\n{roles}"
    )
    (folder / "policy.toml").write_text(policy)
    ended = subprocess.run([throng, "run", "policy.toml"], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == code, (pin, ended.stderr)
    if code != 0:
        return ended.stderr
    files = sorted(output.glob("part-*.parquet"))
    return pa.concat_tables([pq.read_table(file) for file in files]), json.loads((output / "_throng/metrics.json").read_text())


def rows(table):
    names = sorted(name for name in table.column_names if name != "one")
    return sorted(repr([repr(row[name]) for name in names]) for row in table.select(names).to_pylist())


def compare(path, version, pin=None):
    known = DeltaTable(path, version=version)
    expected = known.to_pyarrow_table()
    released, metrics = run(path, expected.column_names, f"version = {version}" if pin is None else pin)
    assert metrics["input"]["version"] == version, metrics["input"]
    assert rows(released) == rows(pa.table(expected)), (path, version)
    assert metrics["input"]["rows"] == expected.num_rows
    return expected.num_rows


def some(count, start):
    numbers = range(start, start + count)
    return pa.table({
        "one": pa.array(["x"] * count),
        "id": pa.array(numbers, pa.int64()),
        "small": pa.array([n % 100 for n in numbers], pa.int16()),
        "text": pa.array([None if n % 7 == 0 else f"t {n}" for n in numbers]),
        "share": pa.array([n / 3 for n in numbers], pa.float64()),
        "flag": pa.array([n % 2 == 0 for n in numbers]),
        "born": pa.array([date(2000, 1, 1 + n % 28) for n in numbers]),
        "seen": pa.array([datetime(2026, 1, 1, n % 24, tzinfo=timezone.utc) for n in numbers], pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal(n).scaleb(-2) for n in numbers], pa.decimal128(12, 2)),
        "city": pa.array([[None, "Rome", "N/A", "a b", "ü%=?", "50%"][n % 6] for n in numbers]),
        "year": pa.array([[2023, 2024, None][n % 3] for n in numbers], pa.int32()),
        "day": pa.array([[date(2024, 2, 29), None][n % 2] for n in numbers]),
    })


for name, partitions in [("plain", None), ("parted", ["city", "year"]), ("dated", ["day", "flag"])]:
    path, start = str(folder / name), 0
    for step in range(14):
        table = DeltaTable(path) if step else None
        action = draw.choice(["append", "append", "append", "overwrite", "delete", "update", "optimize", "wider"]) if step else "append"
        if action == "append":
            write_deltalake(path, some(30, start), mode="append", partition_by=partitions, schema_mode="merge" if step else None)
            start += 30
        elif action == "overwrite":
            write_deltalake(path, some(25, start), mode="overwrite", schema_mode="merge")
            start += 25
        elif action == "delete":
            table.delete(f"id % {draw.randint(3, 9)} = 0")
        elif action == "update":
            table.update(updates={"text": "'changed'"}, predicate="id % 5 = 0")
        elif action == "optimize":
            table.optimize.compact()
        elif action == "wider":
            batch = some(10, start).append_column(f"new_{step}", pa.array(range(10), pa.int64()))
            write_deltalake(path, batch, mode="append", schema_mode="merge")
            start += 10
        if step == 5:
            DeltaTable(path).create_checkpoint()
        if step == 9:
            DeltaTable(path).create_checkpoint()
            for entry in sorted(Path(path, "_delta_log").glob("0*.json"))[:4]:
                entry.unlink()
    latest = DeltaTable(path).version()
    checked = {version: compare(path, version) for version in range(latest + 1) if version >= 5}
    assert compare(path, latest, "") == checked[latest]
    said = run(path, ["one"], "version = 2", code=66)
    assert "log is missing" in said, said
    print(name, "versions", sorted(checked), "rows", checked)

# Times: versions are a second apart.
path, times = str(folder / "timed"), []
for version in range(3):
    write_deltalake(path, some(10, 10 * version), mode="append")
    time.sleep(1.1)
    times.append(datetime.now(timezone.utc))
    time.sleep(1.1)
for version, moment in enumerate(times):
    known = DeltaTable(path)
    known.load_as_version(moment)
    assert known.version() == version
    compare(path, version, f'as_of = "{moment.isoformat()}"')
print("times", len(times))
