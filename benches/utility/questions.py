#!/usr/bin/env python3
"""Measures what a workload does to questions, and what regular intervals cost, and prints the tables of RESULTS.md.

    questions.py --throng target/release/throng --adult data/adult.csv --scratch DIR [--only workload borders] [--seeds 3]

Two tables are released under the policies of `configs/`, all weights 1: Adult, and a generated census of 100,000 rows. The same
arguments give the same figures.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SECRET = "a secret of the owner of the tables"
CENSUS_ROWS = 100_000

WORKLOADS = {
    "adult": [["age", "sex"], ["age", "marital-status"], ["workclass", "sex"], ["native-country", "race"]],
    "census": [["age", "sex"], ["age", "region"], ["region", "race"]],
}
WEIGHTS = [1, 2, 4]

BORDERS = {
    "`interval`": 'release = "interval"',
    "`cover = 5`": 'release = "interval"\ncover = 5',
    "`cover = 10`": 'release = "interval"\ncover = 10',
    "`cover = 10`, `limit = [20, 40, 60]`": 'release = "interval"\ncover = 10\nlimit = [20, 40, 60]',
    "`hierarchy = { intervals = [5, 10, 20, 40] }`": "hierarchy = { intervals = [5, 10, 20, 40] }",
    "`hierarchy = { intervals = [10, 20, 40] }`": "hierarchy = { intervals = [10, 20, 40] }",
}


class Bench:
    def __init__(self, throng, adult, scratch, seeds):
        self.throng, self.scratch, self.seeds = Path(throng).resolve(), scratch, seeds
        shutil.copytree(CONFIGS / "hierarchies", scratch / "hierarchies", dirs_exist_ok=True)
        self.data = {"adult": str(Path(adult).resolve()), "census": "census"}

    def call(self, *arguments):
        line, environment = [self.throng, *map(str, arguments)], {**os.environ, "THRONG_SECRET": SECRET}
        ended = subprocess.run(line, cwd=self.scratch, env=environment, capture_output=True, text=True)
        if ended.returncode != 0:
            raise SystemExit(f"{arguments}: {ended.stderr}")
        return ended.stdout

    def policy(self, table):
        """The policy of a table without weights."""
        return re.sub(r"^weight = .*\n", "", (CONFIGS / f"{table}.toml").read_text(), flags=re.M)

    def release(self, table, policy, seed):
        """Releases a table, and returns its NCP and that of each column."""
        (self.scratch / "policy.toml").write_text(policy)
        self.call("run", "policy.toml", "-i", self.data[table], "-o", "released", "--overwrite", "--seed", seed)
        utility = json.loads((self.scratch / "released/_throng/metrics.json").read_text())["utility"]
        return utility["ncp"], {name: column["ncp"] for name, column in utility["columns"].items()}

    def errors(self, table, policy, queries=1000):
        (self.scratch / "asked.toml").write_text(policy)
        asked = ["--original", self.data[table], "--policy", "asked.toml", "--queries", queries, "--seed", 5]
        return json.loads(self.call("utility", "released", *asked).splitlines()[-1])["count_queries"]


def columns_alone(policy, columns):
    """A policy that has these columns only."""
    sections = re.split(r"(?=^\[columns\.)", policy, flags=re.M)[1:]
    chosen = [section for section in sections if re.match(r"\[columns\.(.+?)\]", section)[1] in columns]
    head = 'version = 1\ninput.location = "x"\noutput.location = "y"\nprivacy = { k = 2, p = 1 }\n[columns]\ndefault = "drop"\n'
    return head + "".join(chosen)


def weighted(policy, columns, weight):
    for column in columns:
        policy = re.sub(rf'(\[columns\.{re.escape(column)}\]\nrole = "quasi"\n)', rf"\1weight = {weight}\n", policy)
    return policy


def means(rows):
    return [sum(column) / len(column) for column in zip(*rows)]


def workloads(bench, table):
    print("| questions about | weight | NCP | NCP of these columns | both: median error | 95 % | all questions: median | 95 % |")
    print("|---|---|---|---|---|---|---|---|")
    plain = bench.policy(table)
    for columns in WORKLOADS[table]:
        for weight in WEIGHTS:
            rows = []
            for seed in range(bench.seeds):
                ncp, of_columns = bench.release(table, weighted(plain, columns, weight), seed)
                both, every = bench.errors(table, columns_alone(plain, columns))["two"], bench.errors(table, plain)
                own = sum(of_columns[column] for column in columns) / len(columns)
                figures = [ncp, own, both["median_error"], both["p95_error"], every["median_error"], every["p95_error"]]
                rows.append(figures)
            ncp, own, *errors = means(rows)
            shares = " | ".join(f"{100 * error:.2f} %" for error in errors)
            print(f"| {' × '.join(columns)} | {weight} | {ncp:.4f} | {own:.4f} | {shares} |", flush=True)


def partial_overlaps(labels):
    """Pairs of intervals of which neither is inside of the other, and that have values in common."""
    ends = [re.fullmatch(r"\[(\d+)-(\d+)\]|(\d+)", label) for label in labels]
    ends = sorted((int(found[1] or found[3]), int(found[2] or found[3])) for found in ends if found)
    crosses = lambda a, b: a[0] < b[0] <= a[1] < b[1]  # noqa: E731
    return sum(crosses(a, b) for place, a in enumerate(ends) for b in ends[place + 1 :])


def borders(bench, table):
    print("| age is released as | NCP | NCP of age | counts: median error | 95 % | labels | pairs that overlap in part |")
    print("|---|---|---|---|---|---|---|")
    for name, lines in BORDERS.items():
        section = f'[columns.age]\nrole = "quasi"\n{lines}\n'
        policy = re.sub(r"\[columns\.age\]\n(.*\n)*?(?=\n|\[)", section, bench.policy(table), count=1)
        rows = []
        for seed in range(bench.seeds):
            ncp, of_columns = bench.release(table, policy, seed)
            errors = bench.errors(table, policy, queries=500)
            sql = "SELECT DISTINCT age FROM 'released/'"
            labels = [line.strip('"') for line in bench.call("sql", "--format", "csv", "-c", sql).splitlines()[1:]]
            overlaps = partial_overlaps(labels)
            rows.append([ncp, of_columns["age"], errors["median_error"], errors["p95_error"], len(labels), overlaps])
        ncp, age, median, p95, labels, overlaps = means(rows)
        shares = f"{100 * median:.2f} % | {100 * p95:.2f} %"
        print(f"| {name} | {ncp:.4f} | {age:.4f} | {shares} | {labels:.0f} | {overlaps:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--throng", required=True)
    parser.add_argument("--adult", required=True)
    parser.add_argument("--scratch", required=True, type=Path)
    parser.add_argument("--only", nargs="+", choices=["workload", "borders"], default=["workload", "borders"])
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    given.scratch.mkdir(parents=True, exist_ok=True)
    bench = Bench(given.throng, given.adult, given.scratch, given.seeds)
    bench.call("generate", "census", "--rows", CENSUS_ROWS, "-o", "census")
    for name, measure in [("workload", workloads), ("borders", borders)]:
        for table in ["adult", "census"] if name in given.only else []:
            print(f"\n**{name}, {table}**\n")
            measure(bench, table)


if __name__ == "__main__":
    main()
