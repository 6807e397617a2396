"""Releases that are counted by other means: what the verifier finds is what pandas finds, and what pycanon finds.

THRONG_OUTSIDE_RELEASES sets the number of random releases. pycanon needs an older pandas than the other tests, so that it runs in an
environment of its own: THRONG_PYCANON is a Python that has it. Without it, pandas alone is asked.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import throng_privacy as throng

RELEASES = int(os.environ.get("THRONG_OUTSIDE_RELEASES", "12"))
PYCANON = os.environ.get("THRONG_PYCANON")

COUNT_WITH_PYCANON = """
import json, sys
import pandas as pd
from pycanon import anonymity
for line in sys.stdin:
    case = json.loads(line)
    table = pd.read_csv(case["path"], dtype=str, keep_default_na=False)
    quasi, found = case["quasi"], {"k": int(anonymity.k_anonymity(table, case["quasi"]))}
    for column in case["sensitive"]:
        found[column] = {
            "p": int(anonymity.l_diversity(table, quasi, [column])),
            "max_share": float(anonymity.alpha_k_anonymity(table, quasi, [column])[0]),
            "t": float(anonymity.t_closeness(table, quasi, [column])),
            "beta": float(anonymity.basic_beta_likeness(table, quasi, [column])),
        }
    print(json.dumps(found))
"""


def random_table(draw: random.Random) -> tuple[pa.Table, list[str], list[str]]:
    """People with random quasi-identifiers of several types, and one or two sensitive columns."""
    rows = draw.randrange(40, 240)
    columns = {
        "age": pa.array([draw.randrange(18, draw.choice([25, 90])) for _ in range(rows)]),
        "income": pa.array([round(draw.gammavariate(2, 900), 1) for _ in range(rows)]),
        "born": pa.array([draw.randrange(-9000, 12000) for _ in range(rows)], pa.int32()).cast(pa.date32()),
        "town": pa.array([draw.choice("ABCDE") for _ in range(rows)]),
    }
    quasi = draw.sample(sorted(columns), draw.randrange(1, 4))
    kinds = [f"illness {number}" for number in range(draw.randrange(3, 9))]
    sensitive = {
        f"s{number}": pa.array(draw.choices(kinds, weights=[1 + draw.random() * 4 for _ in kinds], k=rows))
        for number in range(draw.randrange(1, 3))
    }
    return pa.table({name: columns[name] for name in quasi} | sensitive), quasi, list(sensitive)


def random_policy(draw: random.Random, quasi: list[str], sensitive: list[str]) -> dict:
    """A policy for it: p, and sometimes a model of frequencies, a cover or another form of release."""
    k = draw.randrange(2, 9)
    columns: dict[str, dict] = {}
    for name in quasi:
        columns[name] = {"role": "quasi"}
        if name == "town":
            columns[name]["release"] = draw.choice(["set", "ancestor"])
            continue
        if draw.random() < 0.3:
            columns[name]["cover"] = {"age": 5, "income": 250, "born": "year"}[name]
        if draw.random() < 0.3:
            columns[name]["release"] = "bounds"
    for name in sensitive:
        columns[name] = {"role": "sensitive", "p": draw.randrange(1, min(k, 3) + 1)}
        model = draw.choice([None, ("max_share", 0.8), ("entropy_l", 1.5), ("t", 0.6), ("beta", 6.0)])
        if model is not None:
            columns[name][model[0]] = model[1]
    return {"version": 1, "privacy": {"k": k}, "columns": columns}


def counted_by_pandas(frame: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> dict:
    """k, and per sensitive column p and the measures of frequencies, from the values alone."""
    classes = frame.groupby(quasi, dropna=False, observed=True)
    found: dict = {"classes": classes.ngroups, "k": int(classes.size().min())}
    for column in sensitive:
        overall = frame[column].value_counts(normalize=True)
        shares = [group[column].value_counts(normalize=True) for _, group in classes]
        found[column] = {
            "p": int(classes[column].nunique().min()),
            "max_share": max(float(share.max()) for share in shares),
            "entropy_l": min(math.exp(-sum(one * math.log(one) for one in share)) for share in shares),
            "t": max(float((share.reindex(overall.index, fill_value=0.0) - overall).abs().sum()) / 2 for share in shares),
            "beta": max(float((share / overall[share.index] - 1).max()) for share in shares),
        }
    return found


# Names that the verifier has for the models.
MODELS = {
    "p-sensitivity": "p",
    "(alpha, k)": "max_share",
    "entropy": "entropy_l",
    "closeness": "t",
    "likeness": "beta",
}


def measure_of(model: str) -> str | None:
    """The measure that a model of the verifier is about."""
    return next((measure for name, measure in MODELS.items() if name in model), None)


def test_random_releases_are_counted_alike(tmp_path: Path) -> None:
    cases, refused, compared = [], 0, 0
    for number in range(RELEASES):
        draw = random.Random(f"outside {number}")
        table, quasi, sensitive = random_table(draw)
        policy = random_policy(draw, quasi, sensitive)
        try:
            release = throng.anonymize(table, policy, budget="fast")
        except throng.PrivacyError:
            refused += 1
            continue
        frame = pd.DataFrame.from_arrow(pa.table(release))
        shown = [name for name in frame.columns if name not in sensitive]
        found = counted_by_pandas(frame, shown, sensitive)
        verified = throng.verify(pa.table(release), policy)
        context = f"release {number}: {policy}"
        assert (verified.smallest_class, verified.classes) == (found["k"], found["classes"]), context
        for one in verified.sensitive:
            measure = measure_of(one["model"])
            assert measure is not None, one
            assert one["fewest"] == pytest.approx(found[one["column"]][measure], abs=1e-6), f"{one} in {context}"
            compared += 1
        path = tmp_path / f"{number}.csv"
        frame.to_csv(path, index=False)
        cases.append(({"path": str(path), "quasi": shown, "sensitive": sensitive}, found, context))
    assert len(cases) >= RELEASES // 2, f"{refused} of {RELEASES} were refused"
    assert compared >= len(cases)
    if PYCANON is None:
        return
    lines = "\n".join(json.dumps(case) for case, _, _ in cases)
    ran = subprocess.run([PYCANON, "-W", "ignore", "-c", COUNT_WITH_PYCANON], input=lines, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(cases)
    for answer, (case, found, context) in zip(answers, cases, strict=True):
        assert answer["k"] == found["k"], context
        for column in case["sensitive"]:
            for measure, value in answer[column].items():
                assert value == pytest.approx(found[column][measure], abs=1e-6), f"{measure} of {column} in {context}"
