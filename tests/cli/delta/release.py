"""Releases a partitioned Delta table to a Delta table, and reads every version of it with deltalake, polars, DuckDB and pyarrow."""

import json, subprocess, sys
from pathlib import Path

import duckdb
import duckdb_extension_delta
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

throng, folder = sys.argv[1], Path(sys.argv[2])
db = duckdb.connect()
db.load_extension(str(next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))))


def people(count, start=0):
    numbers = range(start, start + count)
    return pa.table({
        "id": pa.array(numbers, pa.int64()),
        "age": pa.array([20 + n * 7 % 60 for n in numbers], pa.int64()),
        "region": pa.array([["North", "South", None][n % 3] for n in numbers]),
        "illness": pa.array([["flu", "asthma", "burn", "cold"][n * 5 % 4] for n in numbers]),
    })


lake, output = str(folder / "lake"), folder / "released"
write_deltalake(lake, people(400), partition_by=["region"])
write_deltalake(lake, people(200, 400), mode="append")
DeltaTable(lake).delete("id % 10 = 3")
(folder / "policy.toml").write_text(f"""version = 1
[input]
location = "delta+file://{lake}"
[output]
location = "{output}"
format = "delta"
mode = "overwrite"
rows_per_file = 200
[privacy]
k = 5
p = 2
[columns.id]
role = "identifier"
[columns.age]
role = "quasi"
[columns.region]
role = "quasi"
[columns.illness]
role = "sensitive"
""")


def run(*more):
    ended = subprocess.run([throng, "run", "policy.toml", *more], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def rows(table):
    return sorted(repr(list(row.values())) for row in table.to_pylist())


known = []
for seed in range(3):
    outcome = run("--seed", str(seed))
    manifest = json.loads((output / "_throng/manifest.json").read_text())
    metrics = json.loads((output / "_throng/metrics.json").read_text())
    assert (manifest["table_version"], manifest["input_version"], metrics["output"]["version"]) == (seed, 2, seed)
    assert metrics["output"]["earlier_versions"] == seed, metrics["output"]
    plain = pa.concat_tables([pq.read_table(output / file["path"]) for file in manifest["files"]])
    assert plain.num_rows == metrics["output"]["rows"] == 540
    known.append(rows(plain))

latest = DeltaTable(str(output))
assert latest.version() == 2 and len(latest.file_uris()) == 3
for version, expected in enumerate(known):
    assert rows(pa.table(DeltaTable(str(output), version=version).to_pyarrow_table())) == expected
    assert rows(pl.read_delta(str(output), version=version).to_arrow()) == expected
    assert rows(db.sql(f"SELECT * FROM delta_scan('{output}', version={version})").to_arrow_table()) == expected
history = latest.history()
assert [entry["throngRunId"] for entry in history][0] == json.loads((output / "_throng/metrics.json").read_text())["run_id"]
classes = pl.read_delta(str(output)).group_by(["age", "region"]).agg(pl.len(), pl.col("illness").n_unique().alias("p"))
assert classes["len"].min() >= 5 and classes["p"].min() >= 2, classes
counted = db.sql(f"""SELECT min(n), min(p) FROM (SELECT count(*) AS n, count(DISTINCT illness) AS p
    FROM delta_scan('{output}') GROUP BY age, region)""").fetchall()
assert counted == [(classes["len"].min(), classes["p"].min())], counted

# The table of releases is an input like any other, and its writer can be another program.
verified = subprocess.run([throng, "verify", f"delta+{output}", "--policy", "policy.toml"], cwd=folder, capture_output=True, text=True)
assert verified.returncode == 0, verified.stderr
latest.create_checkpoint()
latest.optimize.compact()
run("--seed", "3")
assert DeltaTable(str(output)).version() == 4
assert rows(pa.table(DeltaTable(str(output)).to_pyarrow_table())) != known[2]
removed = latest.vacuum(dry_run=True)
assert removed == [], removed

# A plain release: polars lists all folders, also hidden ones, and needs a pattern.
text = (folder / "policy.toml").read_text().replace('format = "delta"\n', "").replace(str(output), str(folder / "plain"))
(folder / "policy.toml").write_text(text)
run("--seed", "0")
plain = folder / "plain"
expected = known[0]
assert rows(pl.read_parquet(f"{plain}/*.parquet").to_arrow()) == expected
assert rows(pq.read_table(plain)) == expected
try:
    pl.read_parquet(plain)
    raise SystemExit("polars reads the folder of a release: the guide says that it does not")
except pl.exceptions.InvalidOperationError:
    pass

# With a folder for data files alone, every reader takes the folder.
text = text.replace("[privacy]", 'data_folder = "data"\n[privacy]').replace(str(plain), str(folder / "apart"))
(folder / "policy.toml").write_text(text)
run("--seed", "0")
data = folder / "apart" / "data"
assert rows(pl.read_parquet(data).to_arrow()) == rows(pl.scan_parquet(f"{data}/").collect().to_arrow()) == expected
assert rows(pq.read_table(data)) == rows(pq.read_table(folder / "apart")) == expected
assert rows(pa.dataset.dataset(data).to_table()) == expected
for pattern in (data / "*.parquet", folder / "apart" / "**" / "*.parquet"):
    assert rows(db.sql(f"SELECT * FROM '{pattern}'").to_arrow_table()) == expected
print("versions", len(known), "rows", len(known[0]))
