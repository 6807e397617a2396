"""A use of the package in which every type is known."""

from __future__ import annotations

import polars as pl
import throng_privacy as throng


def release(people: pl.DataFrame) -> pl.DataFrame:
    """Anonymizes a frame, and returns the release as one."""
    made = throng.anonymize(
        people,
        k=5,
        p=2,
        quasi={"age": {"hierarchy": throng.hierarchy.intervals(5, 10)}, "zip": {}},
        sensitive=["diagnosis"],
        identifiers=["name"],
    )
    rows: int = made.rows
    loss: float = made.ncp
    print(rows, loss, made.metrics["privacy"])
    return pl.DataFrame(made)


def problems(path: str) -> list[str]:
    """Returns the fields of a policy that are wrong."""
    try:
        throng.check("people.parquet", path)
    except throng.PolicyError as error:
        return [problem.path for problem in error.problems]
    return []


def gain(release: throng.Release, people: pl.DataFrame, policy: dict[str, object]) -> float:
    """Returns what the best attack gains, alone and together with an earlier release."""
    attack = throng.attack(release, people, policy, previous=["yesterday/"])
    column: str | None = attack["homogeneity"].column
    diff = throng.diff(release, "yesterday/", policy, original=people)
    print(column, diff.people_below_k, throng.utility(release, people, policy).marginals)
    return max(attack.highest_gain, diff.gain)


def nightly(people: pl.DataFrame, policy: dict[str, object]) -> list[str]:
    """Looks at a table, publishes the next release of a series, and verifies it with an earlier one."""
    risk = throng.risk(people, quasi=["age"], fraction=0.1)
    plan: throng.Plan = throng.plan(people, policy)
    bound: throng.Bound = throng.bound(people, policy, seconds=1)
    leaves: int | None = plan.leaves
    gap: float | None = bound.gap
    written: throng.Written = throng.run(people, policy, output="out/", overwrite=True)
    found = throng.verify("out/", policy, against=["yesterday/"], ledger=True, raises=False)
    print(risk.highest, leaves, gap, found.reason, found.against)
    return written.warnings


def choose(people: pl.LazyFrame, policy: dict[str, object]) -> int:
    """Returns the largest k within a loss."""
    best = throng.sweep(people, policy, k=[5, 10, 20], loss=0.1).best
    return 0 if best is None else best.k
