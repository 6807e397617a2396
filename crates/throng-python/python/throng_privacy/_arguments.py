"""Arguments of which there may be one or several."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

from ._kinds import is_dict, is_list, is_location, is_ordered
from ._settings import check_number
from .exceptions import UsageError


def several_numbers(name: str, given: object) -> list[int]:
    """Returns one number, or a list, an array or a generator of them.

    >>> several_numbers("k", 5), several_numbers("k", (number for number in (5, 10)))
    ([5], [5, 10])
    """
    listed = _listed(name, given, _is_whole)
    for number in listed:
        if number is None:
            msg = f"{name} has a None, and needs whole numbers"
            raise UsageError(msg)
        check_number(name, number)
    return [operator.index(number) for number in listed]


def several_names(name: str, given: object) -> list[str]:
    """Returns one name, or several.

    >>> several_names("algorithms", "mondrian")
    ['mondrian']
    """
    listed = _listed(name, given, lambda one: isinstance(one, str))
    for one in listed:
        if not isinstance(one, str):
            msg = f"{name} has a {type(one).__name__}, and needs names"
            raise UsageError(msg)
    return listed


def several_locations(name: str, given: object) -> list[str]:
    """Returns one location, or several.

    >>> several_locations("against", "released/monday")
    ['released/monday']
    """
    listed = _listed(name, given, is_location)
    for one in listed:
        if not is_location(one):
            msg = f"{name} has a {type(one).__name__}, and needs locations: paths or URLs"
            raise UsageError(msg)
    return [os.fspath(one) for one in listed]


def several_tables(given: object) -> list[Any]:
    """Returns one table, or several: a frame is one, although some frames can be iterated over."""
    if is_list(given) or (is_ordered(given) and hasattr(given, "__next__") and not hasattr(given, "__arrow_c_stream__")):
        return list(given)
    return [given]


def _is_whole(given: object) -> bool:
    try:
        operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _listed(name: str, given: object, is_one: Callable[[object], bool]) -> list[Any]:
    if is_one(given):
        return [given]
    if is_dict(given) or not is_ordered(given):
        msg = f"{name} is a {type(given).__name__}, and must be one value or a list of them"
        raise UsageError(msg)
    return list(given)
