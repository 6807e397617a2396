"""Runs with one thread and with two, alternating in every round, and what follows from their ratio for more threads.

    python3 benches/copy/threads.py --throng target/release/throng --scratch /tmp/threads [--rows 1000000] [--rounds 5]

A run is the whole process, from which the start (`throng --version`) is subtracted. The serial share s is that of Amdahl's law, from the times
with one thread and with two: s = 2 T2 / T1 - 1. More than two threads are a model and not a measurement: 1 / (s + (1 - s) / n), as if memory and
disks were as fast for each of n threads as for two.
"""

import argparse
import json
import pathlib
import shutil
import statistics

from program import CONFIG, add_options, prepare

STAGES = ("survey", "partition", "cluster", "recode", "write", "verify")
BUDGETS = ("fast", "balanced")
THREADS = (1, 2)
MODEL = (4, 8, 16, 32, 64)


def serial_share(one, two):
    return min(max(2 * two / one - 1, 0), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    throng, data = prepare(options)
    runs = {(budget, threads): [] for budget in BUDGETS for threads in THREADS}
    stages = {key: [] for key in runs}
    for _ in range(options.rounds):
        idle = throng("--version")
        for budget, threads in runs:
            shutil.rmtree("out", ignore_errors=True)
            seconds = throng("run", CONFIG, "-i", data, "-o", "out", "--budget", budget, "--threads", threads) - idle
            runs[budget, threads].append(seconds)
            stages[budget, threads].append(json.loads(pathlib.Path("out/_throng/metrics.json").read_text())["timing_ms"])
    print(f"{options.rows:,} rows, {options.rounds} rounds\n")
    print("| budget | one thread, s | two, s | faster | serial share | " + " | ".join(map(str, MODEL)) + " |")
    print("|" + "---|" * (5 + len(MODEL)))
    for budget in BUDGETS:
        one, two = (runs[budget, threads] for threads in THREADS)
        ratios = [a / b for a, b in zip(one, two, strict=True)]
        share = serial_share(statistics.median(one), statistics.median(two))
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        model = [f"{1 / (share + (1 - share) / threads):.1f}" for threads in MODEL]
        cells = [f"`{budget}`", f"{statistics.median(one):.2f}", f"{statistics.median(two):.2f}", spread, f"{share:.1%}", *model]
        print("| " + " | ".join(cells) + " |")
    print("\n| budget | " + " | ".join(STAGES) + " |\n|" + "---|" * (1 + len(STAGES)))
    for budget in BUDGETS:
        cells = []
        for stage in STAGES:
            one, two = (statistics.median(times[stage] for times in stages[budget, threads]) for threads in THREADS)
            cells.append(f"{one:.0f}, {two:.0f} ({one / max(two, 1):.2f})")
        print(f"| `{budget}`, ms with one thread, with two (faster) | " + " | ".join(cells) + " |")


main()
