#!/usr/bin/env python3
"""Runs ARX and Throng on tables, evaluates every release, and keeps the figures in `FIGURES/NAME.json`.

    run.py --tables DIR --scratch DIR --figures DIR [--arx CLASSPATH] [--throng BINARY] NAME...
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

from evaluate import Case, of_arx, of_throng

# The best of these on Adult; `gs=0` weighs suppression against nothing in the first rounds, which local recoding then undoes.
SETTINGS = ["records=0.001,gs=0", "records=0.003,gs=0", "records=0.01,gs=0", "records=0.003,gs=0.02", "records=0.0003,gs=0",
            "records=0,gs=0,step=0.02", "records=0.03,gs=0", "records=0.01,gs=0.1"]
SEARCHES = ["OPTIMAL", "BEST_EFFORT_TOP_DOWN", "BEST_EFFORT_BOTTOM_UP"]


def cpu(command, log=None, environment=None):
    """Runs a command; its processor and wall seconds, MiB, exit code, and last line of output."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log or subprocess.DEVNULL, text=True, env=environment)
    lines = process.stdout.read().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"cpu": round(usage.ru_utime + usage.ru_stime, 2), "wall": round(time.monotonic() - start, 2),
            "mib": usage.ru_maxrss // 1024, "exit": process.returncode}, lines


def lattice(case):
    size = 1
    for column in case.quasi:
        size *= len(next(iter(case.paths[column].values())))
    return size


def arx(case, given, settings):
    """Every setting in one process, so that start and compilation are paid once."""
    out = given.scratch / case.home.name / "arx"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "job.tsv").write_text("".join("\t".join(line) + "\n" for line in [
        ["data", f"{case.home}/data.csv"], ["hierarchies", f"{case.home}/hierarchies"], ["out", str(out)],
        ["quasi", *case.quasi], ["sensitive", case.sensitive], ["k", "10"], ["p", "3"]]))
    command = ["java", f"-Xmx{given.heap}", "-XX:+UseSerialGC", "-cp", given.arx, "ArxLocal", str(out / "job.tsv"), *settings]
    results = []
    with open(out / "log.txt", "w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        for line in process.stdout:
            parts = line.rstrip("\n").split("\t")
            if parts[0] != "done":
                results.append({"setting": parts[1], "failed": parts[2] if len(parts) > 2 else ""})
                print(case.home.name, *parts, flush=True)
                continue
            path = Path(parts[4])
            result = of_arx(case, pd.read_csv(path, sep=";", dtype=str, keep_default_na=False))
            path.unlink()
            result |= {"setting": parts[1], "cpu": float(parts[2]), "rounds": int(parts[3])}
            results.append(result)
            print(f"{case.home.name} arx {parts[1]} cpu {parts[2]} rounds {parts[3]} raw {result['raw']:.4f} tight {result['tight']:.4f} "
                  f"wide {result['wide']:.4f} suppressed {result['suppressed']} k {result['k']} p {result['p']}", flush=True)
        if process.wait() != 0:
            print(f"{case.home.name}: ARX ended with {process.returncode}; settings are missing", flush=True)
    return results


def throng(case, given, policy, budget, extra=()):
    out = given.scratch / case.home.name / f"throng-{policy}-{budget}"
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{out}.log", "w") as log:
        used, lines = cpu([given.throng, "run", str(case.home / f"{policy}.toml"), "--output", str(out), "--budget", budget, *extra], log)
    if used["exit"] != 0:
        print(case.home.name, policy, budget, "failed:", Path(f"{out}.log").read_text()[-300:], flush=True)
        return {"policy": policy, "budget": budget, "extra": list(extra), **used, "failed": True}
    release = pd.concat([pd.read_parquet(path) for path in sorted(out.glob("part-*.parquet"))])
    release = release[[*case.quasi, case.sensitive]].astype(str).reset_index(drop=True)
    result = of_throng(case, release, policy == "interval")
    sidecar = json.loads((out / "_throng/metrics.json").read_text())
    own = sidecar["utility"]["ncp"]
    result |= {"policy": policy, "budget": budget, "extra": list(extra), "sidecar": own, "timing": sidecar["timing_ms"], **used}
    if abs(own - result["ncp"]) >= 1e-6:
        sys.exit(f"{case.home.name}: the NCP of the release is {result['ncp']:.6f}, and the sidecar says {own:.6f}")
    print(f"{case.home.name} throng {policy} {budget} {' '.join(extra)} cpu {used['cpu']} wall {used['wall']} ncp {result['ncp']:.4f} "
          f"classes {result['classes']} k {result['k']} p {result['p']}", flush=True)
    shutil.rmtree(out, ignore_errors=True)
    return result


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tables", type=Path, required=True)
    arguments.add_argument("--scratch", type=Path, required=True)
    arguments.add_argument("--figures", type=Path, required=True)
    arguments.add_argument("--arx", help="a class path with ARX, what it needs, and ArxLocal")
    arguments.add_argument("--throng", help="the binary")
    arguments.add_argument("--limit", type=float, default=60, help="seconds of the processor for each setting of ARX")
    arguments.add_argument("--round", type=float, default=0, help="the same for each of its rounds, where the lattice is large")
    arguments.add_argument("--settings", help="settings of ARX, separated by spaces")
    arguments.add_argument("--budgets", default="fast,balanced,thorough")
    arguments.add_argument("--heap", default="6g")
    arguments.add_argument("names", nargs="+")
    given = arguments.parse_args()
    given.figures.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        case = Case(given.tables / name)
        path = given.figures / f"{name}.json"
        figures = json.loads(path.read_text()) if path.exists() else {"arx": [], "throng": []}
        figures |= {"rows": case.rows, "distinct": case.distinct, "numbers": case.numbers, "categories": case.categories, "lattice": lattice(case)}
        keep = lambda: path.write_text(json.dumps(figures, indent=1))
        if given.arx:
            bare = given.settings.split() if given.settings else SETTINGS
            tail = f",limit={given.limit}" + (f",round={given.round}" if given.round else "")
            new = arx(case, given, [s + tail for s in bare])
            names = {r["setting"] for r in new}
            figures["arx"] = [r for r in figures["arx"] if r["setting"] not in names] + new
            keep()
        if given.throng:
            for policy in ("policy", "interval"):
                for budget in given.budgets.split(","):
                    new = throng(case, given, policy, budget)
                    figures["throng"] = [r for r in figures["throng"] if (r["policy"], r["budget"], r["extra"]) != (policy, budget, [])] + [new]
                    keep()


if __name__ == "__main__":
    main()
