"""NCP of any release, from its released values alone, by one definition for all tools (that of Throng's sidecar):

    a number      the width of its interval over the range of the input, 0 for a single value
    an ancestor   the leaves below it over all leaves of the hierarchy, 0 for a leaf
    a set         its values over all leaves of the hierarchy, 0 for a single value
    a suppressed row or cell, `*`                                                        1

The mean over all rows of the *input* and all quasi-identifiers. Intervals that reach beyond the input's range are cut to
it, which favours tools that use fixed intervals.
"""

import re

INTERVAL = re.compile(r"\[?(\d+)(?:-(\d+))?\]?")


def numbers(values):
    """What a label of a column of numbers loses, where these are the input's values."""
    low, high = min(values), max(values)

    def loss(label):
        if label == "*":
            return 1.0
        first, last = INTERVAL.fullmatch(label).groups()
        width = min(int(last or first), high) - max(int(first), low)
        return max(width, 0) / (high - low)

    return loss


def category(paths):
    """What a label of a category loses, where these are the paths of its hierarchy from leaf to root."""
    leaves = {path[0] for path in paths}
    below = {}
    for path in paths:
        for label in path:
            below.setdefault(label, set()).add(path[0])

    def loss(label):
        if label in leaves:
            return 0.0
        if label in below:
            count = len(below[label])
        else:
            values = {value.strip() for value in label.strip("{}").split(",")}
            if not values <= leaves:
                raise ValueError("a released label is neither a value, nor a set of values, nor in the hierarchy")
            count = len(values)
        return 0.0 if count == 1 else count / len(leaves)

    return loss


def ncp(case, rows, released):
    """The mean NCP of released rows, and how many rows of the input are missing among them."""
    suppressed = len(rows) - len(released)
    total = 0.0
    for name in case.quasi:
        loss = numbers([int(row[name]) for row in rows]) if name in case.numbers else category(case.trees[name])
        known = {}
        for row in released:
            label = row[name]
            if label not in known:
                known[label] = loss(label)
            total += known[label]
    return (total / len(case.quasi) + suppressed) / len(rows), suppressed
