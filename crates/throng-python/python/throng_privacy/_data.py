"""Tables that users hand over."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, Union, runtime_checkable

from . import _native
from ._kinds import is_list, is_location
from .exceptions import DataError, UsageError


@runtime_checkable
class ArrowStream(Protocol):
    """Anything with an Arrow stream: frames of pandas, polars, pyarrow, DuckDB, DataFusion and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class TableProvider(Protocol):
    """Anything that is a table of DataFusion, such as a ``DeltaTable``."""

    def __datafusion_table_provider__(self, session: Any) -> object: ...


Location: TypeAlias = Union[str, "os.PathLike[str]"]
"""A file, a folder, a glob, or a URL that begins with ``s3://``, ``gs://``, ``az://`` or ``https://``."""

Data: TypeAlias = Union[ArrowStream, TableProvider, Location, "list[str]", Any]
"""A table: an Arrow stream, a location or several, a ``polars.LazyFrame``, a ``pyarrow.dataset.Dataset``, or a table of DataFusion."""


class Opened(NamedTuple):
    """A table, or else its locations."""

    table: _native.NativeTable | None
    locations: list[str]


def locations_of(data: object) -> list[str]:
    """Returns the locations of a table, or a name for one that has none."""
    return _locations(data) or ["table"]


def given_locations(data: object) -> list[str] | None:
    """Returns the locations of a table, if there is one."""
    return None if data is None else locations_of(data)


def given_table(data: object, *, reads: int = 1) -> _native.NativeTable | None:
    """Opens a table that is read ``reads`` times, if there is one and it is not read from its locations."""
    return None if data is None else open_data(data, reads=reads).table


def _locations(data: object) -> list[str]:
    """Returns a location, or a list of nothing else; no location for any other object."""
    listed: Sequence[object] = data if is_list(data) else [data]
    places = [os.fspath(one) for one in listed if is_location(one)]
    return places if len(places) == len(listed) else []


def open_data(data: object, *, reads: int = 1, in_order: bool = False) -> Opened:
    """Opens a table that is read ``reads`` times. With ``in_order``, the rows of a frame are read one after the other."""
    if places := _locations(data):
        return Opened(None, places)
    return Opened(_table(data, reads, in_order), ["table"])


def _table(data: object, reads: int, in_order: bool) -> _native.NativeTable:
    name = type(data).__name__
    if name == "Series":
        msg = "a series is no table; give a frame, such as series.to_frame()"
        raise UsageError(msg)
    if _is_of(data, "pandas", "DataFrame"):
        return _of_pandas(data, in_order)
    data = _prepared(data, reads, in_order)
    if isinstance(data, ArrowStream):
        if _is_of(data, "polars", "DataFrame"):
            return _of_polars(data, in_order)
        is_held = any(_is_of(data, library, kind) for library, kind in _HELD) or reads > 1
        return _native.NativeTable.held(data, in_order) if is_held else _native.NativeTable.streamed(data)
    if isinstance(data, TableProvider):
        return _native.NativeTable.foreign(data)
    if hasattr(data, "__arrow_c_array__"):
        msg = "an Arrow array is no table; give a frame or a record batch"
        raise UsageError(msg)
    msg = (
        f"an object of type {type(data).__module__}.{name} is no table that can be read; give an object with an Arrow stream (a frame of pandas 3, polars, pyarrow, "
        "DuckDB or DataFusion), a location, or a table of DataFusion"
    )
    raise UsageError(msg)


def _prepared(data: Any, reads: int, in_order: bool) -> Any:
    """Returns an object with a stream for a frame, a scanner or a data set that has none, or not one that can be taken."""
    library, name = _origin(data)
    try:
        if _is_of(data, "polars", "DataFrame", "LazyFrame"):
            data = _without_null_type(data)
        if _is_of(data, "polars", "LazyFrame"):
            # The stream of a lazy frame can be read once. Rows of the last batch may be few, so order does not matter.
            return data.collect_batches(maintain_order=in_order) if reads == 1 else data.collect()
        if library == "pyarrow" and hasattr(data, "scanner"):
            return data.scanner().to_reader()
        if library == "pyarrow" and hasattr(data, "to_reader") and not hasattr(data, "__arrow_c_stream__"):
            return data.to_reader()
    except BaseException as error:
        # Its message may quote a value. A panic of polars is no `Exception`.
        kind = type(error).__name__
        if isinstance(error, MemoryError) or (not isinstance(error, Exception) and kind != "PanicException"):
            raise
        msg = f"the {name} of {library} can't be read ({kind}); {_COLLECT.get(library, 'reading it')} without Throng may explain why"
        raise DataError(msg) from None
    return data


_COLLECT = {"polars": "frame.collect()", "pyarrow": "data.to_table()"}


def _of_pandas(frame: Any, in_order: bool) -> _native.NativeTable:
    """Takes a frame of pandas. An index without a name only numbers the rows, and is left out; one with a name is a column."""
    if not hasattr(frame, "__arrow_c_stream__"):
        msg = "this version of pandas has no Arrow streams; use pandas 3, or pyarrow.Table.from_pandas(frame)"
        raise UsageError(msg)
    unnamed = [level for level, name in enumerate(frame.index.names) if name is None]
    if unnamed:
        frame = frame.reset_index(level=unnamed, drop=True)
    names = [str(name) for name in frame.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"the frame has more than one column {_quoted(twice)}; rename all but one"
        raise DataError(msg)
    levels = {str(name) for name in frame.index.names if name is not None}
    if twice := sorted(levels.intersection(names)):
        msg = f"the frame has a column and an index named {_quoted(twice)}; rename one of them, or leave the index out: frame.reset_index(drop=True)"
        raise DataError(msg)
    try:
        return _native.NativeTable.held(frame, in_order, is_mutable=True)
    except DataError:
        if not _has_arrow(frame):
            msg = (
                "pandas exchanges Arrow data through the package pyarrow, which is missing or too old: install pyarrow, or give a "
                "frame of another library, or a file"
            )
            raise UsageError(msg) from None
        mixed = [str(name) for name in frame.columns if not _is_convertible(frame[[name]])]
        if not mixed:
            raise
        remedy = f"give it one, as by frame[{mixed[0]!r}].astype(str), or leave it out: frame.drop(columns={mixed!r})"
        raise _without_type(mixed, remedy) from None


def _has_arrow(frame: Any) -> bool:
    """Whether pandas can make a stream at all."""
    try:
        frame.iloc[:0, :0].__arrow_c_stream__()
    except ImportError:
        return False
    except Exception:  # its message may quote a value
        return True
    return True


def _of_polars(frame: Any, in_order: bool) -> _native.NativeTable:
    """Takes a frame of polars, which has types that Arrow does not have."""
    try:
        return _native.NativeTable.held(frame, in_order)
    except DataError:
        foreign = [name for name in frame.columns if not _is_convertible(frame.select(name).clear())]
        if not foreign:
            raise
        remedy = f"cast it, as by frame.cast({{{foreign[0]!r}: pl.Int64}}), or leave it out: frame.drop({foreign!r})"
        raise _without_type(foreign, remedy) from None


def _without_type(columns: list[str], remedy: str) -> DataError:
    msg = f"{_quoted(columns)}: no type of Arrow has all values of the column; {remedy}"
    return DataError(msg, column=columns[0] if len(columns) == 1 else None)


def _is_convertible(frame: Any) -> bool:
    try:
        _native.NativeTable.held(frame)
    except Exception:  # its message may quote a value
        return False
    return True


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _without_null_type(frame: Any) -> Any:
    """Makes columns of polars that have no type booleans, all of them null: their layout in a stream is not that of the Arrow format,
    and no reader of it takes them."""
    polars = sys.modules["polars"]
    return frame.with_columns(polars.selectors.by_dtype(polars.Null).cast(polars.Boolean))


# Other frames whose rows are in memory already, so that taking them all costs nothing.
_HELD = {
    ("pyarrow", "RecordBatch"),
    ("pyarrow", "Table"),
    ("arro3.core", "RecordBatch"),
    ("arro3.core", "Table"),
}


def _is_of(data: object, library: str, *names: str) -> bool:
    """Whether an object is of one of these classes of a library, or of a subclass. A library that is not loaded has made no object."""
    module = sys.modules.get(library)
    kinds = (getattr(module, name, None) for name in names)
    return any(isinstance(data, kind) for kind in kinds if isinstance(kind, type))


def _origin(data: object) -> tuple[str, str]:
    """Returns the library and the name of the class of an object."""
    kind = type(data)
    return kind.__module__.split(".")[0], kind.__name__
