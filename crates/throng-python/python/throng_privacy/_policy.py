"""Policies that users hand over, and the builder of keyword arguments."""

from __future__ import annotations

import copy
import json
import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, Union

from . import _native, hierarchy as hierarchies
from ._draft import Draft
from ._kinds import is_dict, is_list, is_location, is_ordered
from ._settings import check_number
from .exceptions import UsageError

Policy: TypeAlias = Union[str, "os.PathLike[str]", Mapping[str, Any], Draft]
"""A policy: the path of a file, its text in TOML, a dict with the same fields, or a draft."""

Columns: TypeAlias = Union[Iterable[str], Mapping[str, Any]]
"""Names of columns, or names with settings."""


def policy(
    *,
    k: int | None = None,
    p: int | None = None,
    quasi: Columns = (),
    sensitive: Columns = (),
    identifiers: Iterable[str] = (),
    insensitive: Iterable[str] = (),
    hierarchies: Mapping[str, object] | None = None,
    unlisted: str | None = None,
    **sections: Any,
) -> dict[str, Any]:
    """Builds a policy.

    ``quasi`` and ``sensitive`` are names, or names with the settings that a policy file has for such a column. A hierarchy is given
    among these settings, or in ``hierarchies``: a dict of groups, the builders of :mod:`throng_privacy.hierarchy`, a frame with one
    column per level, or the path of a file. ``unlisted="drop"`` leaves columns out that are not named; otherwise they are an error.
    Other sections of a policy file (``privacy``, ``algorithm``, ``output``, ...) are given as dicts.

    >>> built = policy(k=5, p=2, quasi=["age"], sensitive={"illness": {"p": 3}}, hierarchies={"age": {"intervals": [5, 10]}})
    >>> built["columns"]["age"]
    {'role': 'quasi', 'hierarchy': {'intervals': [5, 10]}}
    """
    built: dict[str, Any] = {"version": 1}
    for name, section in sections.items():
        if not is_dict(section):
            msg = f"{name} is a section of a policy, and needs a dict"
            raise UsageError(msg)
        built[name] = copy.deepcopy(dict(section))
    columns: dict[str, Any] = built.setdefault("columns", {})
    if unlisted is not None:
        columns["default"] = unlisted
    for role, named in (
        ("identifier", identifiers),
        ("quasi", quasi),
        ("sensitive", sensitive),
        ("insensitive", insensitive),
    ):
        for name, settings in _settings(role, named).items():
            if name in columns:
                msg = f"column {name!r} is given more than once"
                raise UsageError(msg)
            columns[name] = {"role": role, **settings}
    for name, given in (hierarchies or {}).items():
        if name not in columns or not isinstance(columns[name], dict):
            msg = f"there is a hierarchy for {name!r}, which is neither a quasi-identifier nor sensitive"
            raise UsageError(msg)
        columns[name]["hierarchy"] = given
    return _replaced(built, k, p)


def column_names(role: str, named: object) -> list[str]:
    """Returns the names of columns as a list. A series, an index and an array have them too; a set has no order.

    >>> column_names("quasi", (name for name in ("age", "zip")))
    ['age', 'zip']
    """
    if not is_ordered(named):
        msg = f"the {role} columns need a list of names or a dict, and not a {type(named).__name__}"
        raise UsageError(msg)
    names = list(named)
    for name in names:
        if not isinstance(name, str):
            msg = f"the {role} columns have a name that is a {type(name).__name__}; names of columns are texts"
            raise UsageError(msg)
    return names


def _settings(role: str, named: object) -> dict[str, dict[str, Any]]:
    if is_dict(named):
        return {name: _of_column(role, name, named[name]) for name in column_names(role, named)}
    return {name: {} for name in column_names(role, named)}


def _of_column(role: str, name: str, settings: object) -> dict[str, Any]:
    if settings is None:
        return {}
    if not is_dict(settings):
        example = '{"p": 3}' if role == "sensitive" else '{"hierarchy": ...}'
        msg = f"the settings of the {role} column `{name}` are a {type(settings).__name__}, and must be a dict, such as {example}"
        raise UsageError(msg)
    return dict(settings)


def _replaced(built: dict[str, Any], k: int | None, p: int | None) -> dict[str, Any]:
    privacy = {name: number for name, number in (("k", k), ("p", p)) if number is not None}
    if privacy:
        built["privacy"] = {**built.get("privacy", {}), **privacy}
    return built


def _normalized(given: Mapping[str, Any]) -> dict[str, Any]:
    """Replaces hierarchies that are frames or trees by what a policy file has for them."""
    plain = dict(given)
    plain.setdefault("version", 1)
    columns = plain.get("columns")
    if is_dict(columns):
        plain["columns"] = {
            name: {**settings, "hierarchy": hierarchies.normalize(settings["hierarchy"])}
            if is_dict(settings) and "hierarchy" in settings
            else settings
            for name, settings in columns.items()
        }
    return plain


def read_policy(
    given: object,
    *,
    locations: Sequence[str] | None,
    k: int | None = None,
    p: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    secret: str | None = None,
    without_preset: bool = False,
    algorithm: str | None = None,
    output: str | None = None,
    is_published: bool = False,
    is_overwritten: bool = False,
) -> _native.NativePolicy:
    """Reads a policy of any form. ``locations`` replace its input, unless they are ``None``, and ``output`` its output, which a policy
    that is not published need not have."""
    for name, number in (("k", k), ("p", p), ("seed", seed)):
        check_number(name, number)
    replacements: _native.Replacements = {
        "input": None if locations is None else list(locations),
        "output": output,
        "is_published": is_published,
        "is_overwritten": is_overwritten,
        "k": k,
        "p": p,
        "budget": budget,
        "seed": seed,
        "secret": secret,
        "without_preset": without_preset,
        "algorithm": algorithm,
    }
    if isinstance(given, Draft):
        return _native.NativePolicy.parse(given.text, replacements)
    if is_dict(given):
        return _native.NativePolicy.from_json(_json(_normalized(given)), replacements)
    if isinstance(given, str) and is_toml(given):
        return _native.NativePolicy.parse(given, replacements)
    if is_location(given):
        return _native.NativePolicy.load(given, replacements)
    msg = f"an object of type {type(given).__name__} is no policy; give a path, TOML, a dict or a draft, or name columns: quasi=[...]"
    raise UsageError(msg)


def is_toml(text: str) -> bool:
    """Whether a text is a policy, and not the path of one.

    >>> is_toml("privacy.k = 5"), is_toml("policies/k=5.toml")
    (True, False)
    """
    return "\n" in text or ("=" in text and not text.endswith((".toml", ".json")))


def _json(given: Mapping[str, Any]) -> str:
    return json.dumps(_plain(given, ()), allow_nan=False)


def _plain(value: object, place: tuple[str, ...]) -> object:
    """Returns a value of a policy as JSON has it: locations as texts, and numbers of other libraries as those of Python."""
    if isinstance(value, float) and not math.isfinite(value):
        raise _no_value("a number that is not finite", place)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if is_dict(value):
        for key in value:
            if not isinstance(key, str):
                raise _no_value(f"a key that is a {type(key).__name__}", place)
        return {key: _plain(below, (*place, key)) for key, below in value.items()}
    if is_list(value):
        return [_plain(one, place) for one in value]
    if is_location(value):
        return os.fspath(value)
    if isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else _plain(float(value), place)
    raise _no_value(f"a {type(value).__name__}", place)


def _no_value(what: str, place: tuple[str, ...]) -> UsageError:
    # What is deeper may be a value of the table, in a hierarchy.
    where = ".".join(place[:3])
    return UsageError(f"the policy has {what} at `{where}`, which no policy file can have")
