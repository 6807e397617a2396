"""Models of skewness at usual settings: what they cost, and how many classes of the plain release break them.

    python3 benches/promises/skewness.py --throng target/release/throng --scratch /tmp/skewness [--adult DATA/adult.csv]

Releases the generated census (and Adult, if it is at hand) by `configs/census.toml` and `configs/adult.toml`, once as it is and once
with each requirement on the occupation. All policies alternate in every round; the time is the least of the rounds.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import time

REQUIREMENTS = ["max_share = 0.5", "t = 0.2", "entropy_l = 3"]
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--adult", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(options.scratch)
    environment = os.environ | {"THRONG_SECRET": "0123456789abcdef" * 4}

    def throng(*words, codes=(0,)):
        ended = subprocess.run([options.throng, *map(str, words)], env=environment, capture_output=True, text=True)
        if ended.returncode not in codes:
            raise SystemExit(f"throng {words}: {ended.returncode}\n{ended.stderr}")
        return ended.stdout

    if not pathlib.Path("census").exists():
        throng("generate", "census", "--rows", options.rows, "-o", "census")
    tables = [("census", pathlib.Path("census").resolve())]
    tables += [("adult", options.adult)] if options.adult else []
    print("| table | requirement | NCP | classes | broken before | time over plain | CPU over plain |\n|---|---|---|---|---|---|---|")
    for name, data in tables:
        plain = (CONFIGS / f"{name}.toml").read_text()
        # Hierarchies are named relative to the policy.
        plain = re.sub(r'"(\.?/?[\w./-]+\.csv)"', lambda path: f'"{(CONFIGS / path[1]).resolve()}"' if (CONFIGS / path[1]).exists() else path[0], plain)
        policies = {"none": plain}
        for requirement in REQUIREMENTS:
            policies[requirement] = re.sub(r'(\[columns\.occupation\]\nrole = "sensitive"\n)', rf"\1{requirement}\n", plain)
            assert policies[requirement] != plain
        times = {title: [] for title in policies}
        for _ in range(options.rounds):
            for title, policy in policies.items():
                place = pathlib.Path(re.sub(r"\W+", "-", f"{name}-{title}"))
                policy_file = place.with_suffix(".toml")
                policy_file.write_text(policy)
                subprocess.run(["rm", "-rf", place], check=True)
                before, start = os.times(), time.perf_counter()
                throng("run", policy_file, "-i", data, "-o", place)
                wall, after = time.perf_counter() - start, os.times()
                cpu = after.children_user + after.children_system - before.children_user - before.children_system
                times[title].append((wall, cpu, place, policy_file))
        least = lambda title, which: min(measured[which] for measured in times[title])
        for title, measured in times.items():
            _, _, place, policy_file = measured[0]
            sidecar = json.loads((place / "_throng/metrics.json").read_text())
            found = json.loads(throng("verify", times["none"][0][2], "--policy", policy_file, codes=(0, 4)))
            broken = max(model["classes_below"] for model in found["sensitive"])
            own = json.loads(throng("verify", place, "--policy", policy_file))
            ratios = [least(title, which) / least("none", which) for which in (0, 1)]
            row = [name, f"`{title}`" if title != "none" else title, f"{sidecar['utility']['ncp']:.4f}", f"{own['classes']:,}"]
            print("| " + " | ".join([*row, f"{broken:,}", *(f"{ratio:.2f}" for ratio in ratios)]) + " |")


main()
