"""Errors and how they are shown: spans, problems, the caret renderer, the exception hierarchy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in a query's text."""

    start: int
    end: int

    def join(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


class ProblemKind(StrEnum):
    SYNTAX = "syntax"
    NAME = "unknown name"
    SCOPE = "not well-formed"
    TYPE = "type"
    UNSUPPORTED = "unsupported"
    SIZE = "too large"
    NEVER = "never matches"  # told, and not refused: a query that was generated may well be so


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a query, where, and what to do about it."""

    kind: ProblemKind
    message: str
    span: Span
    hint: str | None = None

    def render(self, text: str, label: str = "error") -> str:
        """The problem with its place in `text`, as people read it.

        >>> print(Problem(ProblemKind.NAME, "unknown variable 'z'", Span(7, 8)).render("SELECT z FROM S"))
        error: unknown variable 'z'
          line 1, column 8
            SELECT z FROM S
                   ^
        """
        line_start = text.rfind("\n", 0, self.span.start) + 1
        line_end = text.find("\n", self.span.start)
        line = text[line_start : len(text) if line_end < 0 else line_end].rstrip("\r")
        # Each unprintable character (a NUL, an escape) is shown as one mark, so that the caret stays in place.
        line = "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in line)
        number = text.count("\n", 0, self.span.start) + 1
        column = self.span.start - line_start + 1
        # The padding repeats the line's tabs, so that the caret lines up in every terminal.
        pad = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
        width = max(1, min(self.span.end, line_start + len(line)) - self.span.start)
        shown, pad, width = _clip(line, pad, width)
        lines = [
            f"{label}: {self.message}",
            f"  line {number}, column {column}",
            f"    {shown}".rstrip(),
            f"    {pad}{'^' * width}",
        ]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


_WIDEST = 160


def _clip(line: str, pad: str, width: int) -> tuple[str, str, int]:
    """Cuts a very long line to the part around the caret."""
    if len(line) <= _WIDEST:
        return line, pad, width
    at = len(pad)
    start = max(0, at - _WIDEST // 2)
    lead = "..." if start else ""
    shown = lead + line[start : start + _WIDEST]
    return shown, " " * len(lead) + pad[start:], min(width, _WIDEST - (at - start))


class EnsueError(Exception):
    """The base of every error that Ensue raises on purpose."""


class QueryError(EnsueError):
    """A query is wrong. Holds every problem found, each with its place in the text. Can be pickled."""

    def __init__(self, text: str, problems: Sequence[Problem]) -> None:
        self.text = text
        self.problems = tuple(sorted(problems, key=lambda p: (p.span.start, p.span.end)))
        super().__init__("\n".join(p.render(text) for p in self.problems))

    def __reduce__(self) -> tuple[type[QueryError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.text, self.problems)


class DataError(EnsueError):
    """The events cannot be read as a stream: a column is missing, has the wrong type, or a time is NULL."""


class EngineError(EnsueError):
    """The engine cannot continue: a limit is reached, a saved state has another version, an engine is unknown."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the closest known names, or None if no known name is close.

    >>> did_you_mean("temprature", ["temperature", "id"])
    "did you mean 'temperature'?"
    """
    names = list(dict.fromkeys(known))
    folded = {n.lower(): n for n in names}
    close = difflib.get_close_matches(name.lower(), list(folded), n=2, cutoff=0.6)
    if not close:
        return None
    return "did you mean " + " or ".join(f"'{folded[c]}'" for c in close) + "?"


def listed(names: Iterable[str], most: int = 8) -> str:
    """The names as a readable list, which is cut after the first `most`."""
    names = list(names)
    text = ", ".join(names[:most])
    return f"{text} and {len(names) - most} more" if len(names) > most else text


def counted(count: int, what: str) -> str:
    """The count with its noun, in the singular or plural: `1 state`, `2 states`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
