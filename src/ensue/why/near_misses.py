"""Of the matches that a constraint ends, those that miss it by the least, with the values that it looks at."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import integers, numbers
from ensue.engines.item_lookback import ItemLookBack
from ensue.language import ast
from ensue.language.printer import print_pattern
from ensue.logic.extents import length_of_time
from ensue.logic.scope import free
from ensue.results.matches import Matches
from ensue.results.rows import as_cell, rows_of
from ensue.why.answer import NearMiss
from ensue.why.lifting import Constraint, Lifted, last_variables
from ensue.why.lost_matches import COMPARED, Asked, Frontier

#: How many are shown, and among how many of the nearest they are looked for.
_SHOWN, _LOOKED_AT = 3, 1000
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
#: What is not a number is not nearer than anything else.
_FAR = np.inf


def near_misses(asked: Asked, front: Frontier) -> tuple[NearMiss, ...]:
    """The nearest one of each constraint in turn, of the constraint that ended most first."""
    reached = frozenset(front.reached.each()) if len(front.reached) <= COMPARED else frozenset()
    by_constraint = [_nearest(asked, found, more, reached) for found, more in front.ended]
    in_turn = (miss for turn in zip_longest(*by_constraint) for miss in turn if miss is not None)
    return tuple(islice(in_turn, _SHOWN))


def _nearest(asked: Asked, found: Lifted, more: ComplexEvents, reached: frozenset[Any]) -> Iterator[NearMiss]:
    said = _Words(asked, found, more)
    order = np.argsort(said.distances, kind="stable")[:_LOOKED_AT]
    for place in order.tolist():
        one = more.in_order(np.array([place]))
        if next(one.each()) not in reached and (words := said.of(place)):
            yield NearMiss(str(found.kind), found.text, words, said.events(one))


class _Words:
    """By how much each match misses a constraint, and how that is said."""

    def __init__(self, asked: Asked, found: Lifted, more: ComplexEvents) -> None:
        self.asked, self.found, self.more = asked, found, more
        self.values = self._compared()
        self.distances = self._distances()

    def of(self, place: int) -> str:
        """What was found in the place of what the constraint asks for; empty if the constraint does hold."""
        match self.found.kind:
            case Constraint.FILTER:
                return self._condition(place)
            case Constraint.WINDOW if isinstance(self.found.part, ast.EventCount):
                return f"it spans {int(self.more.end[place] - self.more.start[place]) + 1:,} events"
            case Constraint.WINDOW:
                return f"it takes {self._time(self.more.start[place], self.more.end[place])}"
            case Constraint.GAP:
                before, after = self._ends_of_gap(place)
                return f"{self._time(before, after)} lie between"
            case Constraint.ORDER:
                return self._order(place)
            case Constraint.PARTITION:
                return self._keys(place)
            case Constraint.ABSENCE:
                return self._there(place)
        return "another match that ends at the same event is preferred"

    def events(self, one: ComplexEvents) -> dict[str, list[dict[str, Any]]]:
        """The events of a match by their variables; a type is left out if variables mark its events too."""
        marks = {x: one.marks(x).positions for x in one.variables()}
        types = {t.name for t in ast.find(self.found.pattern, ast.Type)}
        told = {int(k) for x, positions in marks.items() if x not in types for k in positions}
        shown = [x for x, positions in marks.items() if x not in types or not told.issuperset(positions.tolist())]
        shown.sort(key=lambda x: (min(marks[x], default=0), x))
        table = self.asked.stream.table
        table = table.select([n for n in table.column_names if not n.startswith("\0")])
        return {x: rows_of(table.take(integers(marks[x]))) for x in shown}

    # -- how far it is from a match

    def _distances(self) -> npt.NDArray[np.float64]:
        times, more = self.asked.stream.times, self.more
        if self.found.kind is Constraint.FILTER and self.values is not None:
            return self._differences()
        took = (times[more.end] - times[more.start]).astype(np.float64)
        part = self.found.part
        if self.found.kind is Constraint.GAP and len(more) <= COMPARED:
            gaps = [self._ends_of_gap(place) for place in range(len(more))]
            took = np.array([times[after] - times[before] for before, after in gaps], np.float64)
        if self.found.kind is Constraint.WINDOW and isinstance(part, ast.EventCount):
            return (more.end - more.start).astype(np.float64)
        if isinstance(part, ast.Interval):
            return _outside(part, took * (self.asked.stream.tick or 1))
        return took

    def _differences(self) -> npt.NDArray[np.float64]:
        assert self.values is not None
        try:
            sides = [pc.fill_null(pc.cast(v, pa.float64()), np.nan) for v in self.values]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return np.zeros(len(self.more))
        left, right = map(numbers, sides)
        apart = np.abs(left - right)
        return np.where(np.isnan(apart), _FAR, apart)

    # -- values and times

    def _compared(self) -> list[pa.Array] | None:
        """Both sides of a comparison in each match, if they have one value each."""
        part = self.found.part
        if not isinstance(part, ast.Binary) or part.operator not in _COMPARISONS:
            return None
        checked = self.asked.checked(self.found.pattern, part.left, part.right)
        if checked is None:
            return None
        look_back = ItemLookBack(checked)
        matches = Matches(look_back.checked, look_back.extended(self.asked.stream), self.more, Budget())
        return [matches.values_of(str(k)) for k in (0, 1)]

    def _condition(self, place: int) -> str:
        part = self.found.part
        if self.values is None or not isinstance(part, ast.Binary):
            return "is not TRUE"
        left, right = (as_cell(v[place].as_py()) for v in self.values)
        return f"{left} {part.operator} {right} is not TRUE"

    def _time(self, before: int, after: int) -> str:
        return self._length(int(self.asked.stream.time_at(int(after)) - self.asked.stream.time_at(int(before))))

    def _length(self, steps: int) -> str:
        tick = self.asked.stream.tick
        return f"{steps:,} steps of time" if tick is None else length_of_time(Fraction(steps * tick))

    def _ends_of_gap(self, place: int) -> tuple[int, int]:
        """The last event before the last step, and the first event of it; the ends of the match if it marks none."""
        one = self.more.in_order(np.array([place]))
        last = [int(k) for x in last_variables(self.found.pattern) & one.variables() for k in one.marks(x).positions]
        after = min(last, default=int(one.end[0]))
        marked = sorted(k for _, k in next(one.each())[2] if k < after)
        return (marked[-1] if marked else int(one.start[0])), after

    def _order(self, place: int) -> str:
        before, after = int(self.more.start[place]), int(self.more.end[place])
        if self.found.text == "after the step before":
            return f"it came before, by {self._time(before, after)}"
        return "another event came between" if after - before > 1 else "it is not so"

    def _keys(self, place: int) -> str:
        """The values of the keys, in the order in which the events have them."""
        _, _, marks = next(self.more.in_order(np.array([place])).each())
        table, positions = self.asked.stream.table, sorted({k for _, k in marks})
        said = []
        for key, name in zip(self.asked.query.partition, self.asked.keys, strict=True):
            values = list(dict.fromkeys(as_cell(table.column(key.attribute)[k].as_py()) for k in positions))
            if len(values) > 1:
                said.append(f"{name} is {' and then '.join(values)}")
        return "; ".join(said)

    def _there(self, place: int) -> str:
        """What was not to be there, and is."""
        part = self.found.part
        absent = part.absent if isinstance(part, ast.NotAfter | ast.NotBefore) else part
        assert isinstance(absent, ast.Pattern)
        found = None if free(absent) else self.asked.found(absent)
        start, end = int(self.more.start[place]), int(self.more.end[place])
        if found is None:
            return f"there is {print_pattern(absent)}"
        if isinstance(part, ast.NotBefore):
            there = np.flatnonzero(found.end < start)[-1:]
        elif isinstance(part, ast.NotAfter):
            there = np.flatnonzero(found.start > end)[:1]
        else:
            there = np.flatnonzero((found.start >= start) & (found.end <= end))[:1]
        event = rows_of(self.asked.stream.table.slice(int(found.start[there[0]]), 1))[0]
        shown = as_cell({k: v for k, v in event.items() if not k.startswith("\0")})
        return f"there is {print_pattern(absent)}: {shown}"


def _outside(bounds: ast.Interval, took: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """By how much each time is outside of the bounds; what is inside is no miss, so it is far away."""
    over = took - float(bounds.high.duration.nanoseconds()) if bounds.high else np.full_like(took, -_FAR)
    under = float(bounds.low.duration.nanoseconds()) - took if bounds.low else np.full_like(took, -_FAR)
    outside: npt.NDArray[np.float64] = np.maximum(over, under)
    return np.where(outside >= 0, outside, _FAR)
