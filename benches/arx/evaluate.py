"""What a release loses: NCP from its labels alone, by one definition for all tools.

    a label of a hierarchy   the leaves below it over all leaves, 0 for one leaf
    an interval              its width over the range of the input, 0 for one value
    a suppressed row, `*`    1

The mean over all rows of the input and all quasi-identifiers. Shares no code with any tool.

ARX shows a class by the labels of one level, also where all its rows have the same value. To its advantage, `tight` gives
each of its classes the narrowest labels that cover its rows: the lowest common ancestor, and the interval from the least to
the greatest value.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

INTERVAL = re.compile(r"\[(-?\d+)-(-?\d+)\]")


class Case:
    """A table with its hierarchies."""

    def __init__(self, home):
        self.home = Path(home)
        rows, numbers, categories, self.sensitive, distinct = (self.home / "facts.txt").read_text().strip().split("\t")
        self.rows, self.distinct = int(rows), int(distinct)
        self.numbers = [c for c in numbers.split(",") if c]
        self.categories = [c for c in categories.split(",") if c]
        self.quasi = self.numbers + self.categories
        self.data = pd.read_csv(self.home / "data.csv", dtype=str, keep_default_na=False)
        assert len(self.data) == self.rows
        self.range = {c: (self.data[c].astype("int64").min(), self.data[c].astype("int64").max()) for c in self.numbers}
        self.paths, self.below = {}, {}
        for column in self.quasi:
            lines = (self.home / "hierarchies" / f"{column}.csv").read_text().splitlines()
            self.paths[column] = {line.split(";")[0]: line.split(";") for line in lines if line}
            below = {}
            for path in self.paths[column].values():
                for label in dict.fromkeys(path):
                    below[label] = below.get(label, 0) + 1
            self.below[column] = below

    def share(self, column, label):
        """The loss of a label by leaves."""
        leaves = len(self.paths[column])
        count = self.below[column].get(label)
        if count is None:
            raise ValueError(f"{column}: a released label is not in the hierarchy")
        return 0.0 if count == 1 else count / leaves

    def width(self, column, label):
        """The loss of a label of a number by its width."""
        low, high = self.range[column]
        if label == "*":
            return 1.0
        match = INTERVAL.fullmatch(label)
        first, last = (int(match[1]), int(match[2])) if match else (int(label), int(label))
        return (min(last, high) - max(first, low)) / (high - low)


def labels(release, column, loss):
    """The mean loss of a column."""
    counts = release[column].value_counts()
    return sum(loss(column, label) * count for label, count in counts.items()) / len(release)


def privacy(case, release, suppressed):
    """The least k and p of all classes."""
    kept = release[~suppressed]
    if kept.empty:
        return 0, 0, 0
    classes = kept.groupby(case.quasi, sort=False)[case.sensitive]
    return int(classes.size().min()), int(classes.nunique().min()), len(classes)


def of_throng(case, release, free):
    """Losses of a release whose labels are what its classes show; `free` where numbers are intervals."""
    assert len(release) == case.rows
    by = {c: labels(release, c, case.width if free and c in case.numbers else case.share) for c in case.quasi}
    k, p, classes = privacy(case, release, np.zeros(len(release), bool))
    return {"ncp": float(np.mean(list(by.values()))), "columns": by, "k": k, "p": p, "classes": classes}


def of_arx(case, release):
    """Losses of a release in the order of the input: by leaves as released, by leaves tight, and with numbers by width tight."""
    assert len(release) == case.rows
    assert (release[case.sensitive] == case.data[case.sensitive]).all()
    suppressed = (release[case.quasi] == "*").all(axis=1).to_numpy()
    k, p, classes = privacy(case, release, suppressed)
    raw = {c: labels(release, c, case.share) for c in case.quasi}
    group = release.groupby(case.quasi, sort=False).ngroup().to_numpy()
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
    sizes = np.diff(np.r_[starts, len(order)])
    hidden = suppressed[order][starts]
    tight, wide = {}, {}
    for column in case.quasi:
        codes, values = pd.factorize(case.data[column])
        paths = [case.paths[column][v] for v in values]
        loss = np.ones(len(starts))
        found = np.zeros(len(starts), bool)
        for level in range(len(paths[0])):
            ancestors, names = pd.factorize(np.array([p[level] for p in paths], dtype=object))
            shares = np.array([case.share(column, n) for n in names])
            here = ancestors[codes][order]
            low, high = np.minimum.reduceat(here, starts), np.maximum.reduceat(here, starts)
            new = (low == high) & ~found
            loss[new] = shares[low[new]]
            found |= new
        loss[hidden] = 1.0
        tight[column] = float((loss * sizes).sum() / case.rows)
        if column in case.numbers:
            numbers = case.data[column].astype("int64").to_numpy()[order]
            low, high = case.range[column]
            hull = (np.maximum.reduceat(numbers, starts) - np.minimum.reduceat(numbers, starts)) / (high - low)
            hull[hidden] = 1.0
            wide[column] = float((hull * sizes).sum() / case.rows)
        else:
            wide[column] = tight[column]
    mean = lambda losses: float(np.mean(list(losses.values())))
    return {"raw": mean(raw), "tight": mean(tight), "wide": mean(wide), "columns": tight, "columns_wide": wide,
            "suppressed": int(suppressed.sum()), "k": k, "p": p, "classes": classes}


if __name__ == "__main__":
    case = Case(sys.argv[1])
    for path in sys.argv[2:]:
        result = of_arx(case, pd.read_csv(path, sep=";", dtype=str, keep_default_na=False))
        print(f"{Path(path).stem:60} raw {result['raw']:.4f} tight {result['tight']:.4f} wide {result['wide']:.4f} "
              f"classes {result['classes']} suppressed {result['suppressed']} k {result['k']} p {result['p']}")
