"""The compiled search over the rows of a table: the columns that it needs, and room to work in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.conversions import as_floats, plain
from ensue.columns.evaluation import evaluated
from ensue.columns.raw_arrays import missing, raw
from ensue.data.schema import Kind
from ensue.errors import EngineError
from ensue.kernels import fixed_point, formulas, row_search
from ensue.kernels.jit import read_only
from ensue.kernels.keys import TextNumbers
from ensue.kernels.register_columns import as_computed
from ensue.kernels.row_search import Asked, Room, SearchRules
from ensue.kernels.value_trees import NULL
from ensue.row_patterns.match_terms import CheckedClause
from ensue.row_patterns.ordered_rows import OrderedRows
from ensue.row_patterns.row_conditions import row_values
from ensue.row_patterns.search_program import ADDED, COMPARED, COUNTED, Interpreted, Needed, SearchProgram
from ensue.row_patterns.time_of_rows import nanoseconds

#: The least and the most failures that are remembered.
_FEWEST, _MOST = 1 << 10, 1 << 20
#: The most bits that a sum of whole numbers may have.
_BITS = 62
_FIRST_PLACES = 256


@dataclass
class CompiledSearch:
    """What the kernel is given beside the pattern and the classes of rows."""

    asked: Asked
    rules: SearchRules
    room: Room

    def deepen(self) -> None:
        """Makes room for longer matches."""
        places = 2 * len(self.room.point)
        self.room = self.room._replace(**_stack(places, len(self.asked.empty)))


def compiled(
    search: SearchProgram, clause: CheckedClause, rows: OrderedRows, *, skip: int, budget: int, passed: int | None
) -> CompiledSearch:
    """The search over these rows; raises Interpreted where their values do not fit what the kernel computes with."""
    columns = _Columns(rows)
    try:
        made = [columns.of(needed) for needed in search.columns]
        constants = columns.constants(search)
    except EngineError as e:
        raise Interpreted(str(e)) from None
    cells = search.cells_of(columns.limbs)
    first_part, first_need, needs = search.needs()
    first_change, changes = cells.changes()
    first_key, key_cells = cells.keys()
    asked = Asked(
        first_part,
        first_need,
        needs,
        cells.terms,
        first_change,
        changes,
        np.array(cells.empty, dtype=np.int64),
        first_key,
        key_cells,
        search.layout.depends_on_start,
        search.layout.depends_on_number,
        np.array(made, dtype=np.int64).reshape(len(made), len(rows)),
        constants,
        formulas.table(search.instructions, search.constants, search.numbers),
    )
    keys = row_search.KEY + int(np.diff(first_key).max(initial=0))
    remembered = min(_MOST, max(_FEWEST, 1 << (16 * len(rows)).bit_length()))
    room = Room(
        **_stack(_FIRST_PLACES, len(cells.empty)),
        values=np.zeros((1, len(search.terms)), dtype=np.int64),
        key=np.zeros(keys, dtype=np.int64),
        failed=np.zeros((remembered, keys), dtype=np.int64),
        used=np.zeros(2, dtype=np.int64),
    )
    return CompiledSearch(asked, _rules(clause, rows, skip, budget, passed), room)


def _stack(places: int, cells: int) -> dict[str, npt.NDArray[np.int64]]:
    return {
        "point": np.zeros(places, dtype=np.int64),
        "next": np.zeros(places, dtype=np.int64),
        "cells": np.zeros((places, cells), dtype=np.int64),
    }


def _rules(clause: CheckedClause, rows: OrderedRows, skip: int, budget: int, passed: int | None) -> SearchRules:
    if clause.within is None:
        nothing = np.zeros(0, dtype=np.int64)
        return SearchRules(skip, budget, -1, NULL, nothing, np.zeros(0, dtype=np.bool_))
    times, timeless = nanoseconds(rows.column(clause.order[0].column))
    if times.dtype == object or max(clause.within, abs(passed or 0)) > 1 << _BITS:
        raise Interpreted("times that do not fit 64 bits in nanoseconds")
    return SearchRules(skip, budget, clause.within, NULL if passed is None else passed, times, timeless.copy())


class _Columns:
    """The columns as numbers. Texts are numbered alike in all of them, so that equal ones have equal numbers."""

    def __init__(self, rows: OrderedRows) -> None:
        self._rows = rows
        self._texts = TextNumbers()
        self._limbs: dict[Needed, tuple[int, int]] = {}

    def of(self, needed: Needed) -> npt.NDArray[np.int64]:
        array = plain(row_values(needed.value, self._rows))
        if pa.types.is_null(array.type):
            return np.full(len(array), NULL, dtype=np.int64)
        null = missing(array)
        if needed.use == COUNTED:
            return np.where(null, NULL, 0) if null is not None else np.zeros(len(array), dtype=np.int64)
        found = as_computed(array, needed.kind, self._texts)
        if needed.kind is Kind.FLOAT and needed.use in (ADDED, COMPARED):
            self._look_at_floats(needed, array, null)
        elif needed.use == ADDED and len(found):
            known = found[found != NULL]
            if len(known) and (max(-int(known.min()), int(known.max())) * len(found)).bit_length() > _BITS:
                raise Interpreted("sums of whole numbers that may not fit 64 bits")
        return found

    def _look_at_floats(self, needed: Needed, array: pa.Array, null: Any) -> None:
        floats = raw(as_floats(array))
        if needed.use == COMPARED:
            if np.isnan(floats if null is None else floats[~null]).any():
                raise Interpreted("the least or the greatest of values with NaN")
            return
        known = np.ones(len(floats), dtype=np.bool_) if null is None else ~null
        places = np.array(fixed_point.NO_FLOATS, dtype=np.int64)
        fixed_point.places(read_only(floats.view(np.int64)), read_only(known), places)
        self._limbs[needed] = fixed_point.limbs(places)

    def limbs(self, needed: Needed) -> tuple[int, int]:
        """The first limb of the sums of a column, and how many there are."""
        return self._limbs[needed]

    def constants(self, search: SearchProgram) -> npt.NDArray[np.int64]:
        made = [
            as_computed(plain(evaluated(e, {}, 1)), kind, self._texts)
            for e, kind in zip(search.constants, search.kinds_of_constants, strict=True)
        ]
        return np.array(made, dtype=np.int64).reshape(len(made), 1)
