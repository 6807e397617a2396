"""Nights of a series over the generated census: peak memory, times and the size of the ledger.

    python3 benches/series/night_memory.py --throng target/release/throng --scratch /tmp/nights [--rows 1000000] [--limit 512MiB]

Needs the wheel `pyarrow` and `/usr/bin/time`. The first night has all people. In every later one a percent of them
leaves, as many change their occupation, and as many come. Prints a line per night, and one for `verify --ledger`.
With `--limit none` there is no limit.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "configs" / "census.toml"
SHARE = 100  # one in so many leaves, changes and comes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--nights", type=int, default=2)
    parser.add_argument("--limit", default="512MiB")
    parser.add_argument("--budget", default="fast")
    parser.add_argument("--keep", action="store_true", help="keep inputs and releases")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(options.scratch)
    environment = os.environ | {"THRONG_SECRET": "0123456789abcdef" * 4, "THRONG_LEDGER_KEY": "fedcba9876543210" * 4}
    shutil.copytree(CONFIG.parent / "hierarchies", "hierarchies", dirs_exist_ok=True)
    for place in ["release", "ledger"]:
        shutil.rmtree(place, ignore_errors=True)

    def throng(*words):
        command = ["/usr/bin/time", "-f", "%M %e %U %S", options.throng, *map(str, words)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{words[0]} ended with {done.returncode}: {done.stderr[-800:]}")
        peak, seconds, user, system = re.search(r"(\d+) ([\d.]+) ([\d.]+) ([\d.]+)\s*$", done.stderr).groups()
        times = f"{float(seconds):.1f} | {float(user) + float(system):.1f}"
        return json.loads(done.stdout.splitlines()[-1]), int(peak) / 1024, times

    policy = CONFIG.read_text().replace('mode = "error"', 'mode = "series"')
    policy = policy.replace("[privacy]\n", '[privacy]\nunit = "person_id"\n', 1)
    algorithm = f'[series]\nledger = "ledger"\n\n[algorithm]\nbudget = "{options.budget}"\n'
    policy = policy.replace("[algorithm]\n", algorithm, 1)
    policy = policy.replace("data/census/", "input/").replace("out/census/", "release/")
    pathlib.Path("policy.toml").write_text(policy)
    limit = [] if options.limit == "none" else ["--memory-limit", options.limit]
    print("| night | input | rows | classes | peak, MiB | time, s | CPU, s | ledger, bytes per row | release |")
    print("|---|---|---|---|---|---|---|---|---|")
    census(throng, options.rows)
    for night in range(1, options.nights + 1):
        if night > 1:
            pass_a_night(night)
        said, peak, times = throng("run", "policy.toml", *limit)
        ledger = sum(file.stat().st_size for file in pathlib.Path("ledger").glob("ledger-*"))
        people = sum(pq.ParquetFile(file).metadata.num_rows for file in pathlib.Path("input").glob("*.parquet"))
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(pathlib.Path("release").glob("part-*"))))
        print(
            f"| {night} | {people:,} | {said['rows']:,} | {said['classes']:,} | {peak:.0f} | {times} | {ledger / said['rows']:.0f} |"
            f" {digest.hexdigest()[:12]} |",
            flush=True,
        )
    _, peak, times = throng("verify", "release", "--policy", "policy.toml", "--ledger", *limit)
    print(f"| verify | | | | {peak:.0f} | {times} | | |")
    if not options.keep:
        for place in ["input", "release", "ledger", "hierarchies"]:
            shutil.rmtree(place, ignore_errors=True)


def census(throng, rows):
    """Makes the people of the first night."""
    shutil.rmtree("input", ignore_errors=True)
    throng("generate", "census", "--rows", rows, "-o", "input")


def pass_a_night(night):
    """Lets people leave, change and come."""
    others = None
    for number, file in enumerate(sorted(pathlib.Path("input").glob("*.parquet"))):
        table = pq.read_table(file)
        lot = (table["person_id"].to_numpy() * 2654435761 + night * 7919) % SHARE
        occupation = table["occupation"].combine_chunks()
        moved = pa.concat_arrays([occupation[1:], occupation[:1]])
        changed = pc.if_else(pa.array(lot == 1), moved, occupation)
        table = table.set_column(table.schema.get_field_index("occupation"), table.schema.field("occupation"), changed)
        if others is None:
            # Newcomers have the attributes of people who are there, and their own numbers.
            others = table.filter(pa.array(lot == 2))
        own = pc.subtract(-(10**13) * night - 10**15 * number, others["person_id"])
        come = others.set_column(0, table.schema.field("person_id"), own)
        pq.write_table(pa.concat_tables([table.filter(pa.array(lot != 0)), come.cast(table.schema)]), file)


if __name__ == "__main__":
    main()
