"""What measures are worth, as columns: at each point of view, which is a match and the current row in it.

Navigation is counting and gathering. The rows with some variables are numbered through all matches, so that the n-th of
them before or behind a row is found by arithmetic, for all points of view at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.conversions import as_type, plain
from ensue.columns.evaluation import evaluated
from ensue.columns.raw_arrays import array_of
from ensue.data.events import integers
from ensue.kernels.row_members import nth_members
from ensue.language import ast
from ensue.row_patterns.aggregates_of_rows import aggregates_of
from ensue.row_patterns.match_finding import FoundMatches
from ensue.row_patterns.match_terms import LABEL, NUMBER, Aggregate, Formula, Navigation, NumberOfMatch, RowValue, Term
from ensue.row_patterns.ordered_rows import Integers, OrderedRows
from ensue.row_patterns.running_aggregates import by_differences, of_prefixes

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Views:
    """The points of view: `current` counts in the match from 0 and is -1 in an empty one."""

    match: Integers
    current: Integers
    one_each: bool = False  # whether there is one for each match, at its last row

    def __len__(self) -> int:
        return len(self.match)


@dataclass(frozen=True)
class _Members:
    """The rows with some of the variables, through all matches: row `i` of all is the `before[i]`-th of them."""

    places: Integers
    before: Integers


@dataclass
class Measures:
    """Evaluates the measures of the matches that were found."""

    rows: OrderedRows
    found: FoundMatches
    views: Views
    _known: dict[frozenset[str] | None, _Members] = field(default_factory=dict)

    def value(self, formula: Formula) -> pa.Array:
        """The measure at each point of view."""
        columns = {name: self._term(term) for name, term in formula.terms.items()}
        if isinstance(formula.expression, ast.Name):
            found = columns[formula.expression.name]
            return found if found.type == formula.type.arrow else as_type(plain(found), formula.type.arrow)
        return as_type(evaluated(formula.expression, columns, len(self.views)), formula.type.arrow)

    def _term(self, term: Term) -> pa.Array:
        match term:
            case NumberOfMatch():
                return integers(self.found.number[self.views.match])
            case Navigation():
                return self._navigated(term)
            case Aggregate():
                return self._aggregated(term)

    # -- which rows

    def _members(self, of: frozenset[str] | None) -> _Members:
        if of not in self._known:
            size = len(self.found.steps)
            if of is None:
                every = np.arange(size + 1)
                self._known[of] = _Members(every[:-1], every)
            else:
                taken = self._wanted(of)[self.found.variables]
                self._known[of] = _Members(np.flatnonzero(taken), np.concatenate([[0], np.cumsum(taken)]))
        return self._known[of]

    def _range(self, term: Navigation | Aggregate) -> tuple[_Members, Integers, Integers]:
        """From which member to which the term looks, at each point of view."""
        members = self._members(term.of)
        begin, end = self._reach(term)
        return members, members.before[begin], members.before[end]

    def _reach(self, term: Navigation | Aggregate) -> tuple[Integers, Integers]:
        """From which row to which row the term looks, at each point of view, counted through all matches."""
        offset, match = self.found.offset, self.views.match
        begin = offset[match]
        return begin, offset[match + 1] if term.final else begin + self.views.current + 1

    def _wanted(self, of: frozenset[str]) -> Mask:
        """Whether each variable is one of these."""
        return np.array([v in of for v in self.found.program.variables], dtype=np.bool_)

    def _place(self, term: Navigation) -> tuple[Integers, Mask]:
        """The row before `step`, counted through all matches, at each point of view; and whether there is one."""
        begin, end = self._reach(term)
        if term.of is None:
            place = begin + term.offset if term.from_first else end - 1 - term.offset
            there = (place >= begin) & (place < end)
        elif self.views.one_each:  # then all rows that are looked at are no more than those of all matches
            wanted = self._wanted(term.of)[self.found.program.variable]
            place = np.empty(len(begin), dtype=np.int64)
            nth_members(wanted, self.found.steps, begin, end, term.offset, term.from_first, place)
            there = place >= 0
        else:
            members, low, high = self._range(term)
            member = low + term.offset if term.from_first else high - 1 - term.offset
            there = (member >= low) & (member < high)
            member = np.where(there, member, 0)
            place = members.places[member] if len(members.places) else np.zeros(len(member), dtype=np.int64)
        return (place if there.all() else np.where(there, place, 0)), there

    def _navigated(self, term: Navigation) -> pa.Array:
        place, there = self._place(term)
        match = self.views.match
        begin = self.found.offset[match]
        row = self.found.start[match] + place - begin + term.step
        if term.step:
            partition = self.rows.partition_of(self.found.start[match])
            there &= (row >= self.rows.begins[partition]) & (row < self.rows.begins[partition + 1])
        return self._at(term.value, np.where(there, row, 0), there, place + term.step)

    # -- values at rows

    def _at(self, value: RowValue, row: Integers, there: Mask, place: Integers) -> pa.Array:
        """The value at each of these rows, NULL where there is none; `place` counts through all matches."""
        e = value.expression
        index = integers(row) if there.all() else array_of(row, ~there, pa.int64())
        if isinstance(e, ast.Name) and e.name not in (LABEL, NUMBER):
            return _taken(self.rows.column(e.name), index)
        columns = {c: _taken(self.rows.column(c), index) for c in value.columns}
        if value.uses_label:
            columns[LABEL] = self._labels(place, there)
        if value.uses_number:
            columns[NUMBER] = integers(self.found.number[self.views.match])
        found = evaluated(e, columns, len(row))
        return (
            found if there.all() else pc.if_else(array_of(there, None, pa.bool_()), found, pa.scalar(None, found.type))
        )

    def _labels(self, place: Integers, there: Mask) -> pa.Array:
        """The variable of each row; one that is not in the match has none."""
        match, offset = self.views.match, self.found.offset
        inside = there & (place >= offset[match]) & (place < offset[match + 1])
        if not len(self.found.steps):
            return pa.nulls(len(place), pa.string())
        numbers = self.found.variables[np.where(inside, place, 0)].astype(np.int64)
        return pa.array(self.found.program.variables, pa.string()).take(array_of(numbers, ~inside, pa.int64()))

    # -- aggregates

    def _aggregated(self, term: Aggregate) -> pa.Array:
        members, low, high = self._range(term)
        if not term.arguments:
            return integers(high - low)
        values = self._values_of_members(term, members)
        if term.function in ("count", "sum") and not term.distinct:
            quick = by_differences(term, values[0], low, high)
            if quick is not None:
                return quick
        first = members.before[self.found.offset]  # the first member of each match
        if self.views.one_each:
            return aggregates_of(term, values, first)
        if term.final:
            return aggregates_of(term, values, first).take(integers(self.views.match))
        return of_prefixes(term, values, np.repeat(first[:-1], np.diff(first)), low, high)

    def _values_of_members(self, term: Aggregate, members: _Members) -> list[pa.Array]:
        """What the aggregate needs, at each member."""
        match = np.repeat(np.arange(len(self.found)), self.found.lengths)[members.places]
        row = self.found.start[match] + members.places - self.found.offset[match]
        own = Measures(self.rows, self.found, Views(match, members.places - self.found.offset[match]), self._known)
        there = np.ones(len(row), dtype=np.bool_)
        return [plain(own._at(value, row, there, members.places)) for value in term.values]


def _taken(column: pa.Array, index: pa.Array) -> pa.Array:
    if not len(column):
        return pa.nulls(len(index), column.type)
    return column.take(index)
