"""Visits of a hospital, released by the draft of `throng init`: people per class, counted by pandas, and what that costs.

    python3 benches/promises/hospital.py --throng target/release/throng --scratch /tmp/hospital

Makes about 31,000 visits of 8,000 patients, of whom one in fifty comes 10 to 59 times more often. Releases them three times:
with the unit that the draft names, without it, and without it but with a k that holds for people too (10 times the most visits of
one patient). The number of a visit is released as an insensitive column, by which pandas finds the patients of every class.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess

import pandas

K = 10
P = 3


def visits(patients, seed):
    """Returns one row per visit."""
    draws = random.Random(seed)
    postcodes = [f"{draws.randrange(1000, 9999)} {draws.choice('ABCDEFGH')}{draws.choice('ABCDEFGH')}" for _ in range(400)]
    rows = []
    for patient in range(patients):
        born = pandas.Timestamp("1930-01-01") + pandas.Timedelta(days=draws.randrange(29_000))
        postcode, sex = draws.choice(postcodes), draws.choice("FM")
        often = draws.randrange(10, 60) if draws.random() < 0.02 else 0
        for _ in range(1 + min(int(draws.expovariate(0.37)), 9) + often):
            rows.append({
                "patient_id": f"P{patient:06}",
                "birth_date": born.date(),
                "postcode": postcode,
                "sex": sex,
                "visit_date": (pandas.Timestamp("2023-01-01") + pandas.Timedelta(days=draws.randrange(365))).date(),
                "diagnosis": f"{draws.choice('ABCDEFGHIJ')}{int(draws.triangular(0, 60, 5)):02}",
                "cost_eur": round(draws.lognormvariate(5, 1), 2),
                "note": f"seen in room {draws.randrange(10**9)}",
            })
    draws.shuffle(rows)
    return pandas.DataFrame(rows).assign(visit_number=range(len(rows)))


def answered(draft):
    """Returns a drafted policy with every open question answered, and with the numbers of visits released."""
    answers = {"visit_number": "insensitive", "cost_eur": "insensitive", "patient_id": "identifier"}
    draft = draft.replace('p = "?"', f"p = {P}")
    blocks = re.split(r"(?m)^(?=\[)", draft)
    for at, block in enumerate(blocks):
        column = re.match(r"\[columns\.\"?(\w+)\"?\]", block)
        if column and column[1] in answers:
            blocks[at] = f'[columns.{column[1]}]\nrole = "{answers[column[1]]}"\n\n'
    return "".join(blocks)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--patients", type=int, default=8000)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(options.scratch)
    table = visits(options.patients, 1)
    table.to_parquet("visits.parquet", index=False)
    environment = os.environ | {"THRONG_SECRET": "0123456789abcdef" * 4}

    def throng(*words):
        ended = subprocess.run([options.throng, *words], env=environment, capture_output=True, text=True)
        if ended.returncode:
            raise SystemExit(f"throng {' '.join(words)}: {ended.returncode}\n{ended.stderr}")
        return ended.stdout

    pathlib.Path("policy.toml").unlink(missing_ok=True)
    throng("init", "visits.parquet", "-o", "policy.toml")
    draft = answered(pathlib.Path("policy.toml").read_text())
    without = re.sub(r"(?m)^unit = .*\n", "", draft)
    most = int(table.groupby("patient_id").size().max())
    print(f"{len(table):,} visits of {options.patients:,} patients, at most {most} of one; k = {K}, p = {P}")
    print("| policy | classes | fewer than 10 people | exactly 1 person | NCP |\n|---|---|---|---|---|")
    for title, policy, k in [("the draft", draft, K), ("without `unit`", without, K), (f"without, k = {K * most}", without, K * most)]:
        pathlib.Path("tried.toml").write_text(policy)
        subprocess.run(["rm", "-rf", "out"], check=True)
        throng("run", "tried.toml", "-k", str(k), "-o", "out")
        released = pandas.concat(map(pandas.read_parquet, pathlib.Path("out").glob("*.parquet")))
        quasi = re.findall(r"\[columns\.\"?(\w+)\"?\]\s*(?:#.*\n)*role = \"quasi\"", policy)
        columns = [name for name in released if name in quasi or any(name in (f"{q}_min", f"{q}_max") for q in quasi)]
        people = released.merge(table[["visit_number", "patient_id"]], on="visit_number")
        people = people.groupby(columns, dropna=False)["patient_id"].nunique()
        ncp = json.loads(pathlib.Path("out/_throng/metrics.json").read_text())["utility"]["ncp"]
        print(f"| {title} | {len(people):,} | {(people < K).sum():,} | {(people == 1).sum():,} | {ncp:.4f} |")


main()
