#!/usr/bin/env python3
"""Measures all attacks on a release of the generated census beside a copy of the same Parquet by the DataFusion wheel.

    time_of_lab.py --throng target/release/throng --scratch DIR [--rows 1000000] [--rounds 3]

Needs the wheel `datafusion`. A round copies the input (zstd 1; the start of the process is not counted) and attacks the release
(`throng attack`, the whole process). Ratios are taken within a round.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

COPY = """
import sys, time
from datafusion import SessionConfig, SessionContext
start = time.perf_counter()
context = SessionContext(SessionConfig().with_target_partitions(2))
context.read_parquet(sys.argv[1]).write_parquet(sys.argv[2], compression="zstd", compression_level=1)
print(time.perf_counter() - start)
"""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True)
    parser.add_argument("--scratch", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    throng, scratch = Path(arguments.throng).resolve(), arguments.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    shutil.copytree(CONFIGS / "hierarchies", scratch / "hierarchies", dirs_exist_ok=True)
    shutil.copy(CONFIGS / "census.toml", scratch / "census.toml")
    environment = {**os.environ, "THRONG_SECRET": "a secret of the owner of the tables"}

    def call(*words):
        start = time.perf_counter()
        ended = subprocess.run([throng, *map(str, words)], cwd=scratch, env=environment, capture_output=True, text=True)
        if ended.returncode != 0:
            raise SystemExit(ended.stderr)
        return time.perf_counter() - start, ended.stdout

    for folder in ["time-data", "time-release", "time-copy"]:
        shutil.rmtree(scratch / folder, ignore_errors=True)
    call("generate", "census", "--rows", arguments.rows, "-o", "time-data")
    (file,) = (scratch / "time-data").glob("*.parquet")
    call("run", "census.toml", "--input", "time-data", "--output", "time-release", "--budget", "fast")
    ratios = []
    for _ in range(arguments.rounds):
        shutil.rmtree(scratch / "time-copy", ignore_errors=True)
        copied = subprocess.run([sys.executable, "-c", COPY, file, scratch / "time-copy"], capture_output=True, text=True, check=True)
        copy = float(copied.stdout.split()[-1])
        attack, printed = call("attack", "time-release", "--original", "time-data", "--policy", "census.toml")
        attacks = len(json.loads(printed.splitlines()[-1])["attacks"])
        ratios.append(attack / copy)
        print(f"copy {copy:.2f} s, {attacks} attacks {attack:.2f} s, ratio {attack / copy:.1f}")
    print(f"median ratio {statistics.median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f}")
