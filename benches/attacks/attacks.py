#!/usr/bin/env python3
"""Attacks releases before and after what prevents each attack, and prints the tables of RESULTS.md.

    attacks.py --throng target/release/throng --adult data/adult.csv --scratch DIR [--only adult census visits nights]

Needs pyarrow and numpy. Four tables are released: Adult, the generated census, visits (people with several rows) and ten nights.
Every release is made by `throng run` with a policy of `configs/` and the named change, and is attacked by `throng attack`; the
reports are kept in the scratch folder. The same arguments give the same figures.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SECRET = "a secret of the owner of the tables"
#: The secret that an intruder with a seed tries first (`throng attack --oracle`).
KNOWN_SECRET = "the guess of an intruder {} 0"
ORACLE_SEEDS = 20
#: Rows and p of the table that is guessed: with few rows and a large p, classes depend on who has which value.
ORACLE_ROWS, ORACLE_P = 2_000, 6

CENSUS_ROWS = 100_000
NIGHTS, PEOPLE, COMING = 10, 20_000, 200


class Bench:
    def __init__(self, throng, scratch):
        self.throng, self.scratch, self.reports = Path(throng).resolve(), scratch, 0
        shutil.copytree(CONFIGS / "hierarchies", scratch / "hierarchies", dirs_exist_ok=True)

    def call(self, *arguments, secret=SECRET):
        environment = {**os.environ, "THRONG_SECRET": secret, "THRONG_LEDGER_KEY": SECRET}
        ended = subprocess.run(
            [self.throng, *map(str, arguments)], cwd=self.scratch, env=environment, capture_output=True, text=True
        )
        if ended.returncode != 0:
            raise SystemExit(f"{arguments}: {ended.stderr}")
        return ended.stdout

    def generate(self, rows, folder):
        """Returns the file of a generated census."""
        shutil.rmtree(self.scratch / folder, ignore_errors=True)
        self.call("generate", "census", "--rows", rows, "-o", folder)
        (file,) = (self.scratch / folder).glob("*.parquet")
        return file

    def policy(self, name, base, *changes):
        """Writes a policy of `configs/` with texts replaced."""
        text = (CONFIGS / base).read_text()
        for old, new in changes:
            if old not in text:
                raise SystemExit(f"{base} has no {old!r}")
            text = text.replace(old, new, 1)
        (self.scratch / name).write_text(text)
        return name

    def run(self, policy, data, output, *more, secret=SECRET):
        shutil.rmtree(self.scratch / output, ignore_errors=True)
        self.call("run", policy, "--input", data, "--output", output, *more, secret=secret)
        return output

    def ncp(self, output):
        return json.loads((self.scratch / output / "_throng/metrics.json").read_text())["utility"]["ncp"]

    def attack(self, release, data, policy, *more):
        report = json.loads(self.call("attack", release, "--original", data, "--policy", policy, *more).splitlines()[-1])
        # One report per call, in the order of the calls.
        self.reports += 1
        name = str(release).replace("/", "-") + "-by-" + Path(policy).stem
        (self.scratch / f"report-{self.reports:03}-{name}.json").write_text(json.dumps(report, indent=1))
        found = {}
        for outcome in report["attacks"]:
            found[outcome["name"] + (f" of {outcome['column']}" if outcome.get("column") else "")] = outcome
        return found


def cell(outcome):
    if outcome is None:
        return "| | | "
    # Some attacks find few people to attack, or nobody.
    if outcome.get("share_of_people") == 0:
        return "| nobody | | "
    few = f" ({outcome['people']} people)" if outcome.get("share_of_people", 1) < 0.1 else ""
    bound = f"{outcome['bound']:.3f}" if "bound" in outcome else ""
    return f"| {outcome['release']:.3f}{few} | {outcome['gain']:.2f} | {bound} "


def table(title, lines):
    """Prints a table of attacks: name, before, remedy, after."""
    print(f"\n{title}\n")
    print("| attack | prior | before: success | gain | bound | prevented by | after: success | gain | bound |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, before, remedy, after in lines:
        if before is None and after is None:
            continue
        prior = before if before is not None else after
        print(f"| {name} | {prior['prior']:.3f} {cell(before)}| {remedy} {cell(after)}|")


def split(path, rows, folder, seed):
    """Writes a random part of a table with this many rows, the rest, and a few rows of the first."""
    everyone = pa.csv.read_csv(path) if str(path).endswith(".csv") else pq.read_table(path)
    order = np.random.default_rng(seed).permutation(everyone.num_rows)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"members.parquet": order[:rows], "others.parquet": order[rows:], "few.parquet": order[:ORACLE_ROWS]}
    for name, places in parts.items():
        pq.write_table(everyone.take(pa.array(np.sort(places))), folder / name)


def in_input_order(bench, release, data, kept, output):
    """A release whose rows are in the order of the input: found by their unchanged values, where these are unique."""
    rows, original = pq.read_table(bench.scratch / release), pq.read_table(bench.scratch / data)
    places = {}
    for place, values in enumerate(zip(*(original[name].to_pylist() for name in kept))):
        places.setdefault(values, []).append(place)
    key = [places.get(values, [0])[-1] for values in zip(*(rows[name].to_pylist() for name in kept))]
    folder = bench.scratch / output
    folder.mkdir(exist_ok=True)
    pq.write_table(rows.take(pa.array(np.argsort(np.array(key), kind="stable"))), folder / "part.parquet")
    return output


def with_index(bench, release, data, column, output):
    """A release whose file has the hidden values of a column in its metadata, as an index of a frame would be."""
    rows = pq.read_table(bench.scratch / release)
    values = [str(value) for value in pq.read_table(bench.scratch / data)[column].unique().to_pylist()]
    metadata = {**(rows.schema.metadata or {}), b"pandas": json.dumps({"index": sorted(values)}).encode()}
    folder = bench.scratch / output
    folder.mkdir(exist_ok=True)
    pq.write_table(rows.replace_schema_metadata(metadata), folder / "part.parquet")
    return output


def oracle(bench, name, policy, data, secret):
    """The mean over seeds of one trial each, on a release that was made with a secret."""
    chances = []
    for seed in range(ORACLE_SEEDS):
        published = bench.run(policy, data, f"{name}-oracle", secret=secret.format(seed))
        found = bench.attack(published, data, policy, "--oracle", 1, "--seed", seed, "--targets", 100)
        chances.append(found["oracle"]["release"])
    mean = sum(chances) / len(chances)
    print(f"oracle on {name}: {chances}", file=sys.stderr)
    return {"prior": 0.5, "release": mean, "gain": mean / 0.5}


def similarity(bench, name, base, data, number):
    """The tenths of a column of numbers, which the policy of `configs/` releases as it is; then with a limit on their distance."""
    column = f'[columns.{number}]\nrole = "insensitive"\n'
    sensitive = column.replace("insensitive", "sensitive") + "p = 1\n"
    free = bench.policy(f"{name}-similar.toml", base, (column, sensitive))
    close = bench.policy(f"{name}-close.toml", base, (column, sensitive + 't = 0.05\ndistance = "ordered"\n'))
    releases = bench.run(free, data, f"{name}-similar"), bench.run(close, data, f"{name}-close")
    before, after = (bench.attack(release, data, free)[f"similarity of {number}"] for release in releases)
    return (f"similarity of {number}", before, '`t = 0.05`, `distance = "ordered"`', after)


def single(bench, name, base, sensitive, age, kept, hidden, number):
    """One table, released once under each of several policies."""
    members, others = f"{name}-data/members.parquet", f"{name}-data/others.parquet"
    in_sensitive = f"[columns.{sensitive}]\nrole = \"sensitive\"\n"
    policies = {
        "plain": [],
        "cover": [(age, f"{age}cover = 5\n")],
        "never": [("p = 3\n", "p = 3\nborrow = \"never\"\n")],
        "max_share": [(in_sensitive, in_sensitive + "max_share = 0.5\n")],
        "t": [(in_sensitive, in_sensitive + "t = 0.2\n")],
    }
    attacked, losses = {}, {}
    for kind, changes in policies.items():
        policy = bench.policy(f"{name}-{kind}.toml", base, *changes)
        release = bench.run(policy, members, f"{name}-{kind}")
        losses[kind] = bench.ncp(release)
        seeds = [bench.run(policy, members, f"{name}-{kind}-{seed}", "--seed", seed) for seed in (1, 2, 3)] if kind == "plain" else []
        more = ["--previous", *seeds] if seeds else []
        attacked[kind] = bench.attack(release, members, policy, "--population", others, *more)
    plain = f"{name}-plain.toml"
    same = bench.attack(f"{name}-plain", members, plain, "--previous", bench.run(plain, members, f"{name}-again"))
    raw = bench.attack(members, members, plain)
    ordered = bench.attack(in_input_order(bench, f"{name}-plain", members, kept, f"{name}-ordered"), members, plain)
    indexed = bench.attack(with_index(bench, f"{name}-plain", members, hidden, f"{name}-indexed"), members, plain)
    guessed = bench.policy(f"{name}-guessed.toml", base, ("p = 3\n", f"p = {ORACLE_P}\n"))
    few = f"{name}-data/few.parquet"
    known, unknown = (oracle(bench, name, guessed, few, secret) for secret in (KNOWN_SECRET, SECRET))
    of = f" of {sensitive}"
    lines = [("linkage", raw["linkage"], "k (before: the input)", attacked["plain"]["linkage"])]
    for attack in ["homogeneity", "skewness", "background_values", "background_members"]:
        for remedy in ["max_share", "t"]:
            setting = {"max_share": "`max_share = 0.5`", "t": "`t = 0.2`"}[remedy]
            lines.append((attack, attacked["plain"].get(attack + of), setting, attacked[remedy].get(attack + of)))
    if number:
        lines.append(similarity(bench, name, base, members, number))
    for attack in ["naive_bayes", "tree"]:
        lines.append((attack, attacked["plain"].get(attack + of), "`t = 0.2`", attacked["t"].get(attack + of)))
    lines += [
        ("minimality", attacked["plain"].get("minimality" + of), "`borrow = \"never\"`", attacked["never"].get("minimality" + of)),
        ("minimality", attacked["plain"].get("minimality" + of), "`t = 0.2`", attacked["t"].get("minimality" + of)),
        ("downcoding", attacked["plain"].get("downcoding"), "`cover = 5`", attacked["cover"].get("downcoding")),
        ("borrowed_rows", attacked["plain"].get("borrowed_rows" + of), "`borrow = \"never\"`", attacked["never"].get("borrowed_rows" + of)),
        ("composition", attacked["plain"].get("composition" + of), "same seed and secret", same.get("composition" + of)),
        ("membership", attacked["plain"].get("membership"), "`t = 0.2`", attacked["t"].get("membership")),
        ("order", ordered.get("order"), "keyed order (before: that of the input)", attacked["plain"].get("order")),
        ("metadata", indexed.get("metadata"), "own writer (before: an index in the file)", attacked["plain"].get("metadata")),
        (f"oracle, {ORACLE_ROWS:,} rows, p = {ORACLE_P}", known, "a secret (before: known)", unknown),
    ]
    table(f"{name}, k = 10, p = 3; NCP " + ", ".join(f"{kind} {loss:.4f}" for kind, loss in losses.items()), lines)


def adult(bench, arguments):
    split(arguments.adult, 40_000, bench.scratch / "adult-data", 1)
    age = '[columns.age]\nrole = "quasi"\nrelease = "interval"\n'
    single(bench, "adult", "adult.toml", "occupation", age, ["fnlwgt", "occupation", "education"], "age", "hours-per-week")


def census(bench, _):
    split(bench.generate(CENSUS_ROWS + 10_000, "census-all"), CENSUS_ROWS, bench.scratch / "census-data", 1)
    age = 'release = "interval"\n'
    kept = ["income", "weight", "occupation", "hours", "industry", "education"]
    single(bench, "census", "census.toml", "occupation", age, kept, "birth_place", None)


def both(bench, title, before, after, remedies):
    lines = []
    for name in before:
        lines.append((name.split(" of ")[0], before[name], remedies.get(name.split(" of ")[0], remedies["*"]), after.get(name)))
    table(title, lines)


def visits(bench, _):
    """People with one to nine rows, who keep their quasi-identifiers; the occupation is that of the visit."""
    rows = pq.read_table(bench.generate(CENSUS_ROWS, "visits-all"))
    random, owner = np.random.default_rng(2), []
    while len(owner) < CENSUS_ROWS:
        owner += [len(owner)] * int(random.integers(1, 10))
    owner = pa.array(owner[:CENSUS_ROWS])
    for name in ["person_id", "age", "sex", "marital_status", "race", "birth_place", "region"]:
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, rows[name].take(owner))
    (bench.scratch / "visits-data").mkdir(exist_ok=True)
    pq.write_table(rows, bench.scratch / "visits-data/visits.parquet")
    unit = ("p = 3\n", 'p = 3\nunit = "person_id"\n')
    plain, counted = bench.policy("visits-rows.toml", "census.toml"), bench.policy("visits-unit.toml", "census.toml", unit)
    data = "visits-data/visits.parquet"
    releases = [bench.run(plain, data, "visits-rows"), bench.run(counted, data, "visits-unit")]
    before, after = (bench.attack(release, data, counted) for release in releases)
    people = len(set(rows["person_id"].to_pylist()))
    losses = ", ".join(f"{kind} {bench.ncp(release):.4f}" for kind, release in zip(["rows", "unit"], releases))
    both(bench, f"visits, {CENSUS_ROWS:,} rows of {people:,} people; NCP {losses}", before, after, {"*": "`unit`"})
    for kind, outcome in [("rows", before["linkage"]), ("unit", after["linkage"])]:
        print(f"\nlinkage, {kind}: worst {outcome['worst']:.3f}, rows per person {outcome['rows_per_person']:.2f}")


def nights(bench, _):
    """Ten nights, of which some people leave, come and change their occupation."""
    total = PEOPLE + (NIGHTS - 1) * COMING
    everyone = pq.read_table(bench.generate(total, "nights-all"))
    random = np.random.default_rng(3)
    occupations = np.array(everyone["occupation"].to_pylist(), dtype=object)
    here, changed = np.zeros(total, dtype=bool), np.zeros(total, dtype=bool)
    here[:PEOPLE] = True
    folder = bench.scratch / "nights-data"
    folder.mkdir(exist_ok=True)
    place = everyone.schema.get_field_index("occupation")
    for night in range(NIGHTS):
        if night > 0:
            staying = np.flatnonzero(here)
            here[random.choice(staying, len(staying) // 100, replace=False)] = False
            others = np.flatnonzero(here)
            some = random.choice(others, len(others) // 100, replace=False)
            occupations[some] = occupations[random.choice(total, len(some))]
            changed[some] = True
            here[PEOPLE + (night - 1) * COMING : PEOPLE + night * COMING] = True
        tonight = everyone.set_column(place, everyone.schema.field(place), pa.array(occupations, everyone.schema.field(place).type))
        pq.write_table(tonight.filter(pa.array(here)), folder / f"{night}.parquet")
    stayed = here & ~changed & (np.arange(total) < PEOPLE)
    pq.write_table(tonight.filter(pa.array(stayed)), folder / "stayed.parquet")
    unit = ("p = 3\n", 'p = 3\nunit = "person_id"\n')
    ledger = ("[algorithm]\n", '[series]\nledger = "nights-ledger/"\n[algorithm]\n')
    plain = bench.policy("nights-plain.toml", "census.toml", unit)
    series = bench.policy("nights-series.toml", "census.toml", unit, ledger, ('mode = "error"', 'mode = "series"'))
    shutil.rmtree(bench.scratch / "nights-ledger", ignore_errors=True)
    shutil.rmtree(bench.scratch / "nights-output", ignore_errors=True)
    single_releases, series_releases = [], []
    for night in range(NIGHTS):
        data = f"nights-data/{night}.parquet"
        single_releases.append(bench.run(plain, data, f"nights-plain-{night}"))
        bench.call("run", series, "--input", data, "--output", "nights-output")
        shutil.rmtree(bench.scratch / f"nights-series-{night}", ignore_errors=True)
        shutil.copytree(bench.scratch / "nights-output", bench.scratch / f"nights-series-{night}")
        series_releases.append(f"nights-series-{night}")
    found = {}
    for kind, policy, releases in [("plain", plain, single_releases), ("series", series, series_releases)]:
        found[kind] = bench.attack(releases[-1], "nights-data/stayed.parquet", policy, "--previous", *releases[:-1])
    losses = ", ".join(
        f"{kind} {bench.ncp(releases[0]):.4f} in the first night and {bench.ncp(releases[-1]):.4f} in the last"
        for kind, releases in [("alone", single_releases), ("series", series_releases)]
    )
    both(bench, f"nights, {int(stayed.sum()):,} people who were there in all ten, unchanged; NCP {losses}", found["plain"], found["series"], {"*": "one series"})
    print("\nComposition, release by release: the chance of a guess with that night alone, and what all of them give together.\n")
    print("| | first night alone | last night alone | all ten | bound | gain over the last | below k | below p | parts | parts below k | parts below p |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for kind, policy, releases in [("ten releases on their own", plain, single_releases), ("one series", series, series_releases)]:
        ends = [bench.attack(releases[at], "nights-data/stayed.parquet", policy)["homogeneity of occupation"] for at in (0, -1)]
        outcome = found["plain" if policy == plain else "series"]["composition of occupation"]
        parts = " | ".join(str(outcome.get(name, "")) for name in ["parts", "parts_below_k", "parts_below_p"])
        bound = f"{outcome['bound']:.3f}" if "bound" in outcome else ""
        print(
            f"| {kind} | {ends[0]['release']:.3f} | {ends[1]['release']:.3f} | {outcome['release']:.3f} | {bound} | "
            f"{outcome['gain_over_latest']:.2f} | {outcome['share_below_k']:.4f} | {outcome['share_below_p']:.4f} | {parts} |"
        )


TABLES = {"adult": adult, "census": census, "visits": visits, "nights": nights}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True)
    parser.add_argument("--adult", help="adult.csv, with a header line")
    parser.add_argument("--scratch", required=True, type=Path)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    arguments = parser.parse_args()
    arguments.scratch = arguments.scratch.resolve()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    if arguments.adult:
        arguments.adult = Path(arguments.adult).resolve()
    bench = Bench(arguments.throng, arguments.scratch)
    for name in arguments.only:
        TABLES[name](bench, arguments)
