"""A query on its way to an automaton: what is left of its pattern, and what rules have taken out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.window import Window, peel_windows

#: What relates events and is judged on whole matches.
Conditions = tuple[ast.Expression, ...]


@dataclass(frozen=True)
class QueryParts:
    """What every rule takes and gives. All parts together mean what the query means that was checked."""

    checked: Checked  # its pattern is what is left, and its partition has the keys that equalities tie
    counts_all: bool = False  # whether a window in events counts those of all keys: where the keys are not the user's
    closing: ast.Until | None = None  # what makes windows known, as it stood in each pair of the clause WINDOW
    absence: ast.NotAfter | None = None  # what must not follow a match, as it stood in the pattern
    before: ast.NotBefore | None = None  # what must not come before a match
    related: Conditions = ()
    marked: frozenset[str] = frozenset()  # variables for what must not occur: once matches are judged, they lose them
    selector: ast.Selector | None = None  # it stood around the whole pattern: it chooses before conditions are judged
    windows: tuple[ast.EventCount | ast.Interval, ...] = ()  # the upper bounds of the whole, from the outermost inwards

    @property
    def query(self) -> ast.Query:
        return self.checked.query

    @property
    def pattern(self) -> ast.Pattern:
        return self.checked.query.pattern

    def with_pattern(self, pattern: ast.Pattern) -> QueryParts:
        """The same with another pattern."""
        return replace(self, checked=replace(self.checked, query=replace(self.query, pattern=pattern)))

    @property
    def formula(self) -> ast.Pattern:
        """The pattern as it is printed: with its windows, and in the selector that stood around it."""
        made = self._in_windows
        return made if self.selector is None else ast.Select(self.selector, made, span=made.span)

    @property
    def _in_windows(self) -> ast.Pattern:
        made = self.pattern
        for window in reversed(self.windows):
            made = ast.Within(made, window, span=made.span)
        return made

    @property
    def window(self) -> Window:
        """All windows as one."""
        return peel_windows(self._in_windows)[1]
