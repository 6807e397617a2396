#!/usr/bin/env python3
"""Measures `throng sql` beside the DataFusion wheel of the Python package index, on the same statements and Parquet.

    compare.py --throng target/release/throng --scratch DIR [--rounds 7] [--threads 1 2] [--only QUERY ...]
    compare.py --throng NEW --other OLD --scratch DIR     # two builds of Throng in turns

A round runs every query once with every engine, in an order that alternates. Each is a process of its own on as many cores
as it has threads, which runs the statement once to warm up and then several times. The start of the process and the first
execution are not counted. Ratios are taken within a round; the table has their median, least and most.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

sys.dont_write_bytecode = True
from queries import QUERIES, statement

#: The wheel that is compared. Its DataFusion must be that of Cargo.lock.
WHEEL = "datafusion==55.0.0"
ROWS = 1_000_000
#: Executions that count, of one process.
TIMES = 5
MEASURES = ("cpu", "wall")


def cpu_clock(process):
    """The clock of the CPU time of another process, as `clock_getcpuclockid` returns it."""
    return (~process.pid << 3) | 2


def on_cores(threads):
    """Restricts a process to be started to its first cores."""
    cores = set(sorted(os.sched_getaffinity(0))[:threads])
    return lambda: os.sched_setaffinity(0, cores)


class Throng:
    """`throng sql`. Results are flushed statement by statement, so an execution lasts from one result to the next."""

    def __init__(self, program):
        self.program = program

    def run(self, text, threads):
        script = ";\n".join([text] * (1 + TIMES))
        command = [self.program, "sql", "--threads", str(threads), "--format", "csv", "-c", script]
        measured, last = [], None
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=on_cores(threads)) as process:
            for line in csv.reader(process.stdout):
                now = time.perf_counter(), time.clock_gettime(cpu_clock(process))
                # A header and one row per execution.
                if not measured or "rows" in measured[-1]:
                    measured.append({})
                    continue
                measured[-1]["rows"] = [line]
                if last:
                    measured[-1]["wall"], measured[-1]["cpu"] = now[0] - last[0], now[1] - last[1]
                last = now
        if process.returncode or len(measured) != 1 + TIMES:
            raise SystemExit(f"{self.program} ended with {process.returncode} after {len(measured)} results")
        return measured[1:]

    def version(self):
        command = [self.program, "sql", "--format", "csv", "-c", "SELECT version()"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1].strip('"')


class Wheel:
    """The wheel, in an environment of its own in the scratch folder."""

    def __init__(self, scratch):
        home = scratch / WHEEL
        self.python, done = home / "bin" / "python", home / "installed"
        if not done.exists():
            venv.create(home, with_pip=True)
            subprocess.run([self.python, "-m", "pip", "install", "--quiet", WHEEL], check=True)
            done.touch()

    def run(self, text, threads, times=1 + TIMES):
        command = [self.python, Path(__file__).with_name("wheel.py"), text, str(threads), str(times)]
        # The worker threads of the wheel are as many as it has cores.
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=on_cores(threads))
        return [json.loads(line) for line in ended.stdout.splitlines()][1:]

    def version(self):
        return self.run("SELECT version()", 1, times=2)[0]["rows"][0][0]


def same(ours, theirs):
    """Whether two results have the same rows. Sums of floating-point numbers depend on the order of threads."""
    flat = [[float(value) for row in result["rows"] for value in row] for result in (ours, theirs)]
    return len(flat[0]) == len(flat[1]) and all(abs(a - b) <= 1e-9 * max(abs(a), 1.0) for a, b in zip(*flat))


def medians(executions):
    """The median of every measure over the executions of one process."""
    return {measure: statistics.median(execution[measure] for execution in executions) for measure in MEASURES}


def ratios(rounds, names, measure):
    """The ratio of every round: the first engine over the second."""
    return [times[names[0]][measure] / times[names[1]][measure] for times in rounds]


def table(measured, names):
    """The medians of all rounds as Markdown, with the least and the most of the ratios."""
    ours, theirs = names
    lines = [f"| query | threads | {ours}, CPU s | {theirs}, CPU s | CPU ratio | wall ratio |", "|---|---|---|---|---|---|"]
    for (threads, query), rounds in measured.items():
        cells = [query, str(threads)]
        cells += [f"{statistics.median(times[name]['cpu'] for times in rounds):.3f}" for name in names]
        for measure in MEASURES:
            found = ratios(rounds, names, measure)
            cells.append(f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", type=Path, required=True, help="a release build")
    parser.add_argument("--other", type=Path, help="another build of Throng, in place of the wheel")
    parser.add_argument("--scratch", type=Path, required=True, help="a folder for the wheel and the table")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", choices=QUERIES, nargs="+", default=list(QUERIES))
    parser.add_argument("--limit", type=float, help="exit with 1 where the median CPU ratio of a query exceeds this")
    return parser.parse_args()


def main():
    args = arguments()
    args.scratch = args.scratch.resolve()
    args.scratch.mkdir(parents=True, exist_ok=True)
    throng = Throng(args.throng.resolve())
    engines = {"throng": throng}
    engines |= {"other": Throng(args.other.resolve())} if args.other else {"wheel": Wheel(args.scratch)}
    names = list(engines)
    versions = [engine.version() for engine in engines.values()]
    if len(set(versions)) != 1:
        raise SystemExit(f"two versions of DataFusion: {versions}")
    folder = args.scratch / f"census-{ROWS}"
    if not folder.exists():
        generate = ["generate", "census", "--rows", str(ROWS), "--files", "1", "--output", folder]
        subprocess.run([throng.program, *generate], check=True)
    people = next(folder.glob("*.parquet"))
    measured = {(threads, query): [] for threads in args.threads for query in args.only}
    for number in range(args.rounds):
        order = names if number % 2 == 0 else names[::-1]
        for (threads, query), rounds in measured.items():
            results = {name: engines[name].run(statement(query, people), threads) for name in order}
            if not same(results[names[0]][0], results[names[1]][0]):
                raise SystemExit(f"{query}: the results differ")
            rounds.append({name: medians(results[name]) for name in names})
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
    print(f"{versions[0]}\n\n{table(measured, names)}")
    above = [f"{query} with {threads} threads" for (threads, query), rounds in measured.items()
             if args.limit and statistics.median(ratios(rounds, names, "cpu")) > args.limit]
    if above:
        raise SystemExit(f"above {args.limit}: {', '.join(above)}")


main()
