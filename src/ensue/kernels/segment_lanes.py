"""What the lanes of segments mean: which integers hold what is folded, and how results are read from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_floats
from ensue.columns.evaluation import evaluated
from ensue.columns.raw_arrays import array_of, missing, raw
from ensue.data.events import EventStream, one_chunk
from ensue.data.schema import Kind
from ensue.kernels import fixed_point, segments
from ensue.kernels.segments import FIRST, LANE, LARGEST, WHAT, WIDTH
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.plan.spans import Folded

#: So many bits more than the greatest float has a sum of floats: for 2^44 of them.
_SPARE_BITS = 53 + 44 + 1
_NO_FLOATS = (1 << 62, -1)


class FoldedColumns:
    """The columns of numbers that are folded: each expression once, as integers, or as floats."""

    def __init__(self, folded: Sequence[Folded]) -> None:
        self._wanted: dict[tuple[str, bool], ast.Expression] = {}
        self.types: list[pa.DataType] = []
        for f in folded:
            if f.argument is not None:
                self._wanted.setdefault((print_expression(f.argument), _as_floats(f)), f.argument)
        self._number = {key: n for n, key in enumerate(self._wanted)}

    def number(self, f: Folded) -> int:
        """The column that an aggregate folds."""
        return 0 if f.argument is None else self._number[print_expression(f.argument), _as_floats(f)]

    def of(self, events: EventStream) -> tuple[Any, Any]:
        """The numbers of all events, floats as their bits, and which of them are known."""
        count = len(events)
        numbers = np.zeros((len(self._wanted), count), dtype=np.int64)
        known = np.ones((len(self._wanted), count), dtype=np.bool_)
        self.types = []
        for n, ((_, floats), e) in enumerate(self._wanted.items()):
            used = {name.name: one_chunk(events.table.column(name.name)) for name in ast.find(e, ast.Name)}
            column = evaluated(e, used, count)
            self.types.append(column.type)
            if pa.types.is_null(column.type):
                known[n] = False
                continue
            numbers[n] = raw(as_floats(column)).view(np.int64) if floats else raw(column)
            null = missing(column)
            if null is not None:
                known[n] = ~null
        return numbers, known


def _as_floats(f: Folded) -> bool:
    return f.function == "avg" or (f.function != "count" and f.kind in (Kind.FLOAT, Kind.NULL))


class Lanes:
    """The layout of segments. Sums of floats become wider when floats come that are larger or smaller than before."""

    def __init__(self, folded: Sequence[Folded], columns: FoldedColumns) -> None:
        self._folded = folded
        self._columns = columns
        self._item: dict[tuple[int, int], int] = {}
        for f in folded:
            if f.argument is None:
                self._add(segments.ALL, 0)
                continue
            self._add(segments.KNOWN, columns.number(f))
            if f.function != "count":
                self._add(_what(f), columns.number(f))
        #: Of each column, the least and the greatest place of a float's last bit so far.
        self.places = np.array([_NO_FLOATS] * len({c for _, c in self._item}), dtype=np.int64).reshape(-1, 2)
        self._lay_out()

    def _add(self, what: int, column: int) -> None:
        self._item.setdefault((what, column), len(self._item))

    def _lay_out(self) -> None:
        """Gives each item its lanes."""
        rows, lane = [], 0
        for what, column in self._item:
            first = width = 0
            if what == segments.SUM_OF_FLOATS:
                first, width = self._limbs(column)
            elif what == segments.SUM_OF_INTEGERS:
                width = 2
            rows.append((what, column, lane, width, first))
            lane += {segments.SUM_OF_FLOATS: width + 1, segments.SUM_OF_INTEGERS: 2}.get(what, 1)
        self.items = np.array(rows, dtype=np.int64).reshape(-1, 5)
        self.width = lane

    def _limbs(self, column: int) -> tuple[int, int]:
        least, greatest = self.places[column].tolist()
        if greatest < 0:
            return 0, 1
        first = least >> 6
        return first, ((greatest + _SPARE_BITS) >> 6) - first + 1

    def widen(self, numbers: Any, known: Any, lanes: Any) -> Any:
        """Makes room for the floats of a batch; gives the rows `lanes` in the new layout."""
        before, places = self.items, self.places.copy()
        for what, column in self._item:
            if what == segments.SUM_OF_FLOATS:
                fixed_point.places(numbers[column], known[column], places[column])
        return self.use(places, before, lanes)

    def use(self, places: Any, before: Any, lanes: Any) -> Any:
        """Takes over these places; gives the rows, which are in the layout `before`, in the new one."""
        if (places == self.places).all():
            return lanes
        self.places = places
        self._lay_out()
        found = np.zeros((len(lanes), self.width), dtype=np.int64)
        for old, new in zip(before.tolist(), self.items.tolist(), strict=True):
            taken, given = lanes[:, old[LANE] :], found[:, new[LANE] :]
            if new[WHAT] != segments.SUM_OF_FLOATS:
                given[:, : max(new[WIDTH], 1)] = taken[:, : max(new[WIDTH], 1)]
                continue
            # A sum without limbs is 0, and stands in any place.
            at = old[FIRST] - new[FIRST] if old[FIRST] else 0
            given[:, at : at + old[WIDTH]] = taken[:, : old[WIDTH]]
            given[:, at + old[WIDTH] : new[WIDTH]] = np.where(taken[:, old[WIDTH] - 1] < 0, -1, 0)[:, None]
            given[:, new[WIDTH]] = taken[:, old[WIDTH]]
        return found

    # ---------------------------------------------------------------- results

    def results(self, rows: Any) -> dict[str, pa.Array]:
        """What each aggregate comes to in each row."""
        return {f.text: self._result(f, rows) for f in self._folded}

    def _result(self, f: Folded, rows: Any) -> pa.Array:
        if f.argument is None:
            return array_of(rows[:, self._lane(segments.ALL, 0)], None, pa.int64())
        column = self._columns.number(f)
        counts = rows[:, self._lane(segments.KNOWN, column)]
        if f.function == "count":
            return array_of(counts, None, pa.int64())
        lane, none = self._lane(_what(f), column), counts == 0
        match _what(f):
            case segments.SUM_OF_INTEGERS:
                low, high = rows[:, lane], rows[:, lane + 1]
                return array_of(low, none | (high != low >> 63), pa.int64())
            case segments.SUM_OF_FLOATS:
                sums = self._floats(rows, column)
                return array_of(sums / np.maximum(counts, 1) if f.function == "avg" else sums, none, pa.float64())
            case segments.LEAST_FLOAT | segments.GREATEST_FLOAT:
                bits = rows[:, lane]
                return array_of(np.where(bits < 0, bits ^ LARGEST, bits).view(np.float64), none, pa.float64())
        type_ = self._columns.types[column]
        values = rows[:, lane]
        return array_of(values != 0 if pa.types.is_boolean(type_) else values, none, type_)

    def _floats(self, rows: Any, column: int) -> Any:
        item = self.items[self._item[segments.SUM_OF_FLOATS, column]]
        width = int(item[WIDTH])
        found = np.empty(len(rows), dtype=np.float64)
        work = np.empty(width, dtype=np.uint64)
        fixed_point.rounded(rows, int(item[LANE]), width, int(item[FIRST]), work, found)
        return found

    def _lane(self, what: int, column: int) -> int:
        return int(self.items[self._item[what, column], LANE])


def _what(f: Folded) -> int:
    """The item that an aggregate of values is read from."""
    if f.function in ("sum", "avg"):
        return segments.SUM_OF_FLOATS if _as_floats(f) else segments.SUM_OF_INTEGERS
    if _as_floats(f):
        return segments.LEAST_FLOAT if f.function == "min" else segments.GREATEST_FLOAT
    return segments.LEAST if f.function == "min" else segments.GREATEST
