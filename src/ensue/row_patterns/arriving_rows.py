"""A clause over rows that arrive in order, part after part: each match is told as soon as no later row can change it.

What is kept of each partition are the rows from the first undecided start on, and as many before it as PREV goes back
to. Where MATCH_NUMBER() or `^` ask for it, one row of each partition is kept for ever, with what is known of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.raw_arrays import raw
from ensue.data.envelope import Parts
from ensue.data.events import integers
from ensue.language import ast
from ensue.row_patterns.clause_ast import PartitionStart
from ensue.row_patterns.match_finding import Plan, find_matches
from ensue.row_patterns.match_terms import Aggregate, Navigation, NumberOfMatch, Term
from ensue.row_patterns.open_end import Integers, OpenEnd
from ensue.row_patterns.ordered_rows import OrderedRows, order_rows
from ensue.row_patterns.result_rows import BUDGET, covered, recognize_rows, rows_of
from ensue.row_patterns.time_of_rows import nanoseconds

#: The column with the place of a row before the rows are put in order.
_PLACE = "\0place"


@dataclass(frozen=True)
class _Marks:
    """What is known of each row besides its columns."""

    starts: npt.NDArray[np.bool_]  # whether a match may begin at it
    is_first: npt.NDArray[np.bool_]  # whether no row of its partition came before it
    covered: npt.NDArray[np.bool_]  # whether a match that was told has it
    number: Integers  # how many matches of its partition were told

    @classmethod
    def of_new(cls, count: int) -> _Marks:
        no = np.zeros(count, dtype=np.bool_)
        return cls(~no, no, no, np.zeros(count, dtype=np.int64))

    def and_new(self, count: int) -> _Marks:
        new = _Marks.of_new(count)
        return _Marks(
            np.concatenate([self.starts, new.starts]),
            np.concatenate([self.is_first, new.is_first]),
            np.concatenate([self.covered, new.covered]),
            np.concatenate([self.number, new.number]),
        )

    def at(self, rows: Integers) -> _Marks:
        return _Marks(self.starts[rows], self.is_first[rows], self.covered[rows], self.number[rows])

    def parts(self) -> Parts:
        return {"starts": self.starts, "is_first": self.is_first, "covered": self.covered, "number": self.number}


class ArrivingRows:
    """One clause over one stream: `push` takes rows, and `pass_time` gives what is decided by them.

    The first column of ORDER BY is the time of the rows, ascending; each part comes behind those before it.
    """

    def __init__(self, plan: Plan, schema: pa.Schema, budget: int = BUDGET) -> None:
        self._plan, self._schema, self._budget = plan, schema, budget
        self._nothing = recognize_rows(plan, schema.empty_table())
        self._kept = schema.empty_table()
        self._marks = _Marks.of_new(0)
        self._new: list[pa.Table] = []
        self._passed = -(1 << 63)
        self._ahead, self._behind = rows_ahead(plan), rows_behind(plan)

    @property
    def open(self) -> int:
        """How many rows are kept."""
        return len(self._kept)

    @property
    def open_windows(self) -> int:
        """A clause has none: windows are the language's."""
        return 0

    def unexpected(self) -> int:
        """Nothing is expected of the rows."""
        return 0

    def beyond(self) -> int:
        """A number that does not fit its column is an error here."""
        return 0

    @property
    def next_due(self) -> int | None:
        """The time in microseconds from which on `pass_time` may give more without new rows."""
        within = self._plan.clause.within
        waiting = np.flatnonzero(self._marks.starts)
        if within is None or not len(waiting):
            return None
        times = nanoseconds(self._kept.column(self._plan.clause.order[0].column).take(integers(waiting)))[0]
        due = int(-(-(int(times.min()) + within) // 1000))
        return None if due <= self._passed else due  # then it waits for rows that NEXT asks for

    def push(self, rows: pa.Table) -> pa.Table:
        """Takes rows that follow the earlier ones. What they decide is told when time passes them."""
        self._new.append(rows)
        return self._nothing

    def pass_time(self, time: int) -> pa.Table | None:
        """Promises that each later row has a time behind this one, in microseconds; gives what is decided now."""
        due, self._passed = self.next_due, time
        if not self._new and (due is None or time < due):
            return None
        table = pa.concat_tables([self._kept, *self._new])
        self._new = []
        if not len(table):
            return None
        rows = order_rows(self._plan.clause, table.append_column(_PLACE, integers(np.arange(len(table)))))
        place = raw(rows.column(_PLACE))
        marks = self._marks.and_new(len(table) - len(self._kept)).at(place)
        # A partition of which no row is kept begins with its first new row.
        marks.is_first[rows.begins[:-1]] |= place[rows.begins[:-1]] >= len(self._kept)
        open_end = self._open_end(rows, marks, time)
        found = find_matches(self._plan, rows, self._budget, open_end)
        frontier = open_end.frontier(rows.begins)
        partition = rows.partition_of(np.arange(len(rows)))
        decided = np.arange(len(rows)) < frontier[partition]
        inside = marks.covered | covered(found, len(rows))
        told = rows_of(self._plan.clause, rows, found, np.flatnonzero(decided & marks.starts & ~inside))
        numbers = open_end.numbers + np.bincount(rows.partition_of(found.start), minlength=len(frontier))
        keep = np.flatnonzero(np.arange(len(rows)) >= (frontier - self._behind)[partition])
        self._kept = rows.table.drop_columns([_PLACE]).take(integers(keep)).combine_chunks()
        now = _Marks(marks.starts & ~decided, marks.is_first, inside, numbers[partition])
        self._marks = now.at(keep)
        return told

    def _open_end(self, rows: OrderedRows, marks: _Marks, time: int) -> OpenEnd:
        begins, ends = rows.begins[:-1], rows.begins[1:]
        edge = np.maximum(ends - self._ahead, begins)
        starts = marks.starts & (np.arange(len(rows)) < edge[rows.partition_of(np.arange(len(rows)))])
        is_last = rows.is_last
        is_last[edge[edge > begins] - 1] = True
        return OpenEnd(starts, marks.is_first, is_last, edge, np.maximum.reduceat(marks.number, begins), time * 1000)

    # -- the state

    def parts(self) -> Parts:
        """The state between two parts of the rows."""
        return {"rows": self._kept, **self._marks.parts()}

    def restore(self, parts: Parts) -> None:
        """Continues from what `parts` gave."""
        self._kept, self._new, self._passed = parts["rows"].cast(self._schema), [], -(1 << 63)
        self._marks = _Marks(parts["starts"], parts["is_first"], parts["covered"], parts["number"])


def rows_ahead(plan: Plan) -> int:
    """How many rows behind a row say what is true of it."""
    return max((0, *(t.step for t in _terms(plan) if isinstance(t, Navigation))))


def rows_behind(plan: Plan) -> int:
    """How many rows before the first undecided one are kept of each partition, for ever."""
    numbered = any(map(_uses_number, _terms(plan))) or any(ast.find(plan.clause.pattern, PartitionStart))
    return max((int(numbered), *(-t.step for t in _terms(plan) if isinstance(t, Navigation))))


def _terms(plan: Plan) -> Iterator[Term]:
    clause = plan.clause
    for formula in (*clause.conditions.values(), *(m.formula for m in clause.measures)):
        yield from formula.terms.values()


def _uses_number(term: Term) -> bool:
    match term:
        case NumberOfMatch():
            return True
        case Navigation():
            return term.value.uses_number
        case Aggregate():
            return any(v.uses_number for v in term.values)
