#!/usr/bin/env python3
"""Measures the package for Python: a census from a frame of polars to a released frame of polars.

    frames.py --core target/release/deps/core-… --throng target/release/throng [--rows 1000000] [--rounds 5]

Runs with a Python that has the package and polars. A round starts the crate `throng` on the same rows in memory (`core.rs`), the
package, and the command on a Parquet file of the rows, each as a process of its own, and ratios are taken within a round. All three
verify the release; the command also writes, reads back and publishes it.

Peak memory is what the system has counted. That of the package is told in whole, and without what the process held before the call: the
interpreter, the libraries and the frame.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POLICY = Path(__file__).resolve().parents[2] / "configs/census.toml"
SEED = 42
#: Calls of a process that are timed, after one that is not.
CALLS = 3


def resident():
    """Memory of this process now, and at its peak, in MiB."""
    status = Path("/proc/self/status").read_text()
    return [int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "VmHWM")]


def package(rows, calls):
    """Runs the package in this process. Without `calls`, one call is made for its memory."""
    import polars as pl
    import throng_privacy as throng

    frame = pl.DataFrame(throng.generate_census(rows, seed=SEED)).rechunk()
    # Generating has a peak of its own.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident()[0]
    seconds = []
    for _ in range(calls + 1):
        start = time.perf_counter()
        released = pl.DataFrame(throng.anonymize(frame, POLICY, on_progress=False))
        seconds.append(time.perf_counter() - start)
        assert released.height == rows
        if not calls:
            frame_mib, released_mib = frame.estimated_size("mb"), released.estimated_size("mb")
            return {"before": before, "peak": resident()[1], "frame": frame_mib, "released": released_mib}
        del released
    return seconds[1:]


def command(program, source):
    """Runs the command. Returns its seconds and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        line = [program, "run", POLICY, "--input", source, "--output", f"{folder}/out"]
        start = time.perf_counter()
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return time.perf_counter() - start, usage.ru_maxrss / 1024


def answer(line):
    return json.loads(subprocess.run([str(part) for part in line], check=True, capture_output=True, text=True).stdout)


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", type=Path, help="the program of core.rs, in a release build")
    parser.add_argument("--throng", type=Path, help="the command, in a release build")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.calls is not None:
        print(json.dumps(package(args.rows, args.calls)))
        return
    import throng_privacy as throng

    with tempfile.TemporaryDirectory() as folder:
        throng.generate_census(args.rows, folder, seed=SEED, overwrite=True)
        own = [sys.executable, __file__, "--rows", args.rows, "--calls"]
        core, python, ratios, commands, memory, over = [], [], [], [], [], []
        for _ in range(args.rounds):
            core.append(statistics.median(answer([args.core, args.rows, CALLS])))
            python.append(statistics.median(answer([*own, CALLS])))
            ratios.append(python[-1] / core[-1])
            commands.append(command(args.throng, folder))
            memory.append(answer([*own, 0]))
            over.append((memory[-1]["peak"] - memory[-1]["before"]) / commands[-1][1])
    print(f"| {args.rows:,} rows, {args.rounds} rounds | |\n|---|---|")
    print(f"| crate `throng`, s | {spread(core)} |")
    print(f"| package, frame to frame, s | {spread(python)} |")
    print(f"| package / crate | {spread(ratios)} |")
    print(f"| command, file to file, s | {spread([seconds for seconds, _ in commands])} |")
    print(f"| command, peak MiB | {spread([peak for _, peak in commands])} |")
    for name in ("frame", "released", "before", "peak"):
        print(f"| package, {name} MiB | {spread([one[name] for one in memory])} |")
    print(f"| package, peak - before / command, peak | {spread(over)} |")


if __name__ == "__main__":
    main()
