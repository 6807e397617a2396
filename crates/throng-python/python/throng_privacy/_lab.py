"""What a release is good for, and what an intruder gains from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from ._arguments import several_tables
from ._data import Opened, open_data
from ._policy import column_names, read_policy
from ._results import Document
from ._settings import call_settings, check_number
from .exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ._data import Data
    from ._policy import Policy

    OnProgress = Callable[[str, int, int | None], object] | bool | None

__all__ = ["Attack", "AttackOutcome", "Diff", "Utility", "attack", "diff", "utility"]

# People who are attacked, and k and p where nothing names them, as by the command.
_TARGETS = 4000
_COMPARED = 20_000
_LEAST = 2
_QUERIES = 500


@dataclass(frozen=True)
class AttackOutcome(Document):
    """What one attack gains."""

    @property
    def name(self) -> str:
        """Name of the attack."""
        return str(self._document["name"])

    @property
    def column(self) -> str | None:
        """The sensitive column that is attacked, if it is one."""
        return self._document.get("column")

    @property
    def prior(self) -> float:
        """Chance of success without what the attack adds."""
        return float(self._document["prior"])

    @property
    def release(self) -> float:
        """Chance of success with the release."""
        return float(self._document["release"])

    @property
    def original(self) -> float:
        """Chance of success with the original in place of the release."""
        return float(self._document["original"])

    @property
    def gain(self) -> float:
        """``release / prior``."""
        return float(self._document["gain"])

    def __repr__(self) -> str:
        column = "" if self.column is None else f" of {self.column}"
        return f"{self.name}{column}: gain {self.gain:.3f} ({self.prior:.4f} before, {self.release:.4f} with the release)"


@dataclass(frozen=True)
class Attack(Document):
    """What an intruder gains from a release.

    The figures are for the data controller. Some concern few people, and must not be published.
    """

    @property
    def targets(self) -> int:
        """Number of people who were attacked."""
        return int(self._document["targets"])

    @property
    def attacks(self) -> list[AttackOutcome]:
        """Attacks that were run."""
        return [AttackOutcome(outcome) for outcome in self._document["attacks"]]

    @property
    def skipped(self) -> dict[str, str]:
        """Attacks that were not run, with the reason."""
        return {skipped["name"]: skipped["reason"] for skipped in self._document["skipped"]}

    @property
    def highest_gain(self) -> float:
        """Gain of the most successful attack."""
        return max((outcome.gain for outcome in self.attacks), default=1.0)

    def above(self, gain: float) -> list[AttackOutcome]:
        """Returns the attacks that gain more than this."""
        return [outcome for outcome in self.attacks if outcome.gain > gain]

    def __getitem__(self, name: str) -> AttackOutcome:
        """Returns the outcome of an attack; the first, if it was made on several columns."""
        for outcome in self.attacks:
            if outcome.name == name:
                return outcome
        raise KeyError(name)

    def __repr__(self) -> str:
        return "\n  ".join([f"Attack on {self.targets} people", *map(repr, self.attacks)])


@dataclass(frozen=True)
class Utility(Document):
    """How well a release answers the questions that its original would answer."""

    @property
    def median_query_error(self) -> float:
        """Median relative error of random counts."""
        return float(self._document["count_queries"]["median_error"])

    @property
    def marginals(self) -> dict[str, float]:
        """Total variation distance of the distribution of each column."""
        return {column["column"]: float(column["total_variation"]) for column in self._document["marginals"]}

    @property
    def models(self) -> dict[str, Any] | None:
        """Accuracy of models that are trained on the release and on the original; ``None`` without a column to predict."""
        models = self.to_dict().get("models")
        return None if models is None else dict(models)

    def __repr__(self) -> str:
        worst = max(self.marginals.values(), default=0.0)
        return f"Utility: median error of counts {self.median_query_error:.4f}, marginals differ by {worst:.4f} at most"


@dataclass(frozen=True)
class Diff(Document):
    """What two releases of the same people reveal together."""

    @property
    def method(self) -> str:
        """How people were found: ``linked``, ``original`` or ``labels``."""
        return str(self._document["method"])

    @property
    def people(self) -> int:
        """Number of people in both releases, as far as that is known."""
        return int(self._document["people"])

    @property
    def people_below_k(self) -> int:
        """People with fewer than k candidates."""
        return int(self._document["people_below_k"])

    @property
    def people_below_p(self) -> int:
        """People with fewer than p possible values of a sensitive column."""
        return int(self._document["people_below_p"])

    @property
    def people_disclosed(self) -> int:
        """People with one possible value."""
        return int(self._document["people_disclosed"])

    @property
    def fewest_candidates(self) -> int:
        """Smallest number of candidates."""
        return int(self._document["fewest_candidates"])

    @property
    def gain(self) -> float:
        """Chance of a guess with both releases, over that with the second alone."""
        alone = float(self._document["chance_alone"])
        return float(self._document["chance_together"]) / alone if alone > 0 else 1.0

    def __repr__(self) -> str:
        return (
            f"Diff: of {self.people} people, {self.people_below_k} have fewer than k candidates and {self.people_below_p} "
            f"fewer than p values\n  {self.people_disclosed} have one value"
        )


def _open(data: object) -> Opened:
    """Opens a table. Its order matters, because people are drawn row by row."""
    return open_data(data, reads=2, in_order=True)


def _columns(
    policy: Policy | None,
    quasi: Iterable[str] | None,
    sensitive: Iterable[str],
    k: int | None,
    p: int | None,
) -> tuple[_native.NativePolicy | None, _native.NamedColumns | None]:
    """Returns a policy, or columns."""
    for name, number in (("k", k), ("p", p)):
        check_number(name, number)
    secrets = column_names("sensitive", sensitive)
    if policy is not None:
        if quasi is not None or secrets:
            msg = "give either a policy or columns, and not both"
            raise UsageError(msg)
        return read_policy(policy, locations=["table"], k=k, p=p), None
    if quasi is None:
        msg = "give a policy, or name the quasi-identifiers: quasi=[...]"
        raise UsageError(msg)
    return None, (column_names("quasi", quasi), secrets, _LEAST if k is None else k, _LEAST if p is None else p)


def attack(
    release: Data,
    original: Data,
    policy: Policy,
    *,
    previous: Data | Sequence[Data] = (),
    population: Data | None = None,
    targets: int = _TARGETS,
    seed: int = 0,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Attack:
    """Attacks a release as an intruder would, and scores the answers with the original.

    ``previous`` are earlier releases of the same people, ``population`` people who are not in the table. ``targets`` people are drawn
    from the original by ``seed``.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]})
    >>> from throng_privacy import anonymize, policy
    >>> rules = policy(k=3, p=2, quasi=["age"], sensitive=["illness"])
    >>> attack(anonymize(people, rules), people, rules)["linkage"].gain
    1.0
    """
    for name, number in (("targets", targets), ("seed", seed)):
        check_number(name, number)
    opened = [_open(release), _open(original)]
    earlier: list[_native.OpenedTable] = [_open(one) for one in several_tables(previous)]
    others = None if population is None else _open(population)
    read = read_policy(policy, locations=["table"])
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        found = _native.attack(opened[0], opened[1], read, earlier, others, targets, seed, settings)
    return Attack(json.loads(found))


def utility(
    release: Data,
    original: Data,
    policy: Policy | None = None,
    *,
    quasi: Iterable[str] | None = None,
    sensitive: Iterable[str] = (),
    target: str | None = None,
    queries: int = _QUERIES,
    seed: int = 0,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Utility:
    """Measures how well a release answers the questions that its original would answer: counts, marginals, associations and models.

    Models predict ``target``, by default the first sensitive column.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]})
    >>> utility(people, people, quasi=["age"], sensitive=["illness"]).median_query_error
    0.0
    """
    for name, number in (("queries", queries), ("seed", seed)):
        check_number(name, number)
    opened = [_open(release), _open(original)]
    read, columns = _columns(policy, quasi, sensitive, None, None)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        found = _native.utility(opened[0], opened[1], read, columns, target, queries, seed, settings)
    return Utility(json.loads(found))


def diff(
    first: Data,
    second: Data,
    policy: Policy | None = None,
    *,
    second_policy: Policy | None = None,
    k: int | None = None,
    p: int | None = None,
    quasi: Iterable[str] | None = None,
    sensitive: Iterable[str] = (),
    original: Data | None = None,
    link: str | None = None,
    targets: int = _COMPARED,
    seed: int = 0,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: OnProgress = None,
) -> Diff:
    """Finds out what two releases of the same people reveal together.

    People are drawn from the labels of the first release, or from ``original`` if it is given. ``link`` names a column that both
    releases show unchanged and that identifies a row; then people are counted exactly. Without a policy, columns are named.
    ``second_policy`` is that of the second release, if it has another.

    >>> import pyarrow
    >>> people = {"age": [25, 29, 27, 61, 64, 60], "illness": ["flu", "gout", "flu", "flu", "asthma", "gout"]}
    >>> from throng_privacy import anonymize
    >>> release = anonymize(pyarrow.table(people), k=3, p=2, quasi=["age"], sensitive=["illness"])
    >>> diff(release, release, k=3, p=2, quasi=["age"], sensitive=["illness"]).people_below_k
    0
    """
    for name, number in (("targets", targets), ("seed", seed)):
        check_number(name, number)
    opened = (_open(first), _open(second))
    people = None if original is None else _open(original)
    read, columns = _columns(policy, quasi, sensitive, k, p)
    other = None if second_policy is None else read_policy(second_policy, locations=["table"], k=k, p=p)
    if other is not None and read is None:
        msg = "a policy of the second release goes with one of the first"
        raise UsageError(msg)
    with call_settings(threads=threads, memory_limit=memory_limit, on_progress=on_progress) as settings:
        found = _native.diff(opened, (read, other), columns, people, link, targets, seed, settings)
    return Diff(json.loads(found))
