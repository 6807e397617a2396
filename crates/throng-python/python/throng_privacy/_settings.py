"""How a call is executed: threads, memory, progress."""

from __future__ import annotations

import operator
import re
import sys
import time
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from .exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from . import _native


# What fits into 64 bits.
_MOST = 2**64 - 1

# A bar is drawn for work that takes longer than this, in seconds.
_DELAY = 0.5

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}


def memory_bytes(limit: int | str | None) -> int | None:
    """Returns a memory limit in bytes.

    >>> memory_bytes("2GiB")
    2147483648
    """
    if limit is None:
        return None
    if not isinstance(limit, str):
        check_number("memory_limit", limit)
        return operator.index(limit)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", limit.lower())
    if not found:
        msg = f"{limit!r} is no amount of memory; write it like '2GiB' or '500MB'"
        raise UsageError(msg)
    amount = int(Fraction(found[1]) * _UNITS[found[2] or ""])
    check_number("memory_limit", amount)
    return amount


def check_number(name: str, number: object, least: int = 0) -> None:
    """Raises an exception for an argument that is no whole number.

    >>> check_number("k", 2.5)
    Traceback (most recent call last):
    ...
    throng_privacy.exceptions.UsageError: k is a float, and must be a whole number
    """
    if number is None:
        return
    try:
        if isinstance(number, bool):
            raise TypeError
        whole = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        msg = f"{name} is a {type(number).__name__}, and must be a whole number"
        raise UsageError(msg) from None
    if whole < least:
        msg = f"{name} = {whole} is too small; it must be at least {least}"
        raise UsageError(msg)
    if whole > _MOST:
        msg = f"{name} = {whole} is too large; it must be at most {_MOST}"
        raise UsageError(msg)


def check_real(name: str, number: object) -> None:
    """Raises an exception for an argument that is no number."""
    try:
        if isinstance(number, (bool, str, bytes)):
            raise TypeError
        if number is not None:
            float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        msg = f"{name} is a {type(number).__name__}, and must be a number"
        raise UsageError(msg) from None


def check_share(name: str, number: float | None) -> None:
    """Raises an exception for an argument that is no number between 0 and 1.

    >>> check_share("threshold", 7.0)
    Traceback (most recent call last):
    ...
    throng_privacy.exceptions.UsageError: threshold = 7.0 is out of range; it must be between 0 and 1
    """
    check_real(name, number)
    if number is not None and not 0 <= number <= 1:
        msg = f"{name} = {number} is out of range; it must be between 0 and 1"
        raise UsageError(msg)


@contextmanager
def call_settings(
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    on_progress: Callable[[str, int, int | None], object] | bool | None = None,
) -> Generator[_native.CallSettings]:
    """Returns the settings of a call. Ends the bar after it."""
    check_number("threads", threads, 1)
    if on_progress is not None and not isinstance(on_progress, bool) and not callable(on_progress):
        msg = f"on_progress is a {type(on_progress).__name__}, and must be a function, or True or False for a bar"
        raise UsageError(msg)
    bar = None
    if on_progress is True or (on_progress is None and is_interactive(sys.stderr)):
        bar = NotebookBar() if is_notebook(sys.stderr) else Bar(sys.stderr)
    callback = bar if bar is not None else (on_progress if callable(on_progress) else None)
    try:
        yield {"threads": threads, "memory_limit": memory_bytes(memory_limit), "on_progress": callback}
    finally:
        if bar is not None:
            bar.close()


def is_interactive(stream: TextIO) -> bool:
    """Whether a stream is looked at: a terminal, or a notebook."""
    try:
        if stream.isatty():
            return True
    except (AttributeError, ValueError):
        return False
    return is_notebook(stream)


def is_notebook(stream: TextIO) -> bool:
    """Whether a stream is shown below the cell of a notebook."""
    return type(stream).__module__.startswith("ipykernel")


class Bar:
    """A plain progress bar in one line, which is removed at the end."""

    _CELLS = 30

    def __init__(self, stream: TextIO, delay: float = _DELAY) -> None:
        self._stream = stream
        self._start = time.monotonic() + delay
        self._width = 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if time.monotonic() >= self._start:
            self._write(self._line(stage, done, total))

    def close(self) -> None:
        """Removes the bar."""
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _line(self, stage: str, done: int, total: int | None) -> str:
        if not total:
            return f"{stage:>10} {done:,}"
        filled = min(self._CELLS, self._CELLS * done // total)
        return f"{stage:>10} [{'=' * filled}{' ' * (self._CELLS - filled)}] {done:,}/{total:,}"

    def _write(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)


class NotebookBar(Bar):
    """The bar in a notebook: one output, which is empty at the end. Text that is written over itself would be saved line by line."""

    def __init__(self, delay: float = _DELAY) -> None:
        super().__init__(sys.stderr, delay)
        self._shown: Any = None

    def close(self) -> None:
        """Removes the bar."""
        if self._shown is not None:
            self._show("")

    def _write(self, line: str) -> None:
        self._show(line)

    def _show(self, line: str) -> None:
        content = {"text/plain": line}
        if self._shown is None:
            # A notebook has loaded it.
            self._shown = import_module("IPython.display").display(content, raw=True, display_id=True)
        else:
            self._shown.update(content, raw=True)
