"""Exceptions, one for each exit code of the command ``throng``.

No message quotes a value of the data.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._results import Verification

__all__ = [
    "DataError",
    "InternalError",
    "NotFound",
    "PolicyError",
    "PrivacyError",
    "Problem",
    "TemporaryError",
    "ThrongError",
    "UsageError",
    "VerificationError",
]


class Problem(NamedTuple):
    """One problem of a policy."""

    path: str
    """Path of the field, such as ``columns.age.weight``, or the argument that has set it. Empty for the whole policy."""
    message: str
    """What was found, what is expected, and a remedy."""
    line: int | None = None
    """Line in the text of the policy, counted from one. ``None`` for a dict or an argument."""
    column: int | None = None
    """Column in the text of the policy, counted from one."""


class ThrongError(Exception):
    """Base of all exceptions of this package."""

    exit_code: ClassVar[int] = 70
    """Exit code with which the command ends for the same reason."""

    column: str | None
    """Column of the table that the error is about, if there is exactly one."""

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class UsageError(ThrongError, ValueError):
    """The call is wrong: an argument is missing, or names a column that the table does not have."""

    exit_code = 2


class PrivacyError(ThrongError):
    """No release of this table can keep the promise of the policy. Nothing was released."""

    exit_code = 3


class VerificationError(ThrongError):
    """A table does not keep the promise of a policy."""

    exit_code = 4

    verification: Verification | None
    """The findings, for a table that could be read."""

    def __init__(
        self, message: str, *, column: str | None = None, verification: Verification | None = None
    ) -> None:
        super().__init__(message, column=column)
        self.verification = verification


class DataError(ThrongError, ValueError):
    """The data are damaged, or a value does not fit the policy."""

    exit_code = 65


class NotFound(ThrongError, FileNotFoundError):  # noqa: N818 - named for what it is
    """There is no input at the location. ``errno`` is ``ENOENT``; the message names the location."""

    exit_code = 66

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message, column=column)
        self.errno: int | None = errno.ENOENT


class InternalError(ThrongError):
    """A bug of Throng. Please report it."""

    exit_code = 70


class TemporaryError(ThrongError, OSError):
    """Storage or network failed. Another attempt may succeed."""

    exit_code = 75


class PolicyError(ThrongError):
    """The policy is invalid, or does not fit the table or the output location."""

    exit_code = 78

    problems: list[Problem]
    """All problems, in the order of the policy. Empty if the error is not about a field."""

    def __init__(
        self, message: str, *, column: str | None = None, problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(message, column=column)
        self.problems = list(problems)
