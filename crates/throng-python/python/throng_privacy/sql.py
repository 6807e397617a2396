"""Throng in the SQL of DataFusion for Python."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from . import _native
from ._api import anonymize
from .exceptions import UsageError

if TYPE_CHECKING:
    from ._data import Data
    from ._policy import Policy
    from ._release import Release

__all__ = ["register", "table"]


def table(data: Data, policy: Policy, *, memory_limit: int | str | None = None, secret: str | None = None) -> Release:
    """Makes a release as a table for a session of DataFusion: ``ctx.register_table("released", table(data, policy))``.

    The memory pool of the session does not hold for it, so it has a limit of its own.
    """
    _native.check_datafusion()
    return anonymize(data, policy, memory_limit=memory_limit, secret=secret, on_progress=False)


def register(ctx: Any, *, memory_limit: int | str | None = None, secret: str | None = None) -> None:
    """Registers the functions of Throng with a ``datafusion.SessionContext``.

    ``anonymize('table', 'policy')`` is the release of a table, where the policy is a path or TOML. It is made by the first query, and
    every later one with the same arguments sees that release. ``generalize``, ``k_anonymity`` and ``p_sensitivity`` are functions of
    plain queries.
    """
    import datafusion

    for function in _native.SqlFunctions.scalar():
        ctx.register_udf(datafusion.udf(function))
    for function in _native.SqlFunctions.aggregate():
        ctx.register_udaf(datafusion.udaf(function))
    releases = _Releases(ctx, memory_limit, secret)
    ctx.register_udtf(datafusion.udtf(releases.anonymize, "anonymize"))


class _Releases:
    """The releases of a session, each made once."""

    def __init__(self, ctx: Any, memory_limit: int | str | None, secret: str | None) -> None:
        self._ctx = ctx
        self._memory_limit = memory_limit
        self._secret = secret
        self._made: dict[tuple[str, str], Release] = {}
        self._lock = threading.Lock()

    def anonymize(self, *arguments: Any) -> Release:
        if len(arguments) != 2:
            msg = "anonymize needs two arguments: the name of a table, and a policy"
            raise UsageError(msg)
        name, policy = (_text(argument) for argument in arguments)
        with self._lock:
            made = self._made.get((name, policy))
            if made is None:
                # The session calls from a thread that runs its tasks, in which the table can't be asked for.
                with ThreadPoolExecutor(1) as thread:
                    made = thread.submit(self._make, name, policy).result()
                self._made[name, policy] = made
            return made

    def _make(self, name: str, policy: str) -> Release:
        return table(self._ctx.table(name), policy, memory_limit=self._memory_limit, secret=self._secret)


def _text(argument: Any) -> str:
    value = argument.python_value() if hasattr(argument, "python_value") else argument
    value = value.as_py() if hasattr(value, "as_py") else value
    if not isinstance(value, str):
        msg = "the arguments of anonymize are texts"
        raise UsageError(msg)
    return value
