"""Releases: held by this process, and published."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._results import Document, Verification, verified, write_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from . import _native

__all__ = ["Release", "Written"]


@dataclass(frozen=True)
class Written(Document):
    """A published release."""

    metrics: dict[str, Any] = field(repr=False)
    """The sidecar ``_throng/metrics.json`` that is published with the data; empty if nothing was published."""

    @property
    def is_unchanged(self) -> bool:
        """Whether all files of the input had been released before, so that nothing was appended."""
        return bool(self._document.get("unchanged", False))

    @property
    def run_id(self) -> str:
        """Identifier of the run."""
        return str(self._document["run_id"])

    @property
    def warnings(self) -> list[str]:
        """Reasons why the release may protect less than it seems to."""
        return list(self._document.get("warnings", []))

    @property
    def location(self) -> str:
        """Where it is."""
        return str(self._document["output"])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._document.get("rows", 0))

    @property
    def files(self) -> int:
        """Number of data files."""
        return int(self._document.get("files", 0))

    def __repr__(self) -> str:
        if self.is_unchanged:
            return f"Written: nothing, since {self.location} has all files of the input"
        return f"Written: {self.rows} rows in {self.files} files at {self.location}"


class Release:
    """A verified release of a table.

    It is an Arrow stream: hand it to ``polars.DataFrame``, ``pandas.DataFrame.from_arrow``, ``pyarrow.table``, ``duckdb.sql`` or
    ``deltalake.write_deltalake``. Rows are in the canonical order of the release, without identifiers, and can't be joined with those
    of the input. Every use of the stream starts at the first row.

    It is also a table of DataFusion: ``ctx.register_table("released", release)``.

    The rows are held in memory or in temporary files until the release is dropped.
    """

    __slots__ = ("_metrics", "_native", "_settings")

    def __init__(self, native: _native.NativeRelease, settings: Callable[..., AbstractContextManager[_native.CallSettings]]) -> None:
        self._native = native
        self._settings = settings
        self._metrics: dict[str, Any] = json.loads(native.metrics())

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __datafusion_table_provider__(self, session: object) -> object:
        return self._native.__datafusion_table_provider__(session)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [name for name, _ in self._native.columns]

    @property
    def metrics(self) -> dict[str, Any]:
        """The sidecar: required and achieved privacy, loss, and how the release was made. It may be published."""
        return copy.deepcopy(self._metrics)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._metrics["output"]["rows"])

    @property
    def suppressed_rows(self) -> int:
        """Number of rows of the input that are left out."""
        return int(self._metrics["output"]["suppressed_rows"])

    @property
    def classes(self) -> int:
        """Number of classes: rows that look alike."""
        return int(self._metrics["utility"]["classes"])

    @property
    def ncp(self) -> float:
        """Mean normalized certainty penalty: 0 loses nothing, 1 everything."""
        return float(self._metrics["utility"]["ncp"])

    @property
    def warnings(self) -> list[str]:
        """Reasons why the release may protect less than it seems to."""
        return self._native.warnings

    def __len__(self) -> int:
        return self.rows

    def to_dict(self) -> dict[str, Any]:
        """Returns the metrics."""
        return self.metrics

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the report as HTML, and writes it to a file if one is given."""
        return write_page(self._native.report(), path)

    def verify(self) -> Verification:
        """Returns what the verifier has counted in the released values."""
        return verified(self._native.findings(), raises=True)

    def write(
        self,
        location: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        report: bool | None = None,
        threads: int | None = None,
        on_progress: Callable[[str, int, int | None], object] | bool | None = None,
    ) -> Written:
        """Publishes the release as Parquet files, as ``throng run`` does.

        The files are staged, read back and verified, and appear at the location all at once. A location that holds files is an error,
        unless ``overwrite`` allows to replace a release. ``report`` publishes a report with it.
        """
        with self._settings(threads=threads, on_progress=on_progress) as settings:
            outcome, metrics = self._native.write(os.fspath(location), overwrite, report, settings)
        return Written(json.loads(outcome), json.loads(metrics))

    def __repr__(self) -> str:
        kept = ", ".join(
            f"{found['model']}{' of ' + found['column'] if found.get('column') else ''} {found['achieved']}"
            for found in self._metrics["privacy"]["requirements"]
        )
        return (
            f"Release: {self.rows} rows in {self.classes} classes, {self.suppressed_rows} suppressed\n"
            f"  NCP {self.ncp:.4f}; {kept}\n"
            "  rows: polars.DataFrame(release), pandas.DataFrame.from_arrow(release), pyarrow.table(release)"
        )

    def _repr_html_(self) -> str:
        return self._native.fragment()
