"""Divides the conditions of DEFINE: what speaks of the candidate row and its neighbours is a column of truth.

In the condition of `A`, the candidate row is the last row of `A`, of each subset with `A` and of the match. So `A.x`,
`x` and `PREV(x, 2)` are a column, shifted or not, and `CLASSIFIER()` is a constant. A condition is divided at its ANDs,
and only the parts that speak of other rows of the match are left to the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.evaluation import evaluated, holds
from ensue.columns.raw_arrays import array_of
from ensue.language import ast
from ensue.row_patterns.match_terms import LABEL, CheckedClause, Formula, Navigation, RowValue, Term
from ensue.row_patterns.ordered_rows import OrderedRows

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DividedConditions:
    """For each variable: the parts about single rows, and the parts that the search asks."""

    of_rows: Mapping[str, tuple[Formula, ...]]
    of_match: Mapping[str, tuple[Formula, ...]]


def divide(clause: CheckedClause) -> DividedConditions:
    of_rows: dict[str, tuple[Formula, ...]] = {}
    of_match: dict[str, tuple[Formula, ...]] = {}
    for variable, formula in clause.conditions.items():
        parts = [_part(formula, e) for e in _conjuncts(formula.expression)]
        of_rows[variable] = tuple(p for p in parts if _is_of_rows(p, variable))
        of_match[variable] = tuple(p for p in parts if not _is_of_rows(p, variable))
    return DividedConditions(of_rows, {v: parts for v, parts in of_match.items() if parts})


def _conjuncts(e: ast.Expression) -> Iterator[ast.Expression]:
    if isinstance(e, ast.Binary) and e.operator == "AND":
        yield from _conjuncts(e.left)
        yield from _conjuncts(e.right)
    else:
        yield e


def _part(whole: Formula, e: ast.Expression) -> Formula:
    names = {n.name for n in ast.find(e, ast.Name)}
    return replace(whole, expression=e, terms={n: t for n, t in whole.terms.items() if n in names})


def _is_of_rows(part: Formula, variable: str) -> bool:
    return all(is_candidate(term, variable) for term in part.terms.values())


def is_candidate(term: Term, variable: str) -> bool:
    """Whether the term is about the candidate row, or a row at a fixed distance of it."""
    if not isinstance(term, Navigation) or term.from_first or term.offset or term.value.uses_number:
        return False
    known_label = term.step == 0 or not term.value.uses_label
    return known_label and (term.of is None or variable in term.of)


def truth_of_rows(parts: tuple[Formula, ...], variable: str, rows: OrderedRows) -> Mask | None:
    """Where all the parts are TRUE; None if there are none."""
    found: Mask | None = None
    for part in parts:
        columns = {}
        for name, term in part.terms.items():
            assert isinstance(term, Navigation)
            columns[name] = shifted(row_values(term.value, rows, variable), term.step, rows)
        own = holds(part.expression, columns, len(rows))
        found = own if found is None else found & own
    return found


def row_values(value: RowValue, rows: OrderedRows, label: str | None = None) -> pa.Array:
    """The value at each row, of which `label` is the variable."""
    if isinstance(value.expression, ast.Name) and value.expression.name != LABEL:
        return rows.column(value.expression.name)
    columns = {name: rows.column(name) for name in value.columns}
    if value.uses_label:
        columns[LABEL] = pa.repeat(pa.scalar(label, pa.string()), len(rows))
    return evaluated(value.expression, columns, len(rows))


def shifted(column: pa.Array, step: int, rows: OrderedRows) -> pa.Array:
    """The value `step` rows on at each row; NULL beyond its partition."""
    if step == 0 or not len(column):
        return column
    size = min(abs(step), len(column))
    nothing = pa.nulls(size, column.type)
    parts = [nothing, column.slice(0, len(column) - size)] if step < 0 else [column.slice(size), nothing]
    if pa.types.is_dictionary(column.type):
        parts = [p.dictionary_decode() for p in parts]
    moved = pa.concat_arrays(parts)
    if len(rows.begins) <= 2:
        return moved
    outside = np.zeros(len(column), dtype=np.bool_)
    first, behind = rows.begins[:-1], rows.begins[1:]
    if size <= 64:
        for k in range(size):
            places = first + k if step < 0 else behind - 1 - k
            outside[places[(places >= first) & (places < behind)]] = True
    else:
        own = np.repeat(np.arange(len(first)), behind - first)
        target = np.arange(len(column)) + step
        outside = (target < first[own]) | (target >= behind[own])
    return pc.if_else(array_of(outside, None, pa.bool_()), pa.scalar(None, moved.type), moved)
