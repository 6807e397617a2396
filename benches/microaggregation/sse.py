"""Squared errors of microaggregation on tables of numbers, beside MDAV.

    python3 benches/microaggregation/sse.py --throng target/release/throng --scratch /tmp/sse [--seeds 1] TABLE.csv ...

All columns are quasi-identifiers, released as means, with p = 1. Prints SSE / SST in percent for k = 3, 4, 5 and 10, as the sidecar of a
verified release has it, and the mean CPU seconds of a run. Needs nothing but Python.
"""

import argparse
import csv
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess

SIZES = [3, 4, 5, 10]
METHODS = {
    "MDAV": "cluster = 'mdav'",
    "`balanced`": "budget = 'balanced'",
    "`thorough`": "budget = 'thorough'",
}

POLICY = """version = 1
[privacy]
k = 3
p = 1
[algorithm]
partition = "none"
{method}
[columns]
"""


def policy(table, method):
    with table.open(newline="") as lines:
        names = next(csv.reader(lines))
    columns = (f'{json.dumps(name)} = {{ role = "quasi", release = "mean" }}\n' for name in names)
    return POLICY.format(method=method) + "".join(columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("tables", nargs="+", type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(options.scratch)
    environment = os.environ | {"THRONG_SECRET": "0123456789abcdef" * 4}
    print("| table | method |" + "".join(f" k = {k} |" for k in SIZES) + " CPU s |\n|---|---|" + "---|" * (len(SIZES) + 1))
    for table in options.tables:
        for name, method in METHODS.items():
            pathlib.Path("policy.toml").write_text(policy(table, method))
            found, seconds = [], []
            for k in SIZES:
                errors = []
                for seed in range(options.seeds):
                    shutil.rmtree("out", ignore_errors=True)
                    words = ["run", "policy.toml", "-i", table, "-o", "out", "-k", k, "--seed", seed]
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    subprocess.run([options.throng, *map(str, words)], env=environment, check=True, capture_output=True)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                    sidecar = json.loads(pathlib.Path("out/_throng/metrics.json").read_text())
                    errors.append(100 * sidecar["utility"]["sse_sst"])
                found.append(statistics.mean(errors))
            row = [table.stem, name, *(f"{error:.3f}" for error in found), f"{statistics.mean(seconds):.2f}"]
            print("| " + " | ".join(row) + " |", flush=True)


main()
