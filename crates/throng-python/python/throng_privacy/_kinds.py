"""Kinds of arguments, for type checkers too: what ``isinstance`` does not say about keys and elements is ``Any``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard


def is_dict(given: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether it is a dict, or like one."""
    return isinstance(given, Mapping)


def is_list(given: object) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list or a tuple."""
    return isinstance(given, (list, tuple))


def is_several(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether it has elements, and is no text."""
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes))


def is_ordered(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether it has elements in an order."""
    return is_several(given) and not isinstance(given, (set, frozenset))


def is_location(given: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether it is a path or a URL."""
    return isinstance(given, (str, os.PathLike))
