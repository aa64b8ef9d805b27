"""Which column a name in SQL means: the one that is written so, else the one that is written so but for capitals."""

from __future__ import annotations

from collections.abc import Iterable

from ensue.errors import Problem, ProblemKind, Span, did_you_mean, listed


class ColumnNames:
    """The columns of a table, and what they may be called."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._folded: dict[str, list[str]] = {}
        for name in self.names:
            self._folded.setdefault(name.lower(), []).append(name)

    def find(self, name: str) -> str | None:
        """The column, or None if there is none, or several that differ in capitals alone."""
        if name in self.names:
            return name
        alike = self._folded.get(name.lower(), [])
        return alike[0] if len(alike) == 1 else None

    def problem(self, name: str, span: Span) -> Problem:
        """Why the name means no column."""
        alike = self._folded.get(name.lower(), [])
        if len(alike) > 1:
            return Problem(
                ProblemKind.NAME, f"'{name}' may be {' or '.join(alike)}", span, "write it as the table does"
            )
        known = f"the columns are {listed(self.names)}" if self.names else "there are no columns here"
        hint = did_you_mean(name, self.names) or known
        return Problem(ProblemKind.NAME, f"unknown column '{name}'", span, hint)
