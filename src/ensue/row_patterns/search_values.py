"""What conditions come to in the search, one candidate row at a time: values out of columns, and running aggregates.

What a condition is worth follows from the values of its terms, so it is computed once for each of those that occur.
It is computed over columns of one row, as every expression is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import plain
from ensue.columns.evaluation import evaluated, holds
from ensue.data.schema import Kind
from ensue.row_patterns.aggregates_of_rows import aggregates_of
from ensue.row_patterns.match_terms import LABEL, NUMBER, Aggregate, Formula, Navigation, NumberOfMatch, RowValue, Term
from ensue.row_patterns.ordered_rows import OrderedRows
from ensue.row_patterns.row_conditions import row_values
from ensue.row_patterns.search_registers import Link, Register, register_of

#: The most answers that are kept for each condition.
_MOST_KNOWN = 1 << 18


class SearchValues:
    """Answers whether a part of a condition is TRUE for the candidate row, which the registers have taken already."""

    def __init__(self, registers: tuple[Register, ...], variables: tuple[str, ...], rows: OrderedRows) -> None:
        self._rows = rows
        self._names = variables
        self._place = {r: i for i, r in enumerate(registers)}
        self._columns: dict[RowValue, pa.Array] = {}
        self._known: dict[int, dict[Any, bool]] = {}

    def is_true(self, part: Formula, registers: tuple[Any, ...], number: int, end: int) -> bool:
        scalars = {name: self._scalar(term, registers, number, end) for name, term in part.terms.items()}
        known = self._known.setdefault(id(part), {})
        key = tuple(scalars.values())
        try:
            return known[key]
        except (KeyError, TypeError):
            pass
        columns = {name: pa.repeat(value, 1) for name, value in scalars.items()}
        found = bool(holds(part.expression, columns, 1)[0])
        if len(known) < _MOST_KNOWN:
            known[key] = found
        return found

    # -- terms

    def _scalar(self, term: Term, registers: tuple[Any, ...], number: int, end: int) -> pa.Scalar:
        if isinstance(term, NumberOfMatch):
            return pa.scalar(number, pa.int64())
        register = register_of(term)
        assert register is not None
        held = registers[self._place[register]]
        if isinstance(term, Navigation):
            return self._navigated(term, held, number, end)
        return self._aggregated(term, held, number)

    def _navigated(self, term: Navigation, held: Any, number: int, end: int) -> pa.Scalar:
        nothing = pa.scalar(None, term.type.arrow)
        chain = isinstance(held, Link)
        rows = held.rows() if chain else held or ()
        candidates = [(r, v) for r, v in rows if term.of is None or self._names[v] in term.of] if chain else rows
        if len(candidates) <= term.offset:
            return nothing
        row, variable = candidates[term.offset if term.from_first else -1 - term.offset]
        target = row + term.step
        if target >= end or target < self._begin(row):
            return nothing
        label = self._names[variable]
        if term.step and term.value.uses_label:
            label = next((self._names[v] for r, v in rows if r == target), None)
        return self._at(term.value, target, label, number)

    def _begin(self, row: int) -> int:
        begins = self._rows.begins
        return int(begins[np.searchsorted(begins, row, side="right") - 1])

    def _at(self, value: RowValue, row: int, label: str | None, number: int) -> pa.Scalar:
        if not value.uses_label and not value.uses_number:
            return self._column(value)[row]
        columns = {c: self._rows.column(c).slice(row, 1) for c in value.columns}
        columns[LABEL] = pa.array([label], pa.string())
        columns[NUMBER] = pa.array([number], pa.int64())
        return evaluated(value.expression, columns, 1)[0]

    def _column(self, value: RowValue) -> pa.Array:
        if value not in self._columns:
            self._columns[value] = plain(row_values(value, self._rows))
        return self._columns[value]

    # -- aggregates

    def _aggregated(self, term: Aggregate, held: Link | None, number: int) -> pa.Scalar:
        if not term.arguments:
            return pa.scalar(0 if held is None else held.length, pa.int64())
        if term.function in ("count", "sum", "avg") and not term.distinct:
            counted, total, unbounded = (0, 0, 0.0) if held is None else self._totals(term, held, number)
            return _total(term, counted, total, unbounded)
        rows = [] if held is None else held.rows()
        offsets = np.array([0, len(rows)], dtype=np.int64)
        return aggregates_of(term, [self._of_rows(v, rows, number) for v in term.values], offsets)[0]

    def _of_rows(self, value: RowValue, rows: list[tuple[int, int]], number: int) -> pa.Array:
        """The value at each of these rows, as a column."""
        if not rows:
            return plain(pa.nulls(0, value.type.arrow))
        if value.uses_label or value.uses_number:
            return pa.array([self._at(value, r, self._names[v], number).as_py() for r, v in rows])
        return self._column(value).take(pa.array([r for r, _ in rows]))

    def _totals(self, term: Aggregate, held: Link, number: int) -> tuple[int, Any, float]:
        """How many values there are, the exact sum of the finite ones, and the sum of the others."""
        key = (term, number) if term.arguments[0].uses_number else term
        open_: list[Link] = []
        link: Link | None = held
        while link is not None and key not in link.known:
            open_.append(link)
            link = link.before
        counted, total, unbounded = (0, 0, 0.0) if link is None else link.known[key]  # type: ignore[index]
        for one in reversed(open_):
            value = self._at(term.arguments[0], one.row, self._names[one.variable], number).as_py()
            if value is not None:
                counted += 1
                if term.function != "count":
                    number_ = value if isinstance(value, int) else float(value)
                    if isinstance(number_, float) and not math.isfinite(number_):
                        unbounded += number_
                    else:
                        total += number_ if isinstance(number_, int) else Fraction(number_)
            one.known[key] = (counted, total, unbounded)  # type: ignore[index]
        return counted, total, unbounded


def _total(term: Aggregate, counted: int, total: Any, unbounded: float) -> pa.Scalar:
    if term.function == "count":
        return pa.scalar(counted, pa.int64())
    if not counted:
        return pa.scalar(None, term.type.arrow)
    if term.type.kind is Kind.INTEGER:
        return pa.scalar(total if -(2**63) <= total < 2**63 else None, pa.int64())
    found = unbounded if unbounded != 0.0 else _float_of(total)
    return pa.scalar(found / counted if term.function == "avg" else found, pa.float64())


def _float_of(total: Any) -> float:
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
