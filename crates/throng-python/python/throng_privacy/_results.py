"""Results, each with the JSON document that the command has for it."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exceptions import VerificationError

if TYPE_CHECKING:
    import os

__all__ = ["Bound", "Check", "Document", "Plan", "Risk", "Sweep", "Trial", "Verification", "verified", "write_page"]


@dataclass(frozen=True)
class Document:
    """A result that is a document of the command."""

    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the document, with the names that the command has for it."""
        return copy.deepcopy(self._document)


@dataclass(frozen=True)
class _OfTable(Document):
    """A result about the rows of a table."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._document["rows"])


@dataclass(frozen=True)
class _Page(_OfTable):
    _page: str = field(repr=False)
    _fragment: str = field(repr=False)

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the page as HTML, and writes it to a file if one is given."""
        return write_page(self._page, path)

    def _repr_html_(self) -> str:
        return self._fragment


def write_page(page: str, path: str | os.PathLike[str] | None) -> str:
    """Writes a page to a file if one is given, and returns it."""
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


@dataclass(frozen=True)
class Risk(_Page):
    """The risk that people are found in a table as it is.

    The figures are for the data controller. Some concern few rows, and must not be published.
    """

    @property
    def classes(self) -> int:
        """Number of classes: rows with the same quasi-identifiers."""
        return int(self._document["classes"])

    @property
    def uniques(self) -> int:
        """Number of rows that are alone in their class."""
        return int(self._document["uniques"])

    @property
    def smallest_class(self) -> int:
        """Rows of the smallest class."""
        return int(self._document["smallest_class"])

    @property
    def highest(self) -> float:
        """Highest risk of a row."""
        return float(self._document["prosecutor"]["highest"])

    @property
    def average(self) -> float:
        """Average risk of the rows."""
        return float(self._document["prosecutor"]["average"])

    @property
    def rows_at_risk(self) -> int:
        """Number of rows with a risk above the threshold."""
        return int(self._document["prosecutor"]["rows_at_risk"])

    @property
    def columns(self) -> dict[str, float]:
        """Share of the average risk that goes away without each column."""
        return {column["column"]: float(column["share"]) for column in self._document["columns"]}

    def __repr__(self) -> str:
        return (
            f"Risk: {self.uniques} of {self.rows} rows are unique, in {self.classes} classes\n"
            f"  highest {self.highest:.4f}, average {self.average:.4f}, {self.rows_at_risk} rows above "
            f"{self._document['threshold']}"
        )


@dataclass(frozen=True)
class Check(_OfTable):
    """Whether a table can be released under a policy."""

    @property
    def feasible(self) -> bool:
        """Whether the policy can be kept."""
        return not self.shortfalls

    @property
    def shortfalls(self) -> list[str]:
        """Everything that stands in the way."""
        return list(self._document["shortfalls"])

    @property
    def suppressed_rows(self) -> int:
        """Number of rows that a release would leave out."""
        return int(self._document["suppressed_rows"])

    @property
    def dropped(self) -> list[str]:
        """Columns that a release leaves out."""
        return list(self._document["dropped"])

    @property
    def warnings(self) -> list[str]:
        """Reasons why a release may protect less than it seems to."""
        return list(self._document.get("warnings", []))

    def __bool__(self) -> bool:
        return self.feasible

    def __repr__(self) -> str:
        if self.feasible:
            return f"Check: {self.rows} rows can be released, in at most {self._document['max_classes']} classes"
        return "Check: the privacy target can't be met\n  " + "\n  ".join(self.shortfalls)


@dataclass(frozen=True)
class Plan(Check):
    """What a release would take."""

    @property
    def method(self) -> str:
        """Names of the partition and of the cluster method."""
        return f"{self._document['partition']}/{self._document['cluster']}"

    @property
    def leaves(self) -> int | None:
        """Number of leaves; ``None`` if the policy can't be kept."""
        return self._document.get("leaves")

    @property
    def memory_bytes(self) -> int | None:
        """Memory that holds everything, approximately; ``None`` if the policy can't be kept."""
        return self._document.get("memory_bytes")

    @property
    def ncp(self) -> float | None:
        """Predicted NCP; ``None`` if the leaves are too large to be tried."""
        return self._document.get("predicted_ncp")

    def __repr__(self) -> str:
        if not self.feasible:
            return super().__repr__()
        loss = "not predicted" if self.ncp is None else f"about {self.ncp:.4f}"
        return (
            f"Plan: {self.rows} rows in {self.leaves} leaves by {self.method}\n"
            f"  NCP {loss}, about {(self.memory_bytes or 0) / (1 << 20):.0f} MiB"
        )


@dataclass(frozen=True)
class Bound(_OfTable):
    """The least loss that a release under a policy can have, and the loss of the one that the policy has."""

    @property
    def measure(self) -> str:
        """What is bounded: ``ncp``, or ``sse_sst`` for columns that are released as means."""
        return str(self._document["measure"])

    @property
    def lower_bound(self) -> float:
        """No release under the policy loses less than this."""
        return float(self._document["lower_bound"])

    @property
    def loss(self) -> float:
        """Loss of the release."""
        return float(self._document[self.measure])

    @property
    def gap(self) -> float | None:
        """How far the loss is above the bound, relative to it; ``None`` if the bound is zero."""
        return self._document.get("gap")

    def __repr__(self) -> str:
        near = "any release may lose nothing" if self.gap is None else f"within {self.gap:.1%} of the best possible"
        return f"Bound: {self.measure} {self.loss:.5f} on {self.rows} rows, at least {self.lower_bound:.5f}\n  {near}"


@dataclass(frozen=True)
class Trial(Document):
    """One policy of a sweep."""

    @property
    def k(self) -> int:
        """Parameter k."""
        return int(self._document["k"])

    @property
    def p(self) -> int:
        """Parameter p."""
        return int(self._document["p"])

    @property
    def algorithm(self) -> str:
        """Name of the partition, and of the cluster method if it was chosen."""
        return str(self._document["algorithm"])

    @property
    def feasible(self) -> bool:
        """Whether the policy can be kept."""
        return bool(self._document["feasible"])

    @property
    def ncp(self) -> float | None:
        """Mean normalized certainty penalty: 0 loses nothing, 1 everything."""
        return self._document.get("ncp")

    @property
    def highest_risk(self) -> float | None:
        """Highest risk of a row of the release."""
        return self._document.get("highest_risk")

    @property
    def median_query_error(self) -> float | None:
        """Median relative error of random counts, if it was measured."""
        return self._query_error("median_error")

    @property
    def p95_query_error(self) -> float | None:
        """95th percentile of the relative error of random counts, if it was measured."""
        return self._query_error("p95_error")

    def _query_error(self, of: str) -> float | None:
        errors: dict[str, float] = self._document.get("count_queries", {})
        return errors.get(of)

    @property
    def reason(self) -> str | None:
        """Why the policy can't be kept."""
        return self._document.get("reason")

    def __repr__(self) -> str:
        if self.feasible:
            found = f"NCP {self.ncp:.4f}, highest risk {self.highest_risk:.4f}"
        else:
            found = "can't be kept"
        return f"Trial: k={self.k} p={self.p} {self.algorithm}: {found}"


@dataclass(frozen=True)
class Sweep(_Page):
    """Risk and loss of several policies on one table."""

    @property
    def trials(self) -> list[Trial]:
        """All policies, in the order of the grid."""
        return [Trial(trial) for trial in self._document["trials"]]

    @property
    def best(self) -> Trial | None:
        """The policy with the lowest risk within the loss that was allowed."""
        best = self._document["best"]
        return None if best is None else Trial(best)

    def __repr__(self) -> str:
        lines = [f"Sweep: {len(self.trials)} policies on {self.rows} rows"]
        lines += [f"  {repr(trial).removeprefix('Trial: ')}" for trial in self.trials]
        return "\n".join(lines)


@dataclass(frozen=True)
class Verification(_OfTable):
    """What the verifier has counted in the values of a table."""

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return bool(self._document["satisfied"])

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self._document["classes"])

    @property
    def smallest_class(self) -> int:
        """Rows of the smallest class."""
        return int(self._document["smallest_class"])

    @property
    def against(self) -> list[dict[str, Any]]:
        """What the release gives away together with each of the earlier ones."""
        return copy.deepcopy(self._document.get("against", []))

    @property
    def sensitive(self) -> list[dict[str, Any]]:
        """What each sensitive column requires, and what every class has."""
        return copy.deepcopy(self._document["sensitive"])

    @property
    def reason(self) -> str | None:
        """What breaks the promise; ``None`` if it holds."""
        if self.holds:
            return None
        broken: list[str] = []
        if self._document["classes_below_k"]:
            broken.append(f"the smallest class has {self.smallest_class} rows, and {self._document['k']} are required")
        broken += [
            f"{found['model']} of `{found['column']}` is {found['fewest']} in a class, and {found['required']} is required"
            for found in self._document["sensitive"]
            if found["classes_below"]
        ]
        if any(not compared["satisfied"] for compared in self.against):
            broken.append("together with an earlier release it singles out smaller sets")
        return "; ".join(broken) or "to_dict() has the findings"

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        return (
            f"Verification: the promise {verdict} for {self.rows} rows in {self.classes} classes\n"
            f"  the smallest class has {self.smallest_class} rows, {self._document['k']} are required"
        )


def verified(text: str, *, raises: bool) -> Verification:
    """Makes the findings of a verifier. Raises if the promise is broken, unless that is not wanted."""
    findings = Verification(json.loads(text))
    if raises and not findings.holds:
        msg = f"the promise does not hold: {findings.reason}"
        raise VerificationError(msg, verification=findings)
    return findings
