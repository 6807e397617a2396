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


def choose(people: pl.LazyFrame, policy: dict[str, object]) -> int:
    """Returns the largest k within a loss."""
    best = throng.sweep(people, policy, k=[5, 10, 20], loss=0.1).best
    return 0 if best is None else best.k
