"""Drafts of policies, with the questions that they leave open."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .exceptions import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

__all__ = ["Draft", "Question"]


class Question(NamedTuple):
    """A question that a draft leaves open."""

    path: str
    """Path of the field, such as ``privacy.p`` or ``columns.zip.role``."""
    hint: str
    """What was found, and what to consider."""


# Notebooks align tables of numbers.
_LEFT = "style='text-align: left; vertical-align: top'"

_HEADER = re.compile(r"^\[(?P<table>[^\[\]].*)\]\s*$")
_ENTRY = re.compile(r'^(?P<key>[A-Za-z_]+) = (?P<value>.*)$')


@dataclass(frozen=True)
class Draft:
    """A drafted policy. It can be given wherever a policy is taken, once its questions are answered."""

    text: str = field(repr=False)
    """Text of the policy file, with comments."""
    rows: int
    """Number of rows of the table."""
    columns: int
    """Number of columns of the table."""

    @property
    def questions(self) -> list[Question]:
        """The questions that are left open."""
        asked: list[Question] = []
        for table, key, value, comments in _entries(self.text):
            if value == '"?"':
                asked.append(Question(f"{table}.{key}", " ".join(comments)))
        return asked

    def answer(self, answers: Mapping[str, object] | None = None, /, **roles: str) -> Draft:
        """Returns the draft with questions answered.

        Answers are given by the path of the field, such as ``{"privacy.p": 2}``; for the roles of columns the name of the column
        suffices: ``answer({"privacy.p": 2}, zip="quasi")``.

        >>> import pyarrow
        >>> from throng_privacy import draft
        >>> draft(pyarrow.table({"name": ["Ada", "Bob"], "age": [25, 61]})).answer({"privacy.p": 2}).questions
        []
        """
        paths = {f"columns.{_key(name)}.role": role for name, role in roles.items()}
        wanted = {**paths, **(answers or {})}
        kept, table = list[str](), ""
        for line in self.text.splitlines(keepends=True):
            head, entry = _HEADER.match(line.rstrip()), _ENTRY.match(line.rstrip())
            if head:
                table = _path(head["table"])
            path = f"{table}.{entry['key']}" if entry else ""
            kept.append(f"{path.rpartition('.')[2]} = {json.dumps(wanted.pop(path))}\n" if path in wanted else line)
        if wanted:
            msg = f"the draft has no field {', '.join(sorted(wanted))}"
            raise UsageError(msg)
        return Draft("".join(kept), self.rows, self.columns)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy to a new file."""
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(self.text)

    def to_dict(self) -> dict[str, Any]:
        """Returns text, counts and questions."""
        asked = [question._asdict() for question in self.questions]
        return {"text": self.text, "rows": self.rows, "columns": self.columns, "questions": asked}

    def __repr__(self) -> str:
        return f"Draft of a policy for {self.columns} columns of {self.rows} rows\n  {len(self.questions)} questions are open"

    def _repr_html_(self) -> str:
        asked = "".join(
            f"<tr><th scope='row' {_LEFT}><code>{html.escape(path)}</code></th><td {_LEFT}>{html.escape(hint)}</td></tr>"
            for path, hint in self.questions
        )
        return (
            f"<div class='throng-draft'><p>A draft for {self.columns} columns of {self.rows} rows.</p>"
            f"<table><caption {_LEFT}>Open questions</caption>{asked}</table>"
            f"<details><summary>The policy</summary><pre>{html.escape(self.text)}</pre></details></div>"
        )


def _key(name: str) -> str:
    """Returns a key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _path(table: str) -> str:
    """Returns the name of a table without quotes that it does not need."""
    return re.sub(r'"([A-Za-z0-9_-]+)"', r"\1", table)


def _entries(text: str) -> list[tuple[str, str, str, list[str]]]:
    """Returns table, key, value and comments above each entry of a draft."""
    found: list[tuple[str, str, str, list[str]]] = []
    table, comments = "", list[str]()
    for line in text.splitlines():
        head, entry = _HEADER.match(line), _ENTRY.match(line)
        if line.startswith("#"):
            comments.append(line.lstrip("# "))
            continue
        if head:
            table = _path(head["table"])
            continue
        if entry:
            found.append((table, entry["key"], entry["value"], comments))
        comments = []
    return found
