"""p-sensitive k-anonymity for tables of people.

A table and a policy go in. A release comes out: every row shares its quasi-identifiers with at least ``k - 1`` others, and every such
class has at least ``p`` different values of each sensitive column. All rows of a release are verified before the first is given.

    import polars as pl
    import throng_privacy as throng

    people = pl.read_parquet("people.parquet")
    release = throng.anonymize(people, k=10, p=3, quasi=["age", "zip"], sensitive=["diagnosis"], identifiers=["name"])
    released = pl.DataFrame(release)

Rows come back in the canonical order of the release, without identifiers, and can't be joined with those of the input.
"""

from __future__ import annotations

import atexit as _atexit
import logging as _logging

from . import _native, hierarchy
from ._api import (
    Census,
    anonymize,
    bound,
    check,
    check_hierarchy,
    draft,
    generate_census,
    make_hierarchy,
    plan,
    risk,
    run,
    sweep,
    verify,
)
from ._data import Data
from ._draft import Draft, Question
from ._lab import Attack, AttackOutcome, Diff, Utility, attack, diff, utility
from ._native import VERSION as __version__
from ._policy import Columns, Policy, policy
from ._release import Release, Written
from ._results import Bound, Check, Plan, Risk, Sweep, Trial, Verification
from .exceptions import (
    DataError,
    InternalError,
    NotFound,
    PolicyError,
    PrivacyError,
    Problem,
    TemporaryError,
    ThrongError,
    UsageError,
    VerificationError,
)
from .sql import register, table

# Temporary files of a call that was interrupted are removed before the process ends.
_atexit.register(_native.shut_down)
# A program that does not configure logging sees no messages of this package.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())

__all__ = [
    "Attack",
    "AttackOutcome",
    "Bound",
    "Census",
    "Check",
    "Columns",
    "Data",
    "DataError",
    "Diff",
    "Draft",
    "InternalError",
    "NotFound",
    "Plan",
    "Policy",
    "PolicyError",
    "PrivacyError",
    "Problem",
    "Question",
    "Release",
    "Risk",
    "Sweep",
    "TemporaryError",
    "ThrongError",
    "Trial",
    "UsageError",
    "Utility",
    "Verification",
    "VerificationError",
    "Written",
    "__version__",
    "anonymize",
    "attack",
    "bound",
    "check",
    "check_hierarchy",
    "diff",
    "draft",
    "generate_census",
    "hierarchy",
    "make_hierarchy",
    "plan",
    "policy",
    "register",
    "risk",
    "run",
    "sweep",
    "table",
    "utility",
    "verify",
]
