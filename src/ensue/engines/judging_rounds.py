"""Conditions on the rounds of an iteration, judged over columns of complete matches: one row a round.

The events that a variable marks in a match are in its rounds one after the other, so those of a round have one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.evaluation import holds
from ensue.columns.match_aggregates import ValuesAt, aggregated
from ensue.data.complex_events import ComplexEvents, Marks, Positions
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.scope import names_in, running_of

#: So many rounds, or events of the rounds so far, are judged at a time.
_TOGETHER = 1 << 18


def holds_in_rounds(found: ComplexEvents, asked: ast.EachRound, values_at: ValuesAt) -> npt.NDArray[np.bool_]:
    """For each match, whether the condition is TRUE in all of its rounds; the first has no round before it."""
    rounds = _Rounds(found, asked, values_at)
    kept = np.ones(len(found), dtype=np.bool_)
    for rows in rounds.portions():
        kept[rounds.match[rows[~rounds.hold(rows)]]] = False
    return kept


@dataclass
class _Rounds:
    """The rounds of all matches as rows: those of a match follow each other."""

    found: ComplexEvents
    asked: ast.EachRound
    values_at: ValuesAt

    def __post_init__(self) -> None:
        self._marks = {x: self.found.marks(x) for x in sorted(names_in(self.asked))}
        self._first = self._marks[self.asked.variables[0]].offsets
        self.match = _matches(self._first)
        self._before = np.arange(len(self.match)) - self._first[self.match]  # how many rounds come before in the match
        self._round = np.arange(len(self.match))
        if self.asked.set_:
            self._one_for_each()

    def _one_for_each(self) -> None:
        """Makes a row of each event of a set, with the round that it is in."""
        own, behind = self._marks[self.asked.set_], self._marks[self.asked.behind]
        match = _matches(own.offsets)
        size = int(max(behind.positions.max(initial=0), own.positions.max(initial=0))) + 1
        self._round = np.searchsorted(self.match * size + behind.positions, match * size + own.positions)
        self.match, self._before = match, self._before[self._round]

    def portions(self) -> Iterator[Positions]:
        """The rows that are asked, some of them at a time."""
        condition = self.asked.condition
        rows = np.flatnonzero(self._before) if any(ast.find(condition, ast.LastOf)) else np.arange(len(self.match))
        sizes = self._before[rows] + 1 if running_of(condition) else np.ones(len(rows), dtype=np.int64)
        portion = np.cumsum(sizes) // _TOGETHER
        yield from np.split(rows, np.flatnonzero(np.diff(portion)) + 1)

    def hold(self, rows: Positions) -> npt.NDArray[np.bool_]:
        columns: dict[str, pa.Array] = {}

        def named(e: ast.Expression) -> ast.Expression | None:
            text = print_expression(e)
            match e:
                case ast.Running():
                    columns[text] = aggregated(e.aggregate, lambda x: self._so_far(x, rows), self.values_at)
                case ast.LastOf():
                    columns[text] = self.values_at(e.name, self._marks[e.variable].positions[rows - 1])
                case ast.Attribute():
                    columns[text] = self.values_at(e.name, self._events(e.variable, rows))
                case _:
                    return None
            return ast.Name(text)

        return holds(ast.replaced(self.asked.condition, named), columns, len(rows))

    def _events(self, x: str, rows: Positions) -> Positions:
        """The event of each row that the variable marks: in its round, or around all rounds."""
        marks = self._marks[x]
        if x == self.asked.set_:
            return marks.positions[rows]
        return marks.positions[self._round[rows] if x in self.asked.variables else marks.offsets[self.match[rows]]]

    def _so_far(self, x: str, rows: Positions) -> Marks:
        """The events of the variable in the rounds up to each row."""
        if x not in self.asked.variables:
            return Marks(np.arange(len(rows) + 1), self._events(x, rows))
        sizes = self._before[rows] + 1
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(rows + 1 - offsets[1:], sizes) + np.arange(offsets[-1])
        return Marks(offsets, self._marks[x].positions[places])


def _matches(offsets: Positions) -> Positions:
    """The match of each event of a variable."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
