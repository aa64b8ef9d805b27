"""The search for matches whose conditions speak of the match: the choices in order, and back where they lead nowhere.

Three things keep it from trying what cannot work. The sets of points from behind (`match_finding.py`) rule out what
fails by the conditions on single rows alone. A failure is remembered by the point, the row and the registers that are
read from there on, so that nothing is tried twice. And a budget of steps bounds what is left: past it comes an error,
never a wrong match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ensue.errors import EngineError
from ensue.row_patterns.match_terms import CheckedClause, Formula
from ensue.row_patterns.ordered_rows import OrderedRows
from ensue.row_patterns.pattern_program import ACCEPT, AT_START, BEHIND_STEP, ELSEWHERE, Program
from ensue.row_patterns.search_registers import Chains, Layout
from ensue.row_patterns.search_values import SearchValues
from ensue.row_patterns.time_of_rows import nanoseconds

#: The most failures, and links of chains, that are remembered; more are forgotten, which costs time alone.
_MOST_REMEMBERED = 1 << 20
#: The class of each row, what holds for each class, the set of each row, the points of each set.
Given = tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Reach:
    """A partition: its last row comes before `end`; from `edge` on, not all is known that conditions ask.

    With `open_end` more rows will come, and none with a time up to `passed`, in nanoseconds.
    """

    edge: int
    end: int
    is_first: npt.NDArray[np.bool_]  # of all rows
    open_end: bool = False
    passed: int | None = None


class Undecided:
    """Whether there is a match, and which, depends on rows that will come."""


class _Place:
    """Where a way through the pattern stands: a point before a row, the registers, and the next choice to try."""

    __slots__ = ("choices", "key", "next", "point", "registers", "row")

    def __init__(self, point: int, row: int, registers: tuple[Any, ...], key: Any, choices: list[int]) -> None:
        self.point, self.row, self.registers = point, row, registers
        self.key, self.choices = key, choices
        self.next = 0


class OrderedSearch:
    """Finds the match that begins at a row. Starts come in ascending order."""

    def __init__(
        self,
        clause: CheckedClause,
        program: Program,
        conditions: Mapping[str, tuple[Formula, ...]],
        rows: OrderedRows,
        given: Given,
        budget: int,
    ) -> None:
        self._program = program
        self._conditions = [conditions.get(v, ()) for v in program.variables]
        self._classes, self._holds, self._live, self._in_set = given
        self._budget = budget
        self._layout = Layout(program, conditions, clause.within is not None)
        self._values = SearchValues(self._layout.registers, program.variables, rows)
        self._within = clause.within
        self._times = nanoseconds(rows.column(clause.order[0].column)) if clause.within is not None else None
        self._next = [program.next_of(p).tolist() for p in range(program.points)]
        self._variable = program.variable.tolist()
        self._failed: set[Any] = set()
        self._chains = Chains()
        self._steps = 0

    def match_at(self, start: int, partition: Reach, number: int) -> list[int] | Undecided | None:
        """The steps of the preferred match that begins at the row."""
        point, end = AT_START if partition.is_first[start] else ELSEWHERE, partition.edge
        if not self._in_set[self._live[start], point]:
            return None
        if len(self._failed) > _MOST_REMEMBERED or len(self._chains) > _MOST_REMEMBERED:
            self._failed.clear()
            self._chains.clear()
        self._steps = 0
        first = self._place(point, start, self._layout.empty(), start, number)
        places, steps = [first], list[int]()
        while places:
            place = places[-1]
            if place.row == end:
                # Where no row follows, the sets say that the match may end here.
                if not partition.open_end or place.choices[0] == ACCEPT:
                    return steps
                if not self._is_over(start, partition):
                    return Undecided()
                if ACCEPT in place.choices:
                    return steps
                taken = None
            else:
                taken = self._next_choice(place, start, partition, number)
            if taken is None:
                self._failed.add(place.key)
                places.pop()
                if steps:
                    steps.pop()
            elif taken[0] == ACCEPT:
                return steps
            else:
                steps.append(taken[0])
                assert taken[1] is not None
                places.append(taken[1])
        return None

    def _place(self, point: int, row: int, registers: tuple[Any, ...], start: int, number: int) -> _Place:
        layout = self._layout
        alive = tuple(_identity(registers[i]) for i in layout.keys[point])
        key = (
            point,
            row,
            alive,
            start if layout.depends_on_start[point] else -1,
            number if layout.depends_on_number else -1,
        )
        return _Place(point, row, registers, key, self._next[point])

    def _next_choice(
        self, place: _Place, start: int, partition: Reach, number: int
    ) -> tuple[int, _Place | None] | None:
        """The next step that holds, with the place behind it; or ACCEPT; None if there is no further choice."""
        row, end = place.row, partition.edge
        kind = self._classes[row]
        after = 0 if row + 1 == end else self._live[row + 1]
        while place.next < len(place.choices):
            step = place.choices[place.next]
            place.next += 1
            if step < 0:
                return (ACCEPT, None) if step == ACCEPT else None
            variable = self._variable[step]
            if not self._holds[kind, variable] or not self._in_set[after, step + BEHIND_STEP]:
                continue
            if self._times is not None and not self._is_within(start, row):
                continue
            registers = self._layout.taken(place.registers, row, variable, self._chains)
            found = self._place(step + BEHIND_STEP, row + 1, registers, start, number)
            if found.key in self._failed:
                continue
            self._count(variable, start)
            if all(self._values.is_true(part, registers, number, partition.end) for part in self._conditions[variable]):
                return step, found
        return None

    def _count(self, variable: int, start: int) -> None:
        self._steps += 1
        if self._budget and self._steps > self._budget:
            raise too_many_steps(self._program.variables, self._conditions, variable, start, self._budget)

    def _is_over(self, start: int, partition: Reach) -> bool:
        """Whether all later rows come too late for a match that begins at the row."""
        if self._times is None or partition.passed is None:
            return False
        if partition.edge < partition.end:
            return not self._is_within(start, partition.edge)
        assert self._within is not None
        return partition.passed - int(self._times[0][start]) >= self._within

    def _is_within(self, start: int, row: int) -> bool:
        assert self._times is not None
        assert self._within is not None
        (first, first_null), (last, last_null) = ((self._times[0][r], self._times[1][r]) for r in (start, row))
        return not first_null and not last_null and abs(int(last) - int(first)) <= self._within


def too_many_steps(
    variables: Sequence[str], conditions: Sequence[tuple[Formula, ...]], variable: int, start: int, budget: int
) -> EngineError:
    """The error of a search that would take too long."""
    asked = [v for v in (variable, *range(len(conditions))) if conditions[v]]
    condition = f"{variables[asked[0]]} AS {conditions[asked[0]][0].text} depends" if asked else "WITHIN depends"
    return EngineError(
        f"the search for a match from row {start + 1} took more than {budget:,} steps: "
        f"{condition} on the way through the pattern\n"
        "  hint: make the variables exclude each other, bound the quantifiers, or set budget= higher (0: no bound)"
    )


def _identity(value: Any) -> Any:
    """What tells the contents of registers apart: rows as they are, chains by their number."""
    return value if value is None or isinstance(value, tuple) else value.number
