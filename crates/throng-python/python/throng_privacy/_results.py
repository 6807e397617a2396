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

__all__ = ["Check", "Document", "Risk", "Sweep", "Trial", "Verification", "verified", "write_page"]


@dataclass(frozen=True)
class Document:
    """A result that is a document of the command."""

    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the document, with the names that the command has for it."""
        return copy.deepcopy(self._document)


@dataclass(frozen=True)
class _Page(Document):
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
    def rows(self) -> int:
        """Number of rows."""
        return int(self._document["rows"])

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
class Check(Document):
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
    def rows(self) -> int:
        """Number of rows."""
        return int(self._document["rows"])

    @property
    def suppressed_rows(self) -> int:
        """Number of rows that a release would leave out."""
        return int(self._document["suppressed_rows"])

    @property
    def dropped(self) -> list[str]:
        """Columns that a release leaves out."""
        return list(self._document["dropped"])

    def __bool__(self) -> bool:
        return self.feasible

    def __repr__(self) -> str:
        if self.feasible:
            return f"Check: {self.rows} rows can be released, in at most {self._document['max_classes']} classes"
        return "Check: the privacy target can't be met\n  " + "\n  ".join(self.shortfalls)


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
    def reason(self) -> str | None:
        """Why the policy can't be kept."""
        return self._document.get("reason")


@dataclass(frozen=True)
class Sweep(_Page):
    """Risk and loss of several policies on one table."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._document["rows"])

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
        for trial in self.trials:
            found = f"NCP {trial.ncp:.4f}, highest risk {trial.highest_risk:.4f}" if trial.feasible else "can't be kept"
            lines.append(f"  k={trial.k} p={trial.p}: {found}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Verification(Document):
    """What the verifier has counted in the values of a table."""

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return bool(self._document["satisfied"])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._document["rows"])

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self._document["classes"])

    @property
    def smallest_class(self) -> int:
        """Rows of the smallest class."""
        return int(self._document["smallest_class"])

    @property
    def sensitive(self) -> list[dict[str, Any]]:
        """What each sensitive column requires, and what every class has."""
        return copy.deepcopy(self._document["sensitive"])

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
        msg = "the promise does not hold"
        raise VerificationError(msg, verification=findings)
    return findings
