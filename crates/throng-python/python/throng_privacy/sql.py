"""Throng in the SQL of DataFusion for Python."""

from __future__ import annotations

import hashlib
import threading
import weakref
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._api import anonymize
from ._policy import is_toml
from .exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._data import Data
    from ._policy import Policy
    from ._release import Release

__all__ = ["register", "table"]


def table(
    data: Data,
    policy: Policy,
    *,
    k: int | None = None,
    p: int | None = None,
    seed: int | None = None,
    memory_limit: int | str | None = None,
    secret: str | None = None,
) -> Release:
    """Makes a release as a table for a session of DataFusion: ``ctx.register_table("released", table(data, policy))``.

    The memory pool of the session does not hold for it, so it has a limit of its own.

    >>> import datafusion, pyarrow
    >>> from throng_privacy import policy
    >>> people = pyarrow.table({"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]})
    >>> ctx = datafusion.SessionContext()
    >>> ctx.register_table("released", table(people, policy(k=3, p=2, quasi=["age"], sensitive=["illness"])))
    >>> ctx.sql("select distinct age from released").count()
    2
    """
    _native.check_datafusion()
    return anonymize(data, policy, k=k, p=p, seed=seed, memory_limit=memory_limit, secret=secret, on_progress=False)


def register(ctx: Any, *, memory_limit: int | str | None = None, secret: str | None = None) -> None:
    """Registers the functions of Throng with a ``datafusion.SessionContext``.

    ``anonymize('table', 'policy')`` is the release of a table, where the policy is a path or TOML. It is made by the first query, and
    every later one with the same arguments sees that release, as long as the table has the same rows and the policy the same text. Each
    query reads the table to find that out; :func:`table` makes a release that needs no look at the table. ``generalize``,
    ``k_anonymity`` and ``p_sensitivity`` are functions of plain queries.

    >>> import datafusion
    >>> ctx = datafusion.SessionContext()
    >>> register(ctx)
    >>> ctx.sql("select k_anonymity(age) as k from (values (25), (25), (64)) as people (age)").to_pydict()
    {'k': [1]}
    """
    # Its functions have types that its own package does not state in full.
    datafusion: Any = import_module("datafusion")
    for function in _native.SqlFunctions.scalar():
        ctx.register_udf(datafusion.udf(function))
    for function in _native.SqlFunctions.aggregate():
        ctx.register_udaf(datafusion.udaf(function))
    releases = _Releases(ctx, memory_limit, secret)
    ctx.register_udtf(datafusion.udtf(releases.anonymize, "anonymize"))


class _Releases:
    """The releases of a session: one for each table and policy, made again when one of them has changed."""

    def __init__(self, ctx: Any, memory_limit: int | str | None, secret: str | None) -> None:
        # The session holds its functions, and would never be freed if they held it.
        self._ctx = weakref.ref(ctx)
        self._memory_limit = memory_limit
        self._secret = secret
        self._made: dict[tuple[str, str], tuple[tuple[str, str], Release]] = {}
        self._lock = threading.Lock()

    def anonymize(self, *arguments: Any) -> Release:
        if len(arguments) != 2:
            msg = "anonymize needs two arguments: the name of a table, and a policy"
            raise UsageError(msg)
        name, policy = (_text(argument) for argument in arguments)
        # The session calls from a thread that runs its tasks, in which the table can't be asked for.
        return _on_thread(lambda is_stopped: self._release(name, policy, is_stopped))

    def _release(self, name: str, policy: str, is_stopped: threading.Event) -> Release:
        ctx = self._ctx()
        if ctx is None:
            msg = "the session of the table has been closed"
            raise UsageError(msg)
        with self._lock:
            frame = ctx.table(name)
            seen = (_native.checksum(frame), _digest(policy))
            made = self._made.get((name, policy))
            if made is not None and made[0] == seen:
                return made[1]
            self._made.pop((name, policy), None)
            _native.check_datafusion()
            release = anonymize(
                frame,
                policy,
                memory_limit=self._memory_limit,
                secret=self._secret,
                on_progress=lambda _stage, _done, _total: _raise_if(is_stopped),
            )
            self._made[name, policy] = (seen, release)
            return release


def _on_thread(work: Callable[[threading.Event], Release]) -> Release:
    """Does work on another thread. An interrupt stops it, and is not held up by it."""
    is_stopped = threading.Event()
    done: Future[Release] = Future()

    def run() -> None:
        try:
            done.set_result(work(is_stopped))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="throng-sql", daemon=True).start()
    try:
        return done.result()
    except BaseException:
        is_stopped.set()
        raise


def _raise_if(is_stopped: threading.Event) -> None:
    if is_stopped.is_set():
        raise KeyboardInterrupt


def _digest(policy: str) -> str:
    """Returns a digest of a policy: of its text, or of the file that it names."""
    text = policy.encode()
    if not is_toml(policy):
        try:
            text = Path(policy).read_bytes()
        except OSError:
            # Reading the policy says why.
            return ""
    return hashlib.sha256(text).hexdigest()


def _text(argument: Any) -> str:
    value = argument.python_value() if hasattr(argument, "python_value") else argument
    value = value.as_py() if hasattr(value, "as_py") else value
    if not isinstance(value, str):
        msg = "the arguments of anonymize are texts"
        raise UsageError(msg)
    return value
