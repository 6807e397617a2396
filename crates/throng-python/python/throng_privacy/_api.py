"""The functions of the package."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _native
from ._arguments import several_locations, several_names, several_numbers
from ._data import given_locations, given_table, locations_of, open_data
from ._policy import column_names, policy as build_policy, read_policy
from ._draft import Draft
from ._release import Release, Written
from ._results import Bound, Check, Plan, Risk, Sweep, Verification, verified
from ._settings import call_settings, check_number, check_real, check_share
from .exceptions import PolicyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ._data import Data
    from ._policy import Columns, Policy

    OnProgress = Callable[[str, int, int | None], object] | bool | None

# Columns with a risk above this are counted, as by the command.
_THRESHOLD = 0.2

# What a draft says of a table that has no location, and what it should say.
_NO_LOCATION = '[input]\nlocation = "table"\n'
_A_FRAME = "# The table was a frame. `throng run` needs a file, named by `location` under [input].\n"

# Reads of a table for which several questions are answered one after the other: its rows are held.
_MANY = 8


def _given_policy(
    data: Data | None,
    policy: Policy | None,
    quasi: Columns | None,
    sensitive: Columns | None,
    identifiers: Iterable[str] | None,
    insensitive: Iterable[str] | None,
    hierarchies: Mapping[str, object] | None,
    unlisted: str | None,
    k: object,
) -> Policy:
    """Returns the policy, or one that is built from the columns, for which ``k`` must be given too."""
    _check_input(data, policy)
    named = (quasi, sensitive, identifiers, insensitive, hierarchies, unlisted)
    if policy is None:
        if quasi is None:
            msg = "give a policy, or name the quasi-identifiers: quasi=[...]"
            raise UsageError(msg)
        if k is None:
            msg = "give k: how many rows have to share their quasi-identifiers at least"
            raise UsageError(msg)
        return build_policy(
            quasi=quasi,
            sensitive=() if sensitive is None else sensitive,
            identifiers=() if identifiers is None else identifiers,
            insensitive=() if insensitive is None else insensitive,
            hierarchies=hierarchies,
            unlisted=unlisted,
        )
    if any(given is not None for given in named):
        msg = "give either a policy or columns, and not both"
        raise UsageError(msg)
    return policy


def _check_input(data: Data | None, policy: Policy | None) -> None:
    """Raises an exception if there is no table: a variable that is ``None`` by mistake."""
    if data is None and (policy is None or isinstance(policy, Mapping) and "input" not in policy):
        msg = "there is no table: the first argument is None, and no policy names an input"
        raise UsageError(msg)


def anonymize(
    data: Data | None = None,
    policy: Policy | None = None,
    *,
    k: int | None = None,
    p: int | None = None,
    quasi: Columns | None = None,
    sensitive: Columns | None = None,
    identifiers: Iterable[str] | None = None,
    insensitive: Iterable[str] | None = None,
    hierarchies: Mapping[str, object] | None = None,
    unlisted: str | None = None,
    budget: str | None = None,
    seed: int | None = None,
    secret: str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Release:
    """Anonymizes a table: every row shares its quasi-identifiers with at least ``k - 1`` others, and every such class has at least
    ``p`` different values of each sensitive column.

    ``data`` is a frame with an Arrow stream (pandas 3, polars, pyarrow, DuckDB, DataFusion), a location, a ``polars.LazyFrame``, a
    ``pyarrow.dataset.Dataset`` or a table of DataFusion; without it, the input of the policy is read. ``policy`` is a path, TOML, a
    dict or a draft; without it, columns are named as for :func:`policy`. ``k``, ``p``, ``budget`` and ``seed`` replace those of the
    policy.

    Random choices are keyed by ``secret``; by default it is that of ``THRONG_SECRET``, or one in the state folder of the user. Rows
    that do not fit into ``memory_limit`` ("2GiB") are spilled to temporary files. ``on_progress`` is called with stage, units done
    and total; by default a bar is drawn on terminals and in notebooks, and ``False`` draws none.

    Rows come back in the canonical order of the release, without identifiers, and can't be joined with those of the input.

    >>> people = {"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]}
    >>> import pyarrow
    >>> release = anonymize(pyarrow.table(people), k=3, p=2, quasi=["age"], sensitive=["illness"])
    >>> sorted(set(pyarrow.table(release)["age"].to_pylist()))
    ['[25-29]', '[60-64]']
    """
    chosen = _given_policy(data, policy, quasi, sensitive, identifiers, insensitive, hierarchies, unlisted, k)
    read = read_policy(
        chosen,
        locations=given_locations(data),
        k=k,
        p=p,
        budget=budget,
        seed=seed,
        secret=secret,
    )
    table = given_table(data, reads=read.reads)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        native = _native.anonymize(read, table, settings)
    return Release(native, call_settings)


def run(
    data: Data | None = None,
    policy: Policy | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    rebase: bool = False,
    k: int | None = None,
    p: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    secret: str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Written:
    """Makes a release and publishes it to the ``output`` of the policy, or to another one, as ``throng run`` does.

    Unlike :func:`anonymize` it keeps no rows in this process, and so takes the policies that a release in memory can't keep: a series of
    releases with its ledger (``rebase`` begins a new one), appends, and tables that pseudonyms link. Without ``data``, the input of the
    policy is read. A stream is read as it comes, and held in memory only for a series or a limit on the finished release, which read their
    input again.

    >>> import pyarrow, tempfile
    >>> from throng_privacy import policy
    >>> people = pyarrow.table({"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run(people, policy(k=3, p=2, quasi=["age"], sensitive=["illness"]), output=f"{folder}/released").rows
    6
    """
    if policy is None:
        msg = "give a policy"
        raise UsageError(msg)
    _check_input(data, policy)
    if output is None and isinstance(policy, Mapping) and "location" not in policy.get("output", {}):
        msg = "the policy has no output; give its location: output=..."
        raise UsageError(msg)
    read = read_policy(
        policy,
        locations=given_locations(data),
        k=k,
        p=p,
        budget=budget,
        seed=seed,
        secret=secret,
        output=None if output is None else os.fspath(output),
        is_published=True,
        is_overwritten=overwrite,
    )
    table = given_table(data, reads=read.reads)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        outcome, metrics = _native.run(read, table, rebase, settings)
    return Written(json.loads(outcome), {} if metrics is None else json.loads(metrics))


def risk(
    data: Data,
    quasi: Iterable[str],
    *,
    sensitive: Iterable[str] = (),
    threshold: float = _THRESHOLD,
    fraction: float | None = None,
    weight: str | None = None,
    population: Data | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Risk:
    """Measures the risk that people are found in a table as it is, by the columns that others may know.

    Intruders who do not know who is in ``data`` look among the people of its population. How many of them a class matches is estimated
    from ``fraction``, the share of the population that is in the table, or from ``weight``, the column with the number of people whom a
    row stands for; or it is counted in ``population``, a table with the same columns and one row per person.

    >>> import pyarrow
    >>> risk(pyarrow.table({"age": [25, 25, 25, 64]}), quasi=["age"]).uniques
    1
    """
    known, secrets = column_names("quasi", quasi), column_names("sensitive", sensitive)
    if not known:
        msg = "name at least one column by which people could be found: quasi=[...]"
        raise UsageError(msg)
    if sum(given is not None for given in (fraction, weight, population)) > 1:
        msg = "give one of fraction, weight and population"
        raise UsageError(msg)
    check_share("threshold", threshold)
    check_real("fraction", fraction)
    opened = open_data(data, reads=1 if population is None else 2)
    others = None if population is None else open_data(population)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        document, page, part = _native.risk(
            opened.table, opened.locations, known, secrets, threshold, fraction, weight, others, settings
        )
    return Risk(json.loads(document), page, part)


def draft(
    data: Data,
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Draft:
    """Drafts a policy for a table, from the names, types and counts of its columns. What it can't decide is a question.

    >>> import pyarrow
    >>> people = pyarrow.table({"name": ["Ada", "Bob"], "age": [25, 61]})
    >>> [question.path for question in draft(people).questions]
    ['privacy.p']
    """
    opened = open_data(data, reads=2)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        text, rows, columns, _ = _native.draft(opened.table, opened.locations, settings)
    if opened.table is not None:
        text = text.replace(_NO_LOCATION, _A_FRAME, 1)
    return Draft(text, rows, columns)


def check(
    data: Data | None = None,
    policy: Policy | None = None,
    *,
    k: int | None = None,
    p: int | None = None,
    quasi: Columns | None = None,
    sensitive: Columns | None = None,
    identifiers: Iterable[str] | None = None,
    insensitive: Iterable[str] | None = None,
    hierarchies: Mapping[str, object] | None = None,
    unlisted: str | None = None,
    budget: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Check:
    """Checks whether a table can be released under a policy. The result is true if it can.

    The table is read several times, so that a stream is held in memory.

    >>> import pyarrow
    >>> people = {"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]}
    >>> check(pyarrow.table(people), k=3, p=2, quasi=["age"], sensitive=["illness"]).feasible
    True
    """
    chosen = _given_policy(data, policy, quasi, sensitive, identifiers, insensitive, hierarchies, unlisted, k)
    read = read_policy(chosen, locations=given_locations(data), k=k, p=p, budget=budget, seed=seed)
    table = given_table(data, reads=_MANY)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        document = _native.check(read, table, settings)
    return Check(json.loads(document))


def plan(
    data: Data | None = None,
    policy: Policy | None = None,
    *,
    k: int | None = None,
    p: int | None = None,
    quasi: Columns | None = None,
    sensitive: Columns | None = None,
    identifiers: Iterable[str] | None = None,
    insensitive: Iterable[str] | None = None,
    hierarchies: Mapping[str, object] | None = None,
    unlisted: str | None = None,
    budget: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Plan:
    """Returns what a release would take: method, leaves, memory, and its loss approximately. Clusters a few leaves, and reads the table as
    :func:`check` does.

    >>> import pyarrow
    >>> people = {"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]}
    >>> plan(pyarrow.table(people), k=3, p=2, quasi=["age"], sensitive=["illness"]).leaves
    1
    """
    chosen = _given_policy(data, policy, quasi, sensitive, identifiers, insensitive, hierarchies, unlisted, k)
    read = read_policy(chosen, locations=given_locations(data), k=k, p=p, budget=budget, seed=seed)
    table = given_table(data, reads=_MANY)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        document = _native.plan(read, table, settings)
    return Plan(json.loads(document))


def bound(
    data: Data | None = None,
    policy: Policy | None = None,
    *,
    k: int | None = None,
    p: int | None = None,
    quasi: Columns | None = None,
    sensitive: Columns | None = None,
    identifiers: Iterable[str] | None = None,
    insensitive: Iterable[str] | None = None,
    hierarchies: Mapping[str, object] | None = None,
    unlisted: str | None = None,
    budget: str | None = None,
    seed: int | None = None,
    secret: str | None = None,
    seconds: int | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Bound:
    """Proves how much any release under a policy loses at least, and how near to that its own release comes. Releases nothing.

    The bound is improved for ``seconds``, or by a fixed amount of work.

    >>> import pyarrow
    >>> people = {"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]}
    >>> found = bound(pyarrow.table(people), k=3, p=2, quasi=["age"], sensitive=["illness"])
    >>> 0 <= found.lower_bound <= found.loss
    True
    """
    check_number("seconds", seconds)
    chosen = _given_policy(data, policy, quasi, sensitive, identifiers, insensitive, hierarchies, unlisted, k)
    read = read_policy(chosen, locations=given_locations(data), k=k, p=p, budget=budget, seed=seed, secret=secret)
    table = given_table(data)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        document = _native.bound(read, table, seconds, settings)
    return Bound(json.loads(document))


def sweep(
    data: Data | None = None,
    policy: Policy | None = None,
    *,
    k: int | Iterable[int] = (),
    p: int | Iterable[int] = (),
    algorithms: str | Iterable[str] = (),
    loss: float | None = None,
    utility: bool = False,
    quasi: Columns | None = None,
    sensitive: Columns | None = None,
    identifiers: Iterable[str] | None = None,
    insensitive: Iterable[str] | None = None,
    hierarchies: Mapping[str, object] | None = None,
    unlisted: str | None = None,
    budget: str | None = None,
    seed: int | None = None,
    secret: str | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Sweep:
    """Tries every pair of ``k`` and ``p`` on one survey of the table, and returns the risk and the loss of each.

    ``algorithms`` are tried as well: partitions, or partitions with a cluster method, such as ``"mondrian"`` or ``"none/enhanced-pk"``.

    ``loss`` is the highest NCP that is acceptable; :attr:`Sweep.best` is then the safest policy within it. A pair that can't be kept
    is no error, and has its reason.

    With ``utility``, each release is made in memory, and :attr:`Trial.median_query_error` and :attr:`Trial.p95_query_error` are the errors of random
    counts in it, as :func:`utility` measures them.

    >>> import pyarrow
    >>> people = {"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]}
    >>> swept = sweep(pyarrow.table(people), k=[2, 3, 7], p=2, quasi=["age"], sensitive=["illness"])
    >>> [trial.feasible for trial in swept.trials]
    [True, True, False]
    """
    check_share("loss", loss)
    ks, ps, tried_algorithms = several_numbers("k", k), several_numbers("p", p), several_names("algorithms", algorithms)
    first_k = ks[0] if ks else None
    chosen = _given_policy(data, policy, quasi, sensitive, identifiers, insensitive, hierarchies, unlisted, first_k)
    locations = given_locations(data)
    base_k, base_p = _grid_base(chosen, next(iter(ks), None), next(iter(ps), None), secret)

    def read(one_k: int, one_p: int, algorithm: str | None) -> _native.NativePolicy:
        return read_policy(
            chosen,
            locations=locations,
            k=one_k,
            p=one_p,
            budget=budget,
            seed=seed,
            secret=secret,
            without_preset=True,
            algorithm=algorithm,
        )

    trials: list[tuple[int, int, str, _native.NativePolicy | None, str]] = []
    surveys = set[bool]()
    chosen_algorithms: Sequence[str | None] = tried_algorithms or [None]
    for algorithm, one_k, one_p in itertools.product(chosen_algorithms, ks or [base_k], ps or [base_p]):
        try:
            tried = read(one_k, one_p, algorithm)
        except PolicyError as error:
            trials.append((one_k, one_p, algorithm or "", None, str(error)))
            continue
        partition, cluster = tried.algorithm
        surveys.add(partition == "mdr")
        name = partition if cluster == "auto" else f"{partition}/{cluster}"
        trials.append((one_k, one_p, name, tried, ""))
    if not any(tried for _, _, _, tried, _ in trials):
        # All of them fail for the same reason, most likely: a policy that is wrong in itself.
        read(trials[0][0], trials[0][1], next(iter(tried_algorithms), None))
    # MDR surveys the table by itself, and the errors of counts are those of its rows.
    table = given_table(data, reads=_MANY if utility else len(surveys))
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        document, page, part = _native.sweep(trials, loss, utility, table, settings)
    return Sweep(json.loads(document), page, part)


def _grid_base(chosen: Policy, k: int | None, p: int | None, secret: str | None) -> tuple[int, int]:
    """Returns the k and the p of a policy, for what the grid does not vary."""
    if k is not None and p is not None:
        return k, p
    return read_policy(chosen, locations=["table"], k=k, p=p, secret=secret, without_preset=k is not None).privacy


def verify(
    data: Data,
    policy: Policy | None = None,
    *,
    k: int | None = None,
    p: int | None = None,
    quasi: Iterable[str] | None = None,
    sensitive: Iterable[str] = (),
    unit: str | None = None,
    against: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    ledger: bool = False,
    raises: bool = True,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Verification:
    """Recomputes the promise of a policy on any table, from its values alone: a published release, a file, or a frame.

    Without a policy, the promise is given by ``quasi`` and ``sensitive`` columns with ``k`` and ``p``, where the values of ``unit`` are
    counted in place of rows. A release at a location is compared with the earlier ones ``against`` which it is given, and with the
    ``ledger`` of its series. A promise that does not hold raises :class:`VerificationError`, unless ``raises`` is false.

    >>> import pyarrow
    >>> claimed = pyarrow.table({"age": ["[25-29]", "[25-29]", "64"]})
    >>> verify(claimed, quasi=["age"], k=2, raises=False).holds
    False
    """
    for name, number in (("k", k), ("p", p)):
        check_number(name, number)
    secrets, earlier = column_names("sensitive", sensitive), several_locations("against", against)
    places = locations_of(data)
    read: _native.NativePolicy | None = None
    columns: tuple[list[str], list[str], int, int, str | None] | None = None
    if policy is not None:
        if quasi is not None or secrets or unit is not None:
            msg = "give either a policy or columns, and not both"
            raise UsageError(msg)
        # The ledger is that of the release at hand.
        read = read_policy(policy, locations=places, k=k, p=p, output=places[0] if ledger else None)
    elif quasi is None:
        msg = "give a policy, or name the quasi-identifiers: quasi=[...]"
        raise UsageError(msg)
    elif k is None or (secrets and p is None):
        msg = "give the promise: k, and p if there are sensitive columns"
        raise UsageError(msg)
    elif ledger:
        msg = "a ledger is compared under the policy of its series"
        raise UsageError(msg)
    else:
        columns = (column_names("quasi", quasi), secrets, k, 1 if p is None else p, unit)
    opened = open_data(data)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        found = _native.verify(opened.table, opened.locations, read, columns, earlier, ledger, settings)
    return verified(found, raises=raises)


class Census:
    """A synthetic census extract, as an Arrow stream. No person in it exists."""

    rows: int
    """Number of rows."""
    seed: int
    """Seed of the random choices."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.seed = seed

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _native.census(self.rows, self.seed)

    def __repr__(self) -> str:
        return f"Census of {self.rows} rows"


def generate_census(
    rows: int,
    location: str | os.PathLike[str] | None = None,
    *,
    seed: int = 42,
    files: int | None = None,
    overwrite: bool = False,
) -> Census:
    """Generates a synthetic census extract to try things on, and writes it to a folder if one is given.

    The same ``seed`` gives the same people as ``throng generate census --seed``, whose default is 0.

    >>> import pyarrow
    >>> pyarrow.table(generate_census(100)).num_rows
    100
    """
    for name, number in (("rows", rows), ("seed", seed), ("files", files)):
        check_number(name, number)
    if location is not None:
        with call_settings(on_progress=False) as settings:
            _native.generate_census(location, rows, seed, files, overwrite, settings)
    return Census(rows, seed)


def make_hierarchy(
    data: Data,
    column: str,
    hierarchy: Mapping[str, Any],
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> dict[str, Any]:
    """Builds a hierarchy for the values of a column with one of the builders of :mod:`throng_privacy.hierarchy`.

    Returns it value by value, to be looked at or changed. It holds every value of the column.

    >>> import pyarrow
    >>> make_hierarchy(pyarrow.table({"age": [25, 29]}), "age", {"intervals": [5, 10]})["lines"].splitlines()
    ['25;[25-29];[20-29];*', '29;[25-29];[20-29];*']
    """
    read, opened = _hierarchy_policy(column, hierarchy), open_data(data)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        text, _, _ = _native.make_hierarchy(read, column, opened.table, opened.locations, settings)
    return {"lines": text}


def check_hierarchy(
    data: Data,
    column: str,
    hierarchy: object,
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> tuple[int, int]:
    """Returns how many distinct values a column has, and how many of them a hierarchy lacks.

    >>> import pyarrow
    >>> check_hierarchy(pyarrow.table({"city": ["Paris", "Rome", "Oslo"]}), "city", {"France": ["Paris"], "Italy": ["Rome"]})
    (3, 1)
    """
    read, opened = _hierarchy_policy(column, hierarchy), open_data(data)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        return _native.check_hierarchy(read, column, opened.table, opened.locations, settings)


def _hierarchy_policy(column: str, hierarchy: object) -> _native.NativePolicy:
    return read_policy(build_policy(k=2, quasi={column: {"hierarchy": hierarchy}}), locations=["table"])
