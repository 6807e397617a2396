"""The native part of the package. Not for users."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypedDict, final

VERSION: str

OpenedTable = tuple[NativeTable | None, list[str]]
NamedColumns = tuple[list[str], list[str], int, int]

class CallSettings(TypedDict):
    threads: int | None
    memory_limit: int | None
    on_progress: Callable[[str, int, int | None], object] | None

class Replacements(TypedDict):
    input: list[str] | None
    output: str | None
    is_published: bool
    is_overwritten: bool
    k: int | None
    p: int | None
    budget: str | None
    seed: int | None
    secret: str | None
    without_preset: bool
    algorithm: str | None

@final
class NativeTable:
    @staticmethod
    def held(frame: object, in_order: bool = False, is_mutable: bool = False) -> NativeTable: ...
    @staticmethod
    def streamed(stream: object) -> NativeTable: ...
    @staticmethod
    def foreign(table: object) -> NativeTable: ...
    @property
    def columns(self) -> list[str]: ...

@final
class NativePolicy:
    @staticmethod
    def load(path: str | PathLike[str], replacements: Replacements) -> NativePolicy: ...
    @staticmethod
    def parse(text: str, replacements: Replacements) -> NativePolicy: ...
    @staticmethod
    def from_json(text: str, replacements: Replacements) -> NativePolicy: ...
    @property
    def privacy(self) -> tuple[int, int]: ...
    @property
    def algorithm(self) -> tuple[str, str]: ...
    @property
    def reads(self) -> int: ...

@final
class NativeRelease:
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __datafusion_table_provider__(self, session: object) -> object: ...
    @property
    def columns(self) -> list[tuple[str, str]]: ...
    @property
    def warnings(self) -> list[str]: ...
    def metrics(self) -> str: ...
    def findings(self) -> str: ...
    def report(self) -> str: ...
    def fragment(self) -> str: ...
    def write(
        self, location: str, is_overwritten: bool, has_report: bool | None, settings: CallSettings
    ) -> tuple[str, str]: ...

@final
class SqlFunctions:
    @staticmethod
    def scalar() -> list[Any]: ...
    @staticmethod
    def aggregate() -> list[Any]: ...

def check_datafusion() -> None: ...
def checksum(stream: object) -> str: ...
def shut_down() -> None: ...
def command(args: list[str]) -> int: ...
def anonymize(policy: NativePolicy, table: NativeTable | None, settings: CallSettings) -> NativeRelease: ...
def risk(
    table: NativeTable | None,
    locations: list[str],
    quasi: Sequence[str],
    sensitive: Sequence[str],
    threshold: float,
    fraction: float | None,
    weight: str | None,
    population: OpenedTable | None,
    settings: CallSettings,
) -> tuple[str, str, str]: ...
def run(
    policy: NativePolicy, table: NativeTable | None, rebase: bool, settings: CallSettings
) -> tuple[str, str | None]: ...
def draft(
    table: NativeTable | None, locations: list[str], settings: CallSettings
) -> tuple[str, int, int, int]: ...
def check(policy: NativePolicy, table: NativeTable | None, settings: CallSettings) -> str: ...
def plan(policy: NativePolicy, table: NativeTable | None, settings: CallSettings) -> str: ...
def bound(
    policy: NativePolicy, table: NativeTable | None, seconds: int | None, settings: CallSettings
) -> str: ...
def sweep(
    trials: list[tuple[int, int, str, NativePolicy | None, str]],
    loss: float | None,
    utility: bool,
    table: NativeTable | None,
    settings: CallSettings,
) -> tuple[str, str, str]: ...
def verify(
    table: NativeTable | None,
    locations: list[str],
    policy: NativePolicy | None,
    columns: tuple[list[str], list[str], int, int, str | None] | None,
    against: list[str],
    ledger: bool,
    settings: CallSettings,
) -> str: ...
def attack(
    release: OpenedTable,
    original: OpenedTable,
    policy: NativePolicy,
    previous: list[OpenedTable],
    population: OpenedTable | None,
    targets: int,
    seed: int,
    settings: CallSettings,
) -> str: ...
def utility(
    release: OpenedTable,
    original: OpenedTable,
    policy: NativePolicy | None,
    columns: NamedColumns | None,
    target: str | None,
    queries: int,
    seed: int,
    settings: CallSettings,
) -> str: ...
def diff(
    releases: tuple[OpenedTable, OpenedTable],
    policies: tuple[NativePolicy | None, NativePolicy | None],
    columns: NamedColumns | None,
    original: OpenedTable | None,
    link: str | None,
    targets: int,
    seed: int,
    settings: CallSettings,
) -> str: ...
def make_hierarchy(
    policy: NativePolicy, column: str, table: NativeTable | None, locations: list[str], settings: CallSettings
) -> tuple[str, int, int]: ...
def check_hierarchy(
    policy: NativePolicy, column: str, table: NativeTable | None, locations: list[str], settings: CallSettings
) -> tuple[int, int]: ...
def generate_census(
    folder: str | PathLike[str], rows: int, seed: int, files: int | None, is_overwritten: bool, settings: CallSettings
) -> tuple[int, int, int]: ...
def census(rows: int, seed: int) -> object: ...
