"""Runs on the generated census beside a copy of the same file by the DataFusion wheel, alternating in every round.

    python3 benches/copy/ratio.py --throng target/release/throng --scratch /tmp/ratio [--rows 1000000] [--rounds 5]

Needs the wheel `datafusion`. The copy is timed within a process (its own defaults, two partitions), without its start; a run is the whole process,
from which the start (`throng --version`) is subtracted. Ratios are taken within a round.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import time

import datafusion
from program import CONFIG, add_options, prepare

VARIANTS = {
    "`fast`": ["--budget", "fast"],
    '`fast`, `unit = "person_id"`': ["--budget", "fast"],
    "`balanced`": ["--budget", "balanced"],
    '`balanced`, `unit = "person_id"`': ["--budget", "balanced"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    throng, data = prepare(options)
    shutil.copytree(CONFIG.parent / "hierarchies", "hierarchies", dirs_exist_ok=True)
    policy = CONFIG.read_text()
    pathlib.Path("rows.toml").write_text(policy)
    pathlib.Path("units.toml").write_text(policy.replace("[privacy]\n", '[privacy]\nunit = "person_id"\n', 1))
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(2))
    copies, seconds, ratios, sidecars = [], {name: [] for name in VARIANTS}, {name: [] for name in VARIANTS}, {}
    for _ in range(options.rounds):
        shutil.rmtree("copy", ignore_errors=True)
        start = time.perf_counter()
        context.read_parquet(str(data)).write_parquet("copy")
        copies.append(time.perf_counter() - start)
        idle = throng("--version")
        for name, words in VARIANTS.items():
            shutil.rmtree("out", ignore_errors=True)
            policy_file = "units.toml" if "unit" in name else "rows.toml"
            seconds[name].append(throng("run", policy_file, "-i", data, "-o", "out", *words) - idle)
            ratios[name].append(seconds[name][-1] / copies[-1])
            sidecars[name] = json.loads(pathlib.Path("out/_throng/metrics.json").read_text())
    print(f"{options.rows:,} rows, copy {statistics.median(copies):.3f} s ({min(copies):.3f} to {max(copies):.3f}), {options.rounds} rounds")
    print("| budget | run, s | run / copy | NCP | survey | partition | cluster | recode | write | verify |\n|---|---|---|---|---|---|---|---|---|---|")
    for name in VARIANTS:
        stages = [str(sidecars[name]["timing_ms"][stage]) for stage in ("survey", "partition", "cluster", "recode", "write", "verify")]
        spread = f"{statistics.median(ratios[name]):.2f} ({min(ratios[name]):.2f} to {max(ratios[name]):.2f})"
        row = [name, f"{statistics.median(seconds[name]):.2f}", spread, f"{sidecars[name]['utility']['ncp']:.4f}", *stages]
        print("| " + " | ".join(row) + " |")


main()
