#!/usr/bin/env python3
"""Measures the package for Python: a census from a frame of polars to a released frame of polars.

    frames.py --build FOLDER [--rows 1000000] [--rounds 5]
    frames.py --core target/release/deps/core-… --throng target/release/throng [--rows 1000000] [--rounds 5]

The first builds all three by cargo, and installs the package and polars into an environment in the folder. The second runs with a
Python that has both. A round starts the crate `throng` on the same rows in memory (`core.rs`), the
package, and the command on a Parquet file of the rows, each as a process of its own, and ratios are taken within a round. All three
verify the release; the command also writes, reads back and publishes it.

Peak memory is what the system has counted. That of the package is given as a whole, and without what the process held before the call: the
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
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "configs/census.toml"
PACKAGE = ROOT / "crates/throng-python"
SEED = 42
#: Calls of a process that are timed, after one that is not.
CALLS = 3


def resident():
    """Memory of this process now, and at its peak, in MiB."""
    status = Path("/proc/self/status").read_text()
    return [int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "VmHWM")]


def package(rows, calls, numbers, texts):
    """Runs the package in this process. Without `calls`, one call is made for its memory. More columns of numbers and of texts, all of
    them different, pass through."""
    import polars as pl
    import throng_privacy as throng

    frame = pl.DataFrame(throng.generate_census(rows, seed=SEED))
    row = pl.int_range(0, rows)
    more = {f"number {number}": (row + number).cast(pl.Float64) for number in range(numbers)}
    more |= {f"text {number}": pl.format("{} a text of forty bytes in all {}", row + 10_000_000, number) for number in range(texts)}
    frame = frame.with_columns(**more).rechunk()
    policy = tomllib.loads(POLICY.read_text())
    policy["columns"] |= {name: {"role": "insensitive"} for name in more}
    for column in policy["columns"].values():
        if isinstance(column.get("hierarchy"), str):
            column["hierarchy"] = str(POLICY.parent / column["hierarchy"])
    # Generating has a peak of its own.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident()[0]
    seconds = []
    for _ in range(calls + 1):
        start, busy = time.perf_counter(), time.process_time()
        released = pl.DataFrame(throng.anonymize(frame, policy, on_progress=False))
        seconds.append((time.perf_counter() - start, time.process_time() - busy))
        assert released.height == rows
        if not calls:
            frame_mib, released_mib = frame.estimated_size("mb"), released.estimated_size("mb")
            return {"before": before, "peak": resident()[1], "frame": frame_mib, "released": released_mib}
        del released
    return seconds[1:]


def copies(own, **more):
    """How many times the bytes of more columns are in memory at the peak, besides the frame that has them."""
    plain, wide = answer([*own, 0]), answer([*own, 0, *(part for name, count in more.items() for part in (f"--{name}", count))])
    return (wide["peak"] - wide["before"] - plain["peak"] + plain["before"]) / (wide["frame"] - plain["frame"])


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


def cargo(name, *line):
    """Builds the workspace, and returns the files of the programs and of the dynamic library that are called so."""
    line = ["cargo", *line, "--workspace", "--locked", "--message-format", "json-render-diagnostics"]
    done = subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    made = [message for message in map(json.loads, done.stdout.splitlines()) if message["reason"] == "compiler-artifact"]
    files = [file for message in made if message["target"]["name"] == name for file in message["filenames"]]
    return next(file for file in files if not file.endswith((".rlib", ".rmeta", ".d")))


def build(folder):
    """Builds the crate, the command and the package, and returns the command that measures them."""
    core = cargo("core", "bench", "--no-run", "--bench", "core")
    program, library = (cargo(name, "build", "--release") for name in ("throng", "throng_privacy_native"))
    sys.path.append(str(PACKAGE))
    from pack_wheel import pack

    wheel = pack(Path(library), folder / "wheels")
    (polars,) = [name for name in (PACKAGE / "tests/requirements.txt").read_text().split() if name.startswith("polars==")]
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "env"], check=True)
    python = folder / "env/bin/python"
    subprocess.run([python, "-m", "pip", "--quiet", "install", wheel, polars], check=True)
    return [python, __file__, "--core", core, "--throng", program]


def answer(line):
    return json.loads(subprocess.run([str(part) for part in line], check=True, capture_output=True, text=True).stdout)


def medians(times):
    """The median of the seconds, and of those of the processors."""
    return [statistics.median(column) for column in zip(*times, strict=True)]


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="build all that is measured, with an environment in this folder")
    parser.add_argument("--core", type=Path, help="the program of core.rs, in a release build")
    parser.add_argument("--throng", type=Path, help="the command, in a release build")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    for name in ("--calls", "--numbers", "--texts"):
        parser.add_argument(name, type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.calls is not None:
        print(json.dumps(package(args.rows, args.calls, args.numbers or 0, args.texts or 0)))
        return
    if args.build is not None:
        line = [*build(args.build.absolute()), "--rows", args.rows, "--rounds", args.rounds]
        raise SystemExit(subprocess.run([str(part) for part in line], check=False).returncode)
    import throng_privacy as throng

    with tempfile.TemporaryDirectory() as folder:
        throng.generate_census(args.rows, folder, seed=SEED, overwrite=True)
        own = [sys.executable, __file__, "--rows", args.rows, "--calls"]
        core, python, ratios, commands, memory, over = [], [], [], [], [], []
        for _ in range(args.rounds):
            core.append(medians(answer([args.core, args.rows, CALLS])))
            python.append(medians(answer([*own, CALLS])))
            ratios.append([own / other for own, other in zip(python[-1], core[-1], strict=True)])
            commands.append(command(args.throng, folder))
            memory.append(answer([*own, 0]))
            over.append((memory[-1]["peak"] - memory[-1]["before"]) / commands[-1][1])
    print(f"| {args.rows:,} rows, {args.rounds} rounds | wall | CPU |\n|---|---|---|")
    for name, times in (("crate `throng`, s", core), ("package, frame to frame, s", python), ("package / crate", ratios)):
        print(f"| {name} | {spread([wall for wall, _ in times])} | {spread([cpu for _, cpu in times])} |")
    print(f"| command, file to file, s | {spread([seconds for seconds, _ in commands])} | |")
    print("\n| memory | MiB |\n|---|---|")
    print(f"| command, peak | {spread([peak for _, peak in commands])} |")
    for name in ("frame", "released", "before", "peak"):
        print(f"| package, {name} | {spread([one[name] for one in memory])} |")
    print(f"| copies at the peak of 16 more columns of numbers | {copies(own, numbers=16):.2f} |")
    print(f"| copies at the peak of 6 more columns of texts | {copies(own, texts=6):.2f} |")
    print(f"| package, (peak - before) / peak of the command | {spread(over)} |")


if __name__ == "__main__":
    main()
