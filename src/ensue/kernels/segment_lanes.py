"""What the lanes of segments mean: which integers hold what is folded, and how results are read from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_floats
from ensue.columns.evaluation import evaluated
from ensue.columns.own_calls import values_for
from ensue.columns.raw_arrays import array_of, missing, raw
from ensue.data.events import EventStream, one_chunk
from ensue.data.schema import Kind
from ensue.kernels import fixed_point, segments
from ensue.kernels.segments import FIRST, LANE, SPECIAL, WIDTH, Layout
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.plan.spans import Folded

#: The forms of a column: floats as their bits, and what is only counted, which may be of any type.
_INTEGERS, _FLOATS, _TO_COUNT = "integers", "floats", "to count"


class FoldedColumns:
    """The columns of numbers that are folded: each expression once, as integers, or as floats.

    Beside them there are Python's values of each aggregate of the user's own.
    """

    def __init__(self, asked: Sequence[Folded]) -> None:
        self._own = [f for f in asked if f.own is not None]
        folded = [f for f in asked if f.own is None]
        self._wanted: dict[tuple[str, str], ast.Expression] = {}
        self.types: list[pa.DataType] = []
        for f in folded:
            if f.argument is not None and f.function != "count":
                self._wanted.setdefault((print_expression(f.argument), _form(f)), f.argument)
        for f in folded:
            if f.argument is not None and f.function == "count" and self._known(f) is None:
                self._wanted[print_expression(f.argument), _TO_COUNT] = f.argument

    def number(self, f: Folded) -> int:
        """The column that an aggregate folds; what is only counted may be in any form."""
        if f.argument is None:
            return 0
        known = self._known(f) if f.function == "count" else None
        return list(self._wanted).index((print_expression(f.argument), _form(f))) if known is None else known

    def _known(self, f: Folded) -> int | None:
        """The first column of the expression that an aggregate is of."""
        texts = [text for text, _ in self._wanted]
        text = "" if f.argument is None else print_expression(f.argument)
        return texts.index(text) if text in texts else None

    def of(self, events: EventStream) -> tuple[Any, Any]:
        """The numbers of all events, floats as their bits, and which of them are known."""
        count = len(events)
        numbers = np.zeros((len(self._wanted), count), dtype=np.int64)
        known = np.ones((len(self._wanted), count), dtype=np.bool_)
        types = []
        for n, ((_, form), e) in enumerate(self._wanted.items()):
            column = _evaluated(e, events)
            types.append(column.type)
            if pa.types.is_null(column.type):
                known[n] = False
                continue
            if form != _TO_COUNT:
                numbers[n] = raw(as_floats(column)).view(np.int64) if form == _FLOATS else raw(column)
            null = missing(column)
            if null is not None:
                known[n] = ~null
        self.types = types  # in one step: threads may still ask for those of the batch before, which are the same
        return numbers, known

    def own(self, events: EventStream) -> list[list[Any]]:
        """The values that each aggregate of the user's own takes."""
        return [values_for(f.own, _evaluated(f.argument, events)) for f in self._own if f.own and f.argument]


def _evaluated(e: ast.Expression, events: EventStream) -> pa.Array:
    used = {name.name: one_chunk(events.table.column(name.name)) for name in ast.find(e, ast.Name)}
    return evaluated(e, used, len(events))


def _form(f: Folded) -> str:
    """How the numbers of an aggregate are held."""
    if f.function == "count":
        return _TO_COUNT
    return _FLOATS if f.function == "avg" or f.kind in (Kind.FLOAT, Kind.NULL) else _INTEGERS


class Lanes:
    """The layout of segments. Sums of floats become wider when floats come that are larger or smaller than before."""

    def __init__(self, folded: Sequence[Folded], columns: FoldedColumns) -> None:
        self._folded = folded
        self._columns = columns
        self._added: dict[tuple[int, int], int] = {}
        self._chosen: dict[tuple[int, int], int] = {}
        for f in folded:
            if f.argument is None:
                self._item(segments.ALL, 0)
                continue
            self._item(segments.KNOWN, columns.number(f))
            if f.function != "count":
                self._item(_what(f), columns.number(f))
        count = 1 + max((c for _, c in (*self._added, *self._chosen)), default=0)
        #: What is known of the floats of each column (`fixed_point.places`).
        self.places = np.array([fixed_point.NO_FLOATS] * count, dtype=np.int64)
        self._lay_out()

    def _item(self, what: int, column: int) -> None:
        items = self._added if what <= segments.SUM_OF_FLOATS else self._chosen
        items.setdefault((what, column), len(items))

    def _lay_out(self) -> None:
        """Gives each item its lanes."""
        rows, lane = [], 0
        for what, column in self._added:
            first = special = 0
            width = 2 if what == segments.SUM_OF_INTEGERS else 1
            if what == segments.SUM_OF_FLOATS:
                first, width, special = self._limbs(column)
            rows.append((what, column, lane, width, first, special))
            lane += width + special
        chosen = [(what, column, n, 1, 0, 0) for n, (what, column) in enumerate(self._chosen)]
        self.layout = Layout(*(np.array(items, dtype=np.int64).reshape(-1, 6) for items in (rows, chosen)))
        self.widths = (lane, len(chosen))

    def _limbs(self, column: int) -> tuple[int, int, int]:
        """The first limb of a sum, how many it has, and how many lanes there are behind them."""
        places = self.places[column]
        return *fixed_point.limbs(places), fixed_point.SPECIALS if places[fixed_point.HAS_SPECIALS] else 0

    def widen(self, numbers: Any, known: Any, sums: Sequence[Any]) -> Sequence[Any]:
        """Makes room for the floats of a batch; gives the rows of `sums` in the new layout."""
        places = self.places.copy()
        for what, column in self._added:
            if what == segments.SUM_OF_FLOATS:
                fixed_point.places(numbers[column], known[column], places[column])
        return self.use(places, sums)

    def use(self, places: Any, sums: Sequence[Any]) -> Sequence[Any]:
        """Takes over these places; gives the rows of `sums` in the new layout."""
        if (places == self.places).all():
            return sums
        before, self.places = self.layout.added, places
        self._lay_out()
        return [self._moved(before, rows) for rows in sums]

    def _moved(self, before: Any, rows: Any) -> Any:
        found = np.zeros((len(rows), self.widths[0]), dtype=np.int64)
        for old, new in zip(before.tolist(), self.layout.added.tolist(), strict=True):
            width, now = old[WIDTH], new[WIDTH]
            taken, given = rows[:, old[LANE] :], found[:, new[LANE] :]
            # A sum without limbs is 0, and stands in any place.
            place = old[FIRST] - new[FIRST] if old[FIRST] else 0
            given[:, place : place + width] = taken[:, :width]
            given[:, place + width : now] = np.where(taken[:, width - 1] < 0, -1, 0)[:, None]
            given[:, now : now + old[SPECIAL]] = taken[:, width : width + old[SPECIAL]]
        return found

    # ---------------------------------------------------------------- results

    def room(self, windows: int) -> tuple[Any, Any]:
        """Room for what is folded over so many windows."""
        summed, greatest = (np.empty((windows, width), dtype=np.int64) for width in self.widths)
        return summed, greatest

    def results(self, summed: Any, greatest: Any) -> dict[str, pa.Array]:
        """What each aggregate comes to in each window."""
        return {f.text: self._result(f, summed, greatest) for f in self._folded}

    def _result(self, f: Folded, summed: Any, greatest: Any) -> pa.Array:
        if f.argument is None:
            return array_of(summed[:, self._lane(segments.ALL, 0)], None, pa.int64())
        column = self._columns.number(f)
        counts = summed[:, self._lane(segments.KNOWN, column)]
        what, none = _what(f), counts == 0
        if f.function == "count":
            return array_of(counts, None, pa.int64())
        if what == segments.SUM_OF_INTEGERS:
            lane = self._lane(what, column)
            low, high = summed[:, lane], summed[:, lane + 1]
            return array_of(low, none | (high != low >> 63), pa.int64())
        if what == segments.SUM_OF_FLOATS:
            sums = self._floats(summed, column)
            return array_of(sums / np.maximum(counts, 1) if f.function == "avg" else sums, none, pa.float64())
        values = greatest[:, self._chosen[what, column]]
        if what >= segments.LEAST_FLOAT:
            floats = np.empty(len(values), dtype=np.int64)
            segments.floats_of(values, what == segments.LEAST_FLOAT, floats)
            return array_of(floats.view(np.float64), none, pa.float64())
        values = ~values if what == segments.LEAST else values
        type_ = self._columns.types[column]
        return array_of(values != 0 if pa.types.is_boolean(type_) else values, none, type_)

    def _floats(self, summed: Any, column: int) -> Any:
        item = self.layout.added[self._added[segments.SUM_OF_FLOATS, column]].tolist()
        bits = np.empty(len(summed), dtype=np.int64)
        fixed_point.rounded(summed, item[LANE], item[WIDTH], item[FIRST], item[SPECIAL] > 0, bits)
        return bits.view(np.float64)

    def _lane(self, what: int, column: int) -> int:
        return int(self.layout.added[self._added[what, column], LANE])


def _what(f: Folded) -> int:
    """The item that an aggregate of values is read from."""
    if f.function in ("sum", "avg"):
        return segments.SUM_OF_FLOATS if _form(f) == _FLOATS else segments.SUM_OF_INTEGERS
    if _form(f) == _FLOATS:
        return segments.LEAST_FLOAT if f.function == "min" else segments.GREATEST_FLOAT
    return segments.LEAST if f.function == "min" else segments.GREATEST
