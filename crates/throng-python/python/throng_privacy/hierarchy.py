"""Hierarchies for quasi-identifiers: how values become less specific.

Each function returns the dict that a policy has for a hierarchy.
"""

from __future__ import annotations

import csv
import difflib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ._kinds import is_dict, is_list, is_location, is_several
from .exceptions import UsageError

__all__ = ["dates", "from_csv", "from_frame", "intervals", "lines", "mask", "normalize", "paths", "tree", "widths"]

Hierarchy = dict[str, Any]

_FORMS = frozenset({"file", "lines", "tree", "intervals", "width", "date", "mask"})


def intervals(*sizes: float, origin: float = 0) -> Hierarchy:
    """Intervals for numbers, from fine to coarse. Each size is a multiple of the one before.

    >>> intervals(5, 10, 20)
    {'intervals': [5, 10, 20], 'origin': 0}
    """
    return {"intervals": list(sizes), "origin": origin}


def widths(width: float, *, growth: int = 2, levels: int = 1, origin: float = 0) -> Hierarchy:
    """Intervals for numbers: ``levels`` of them, each ``growth`` times as wide as the one before.

    >>> widths(5, levels=3)
    {'width': 5, 'growth': 2, 'levels': 3, 'origin': 0}
    """
    return {"width": width, "growth": growth, "levels": levels, "origin": origin}


def dates(*parts: Literal["day", "month", "quarter", "year", "decade"]) -> Hierarchy:
    """Parts of the calendar for dates and timestamps, from fine to coarse.

    >>> dates("month", "year")
    {'date': ['month', 'year']}
    """
    return {"date": list(parts)}


def mask(side: Literal["left", "right"] = "right") -> Hierarchy:
    """Codes such as ZIP: one character more is hidden at each level.

    >>> mask()
    {'mask': 'right'}
    """
    return {"mask": side}


def tree(groups: Mapping[str, Any]) -> Hierarchy:
    """A tree of groups. The root above all of them is implied.

    >>> tree({"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"]}})
    {'tree': {'Europe': ['France', 'Spain'], 'Asia': {'East': ['Japan']}}}
    """
    return {"tree": _branch(groups)}


def paths(ancestors: Mapping[str, Sequence[str]]) -> Hierarchy:
    """The groups of each value, from the nearest to the root.

    >>> paths({"France": ["Europe"], "Japan": ["East Asia", "Asia"]})["lines"]
    'France;Europe;*\\nJapan;East Asia;Asia;*\\n'
    """
    return lines([value, *above, "*"] for value, above in ancestors.items())


def lines(rows: Iterable[Sequence[object]], *, delimiter: str = ";") -> Hierarchy:
    """The lines of a hierarchy: each value with its groups up to the root, as ARX has them.

    >>> lines([["41099", "410**", "*"]])
    {'lines': '41099;410**;*\\n', 'delimiter': ';'}
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    for row in rows:
        writer.writerow(["" if value is None else str(value) for value in row])
    return {"lines": text.getvalue(), "delimiter": delimiter}


def from_csv(path: str | os.PathLike[str], *, delimiter: str = ";") -> Hierarchy:
    """A hierarchy file: one line for each value, without a header.

    >>> from_csv("zip.csv")
    {'file': 'zip.csv', 'delimiter': ';'}
    """
    return {"file": os.fspath(path), "delimiter": delimiter}


def from_frame(frame: object, columns: Sequence[str] | None = None) -> Hierarchy:
    """A frame with one row for each value: the value first, then its groups up to the root.

    Takes frames of pandas, polars and pyarrow. ``columns`` chooses and orders the levels.
    """
    names, rows = _rows(frame)
    chosen = list(columns) if columns is not None else names
    missing = [name for name in chosen if name not in names]
    if missing:
        msg = f"the frame of the hierarchy has no column {', '.join(missing)}"
        raise UsageError(msg)
    places = [names.index(name) for name in chosen]
    return lines([row[place] for place in places] for row in rows)


def _rows(frame: Any) -> tuple[list[str], Iterable[Sequence[object]]]:
    if hasattr(frame, "to_pylist"):
        names = list(frame.schema.names)
        return names, ([row[name] for name in names] for row in frame.to_pylist())
    if hasattr(frame, "iter_rows"):
        return list(frame.columns), frame.iter_rows()
    if hasattr(frame, "itertuples"):
        return [str(name) for name in frame.columns], frame.itertuples(index=False, name=None)
    msg = f"a {type(frame).__name__} is no frame with levels; take one of pandas, polars or pyarrow"
    raise UsageError(msg)


def normalize(given: object) -> object:
    """Returns the hierarchy of a policy for a path, a dict, or a frame."""
    if is_location(given):
        return os.fspath(given)
    if is_dict(given):
        if given and set(given) <= _FORMS | {"delimiter", "origin", "growth", "levels"} and set(given) & _FORMS:
            return dict(given)
        _check_form(given)
        return tree(given)
    return from_frame(given)


def _check_form(groups: Mapping[str, Any]) -> None:
    """Raises an exception for a dict of groups that seems to be a misspelled builder, such as ``{"interval": [5, 10]}``."""
    for name, below in groups.items():
        values = [below] if isinstance(below, (int, float)) else below
        is_numbers = is_list(values) and len(values) > 0 and all(isinstance(value, (int, float)) for value in values)
        if is_numbers and (meant := difflib.get_close_matches(str(name), ("intervals", "width"), 1)):
            msg = f"a hierarchy has no builder of this name; did you mean `{meant[0]}`? For a group of values, write them as texts"
            raise UsageError(msg)


def _branch(groups: object) -> object:
    if is_dict(groups):
        return {str(name): _branch(below) for name, below in groups.items()}
    if not is_several(groups):
        msg = "a group of a hierarchy is a list of values, or a dict of groups"
        raise UsageError(msg)
    return [str(value) for value in groups]
