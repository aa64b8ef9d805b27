"""What partial matches weigh (`logic/aggregate_bounds.py`): the enumeration leaves out what cannot weigh enough.

Each node of the match structure has what its own event weighs, and the most that a complex event of it weighs. The
enumeration adds up what the path from the end weighs so far; it visits a node only if that and the most of the node are
enough. What a window has left behind is taken out of that before matches are listed, so that what is visited leads to
one that passes, but for several bounds at once, and for floats: sums are rounded up, where they are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.automata.model import Marks
from ensue.columns.conversions import as_floats
from ensue.columns.evaluation import evaluated
from ensue.columns.raw_arrays import Floats, missing, raw, truth
from ensue.data.events import one_chunk
from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, USED, Arena, Window, alive
from ensue.kernels.jit import at, inlined, inner, kernel
from ensue.kernels.stepping import CURSOR, MARK, NO_BOUND, SOURCE, End, State, list_of
from ensue.language import ast
from ensue.logic.aggregate_bounds import Bound, Weight
from ensue.logic.linear_bounds import SLACK, LinearBound, Term

AnyBound = Bound | LinearBound

#: Sums of so many whole numbers up to this one have no rounding that anybody could meet.
_SMALL = 2.0**21
#: An average is rounded twice. Each event weighs as much more as that may make.
_SLACK = 2.0**-50
#: Sums of floats beyond may overflow on the way, where a condition adds in another order.
_LARGEST = 1e300


class Bounds(NamedTuple):
    """What nodes and events weigh, one column for each bound."""

    own: Any  # float64[nodes, bounds]: the event of a cell
    best: Any  # float64[nodes, bounds]: the most of the complex events from a node on
    of_event: Any  # float64[ways, n]: the events of a batch, in each way in which marks make them count
    way: Any  # int64[bounds, marks]: in which way an event with these marks counts, or NOTHING
    least: Any  # float64[bounds]
    strict: Any  # bool[bounds]: whether it must be more
    so_far: Any  # float64[path, bounds]: the path up to here
    seen: Any  # int64[nodes]: the position of the end for which a node was weighed anew; less than -1 while it is


@inlined
def _above(a: float, b: float) -> float:
    """The sum of two floats, rounded up; neither is NaN or minus infinity."""
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    return np.nextafter(total, np.inf) if lost > 0.0 else total


@inlined
def weigh_event(bounds: Bounds, row: int, mark: int, rows: Any, place: int) -> None:
    """Writes what the event of a row of the batch weighs with a mark."""
    for b in range(len(bounds.least)):
        way = bounds.way[at(b), at(mark)]
        rows[at(place), at(b)] = bounds.of_event[at(way), at(row)] if way != NOTHING else 0.0


@inlined
def weigh(bounds: Bounds, arena: Arena, node: int, window: Window) -> None:
    """Writes the most that a complex event of the node weighs, from what its parts in the window weigh."""
    child, rest, event = arena.node[at(node), CHILD], arena.node[at(node), REST], arena.node[at(node), EVENT]
    for b in range(len(bounds.least)):
        most = bounds.own[at(node), at(b)] if event >= 0 else -np.inf
        if child != NOTHING:
            most = _above(most, bounds.best[at(child), at(b)]) if event >= 0 else bounds.best[at(child), at(b)]
        if rest != NOTHING and alive(arena, rest, window):
            most = max(most, bounds.best[at(rest), at(b)])
        bounds.best[at(node), at(b)] = most


@inlined
def begin(bounds: Any, row: int, mark: int) -> None:
    """Begins the path with the event of a row of the batch; here and below, without bounds nothing is done."""
    if bounds is not None:
        weigh_event(bounds, row, mark, bounds.so_far, 0)


@inlined
def step(bounds: Any, node: int, depth: int) -> None:
    """Adds the event of a cell to the path, in place `depth`."""
    if bounds is None:
        return
    for b in range(len(bounds.least)):
        before, own = bounds.so_far[at(depth - 1), at(b)], bounds.own[at(node), at(b)]
        bounds.so_far[at(depth), at(b)] = _above(before, own)


@inlined
def enough(bounds: Any, depth: int) -> bool:
    """Whether the path, whose last place is `depth`, weighs enough; without bounds, every path does."""
    if bounds is None:
        return True
    for b in range(len(bounds.least)):
        total, least = bounds.so_far[at(depth), at(b)], bounds.least[at(b)]
        if total < least or (bounds.strict[at(b)] and total == least):
            return False
    return True


@inlined
def passing(bounds: Any, node: int, depth: int) -> int:
    """The node, if the path up to `depth` and the most of the node weigh enough; else NOTHING."""
    if bounds is None:
        return node
    if node == NOTHING:
        return NOTHING
    for b in range(len(bounds.least)):
        total, least = _above(bounds.so_far[at(depth), at(b)], bounds.best[at(node), at(b)]), bounds.least[at(b)]
        if total < least or (bounds.strict[at(b)] and total == least):
            return NOTHING
    return node


@inner
def weighed_anew(bounds: Bounds, state: State, end: End, window: Window) -> bool:
    """Weighs what ends here without what the window has left behind; False where the stack is too short for it.

    What was left behind since a node was last weighed may have been heavy: with it, too much would be visited.
    """
    if window.low == NO_BOUND:
        return True
    done, begun = end.position, -end.position - 2
    arena, stack, row = state.arena, state.stack.node, state.progress[CURSOR]
    nodes, seen = arena.node, bounds.seen
    for r in range(end.first, end.last):
        weigh_event(bounds, row, end.reports[r, MARK], bounds.so_far, 0)
        if end.reports[r, SOURCE] < 0 or passing(bounds, list_of(end, r), 0) == NOTHING:
            continue
        stack[0] = list_of(end, r)
        top = 1 if alive(arena, stack[0], window) else 0
        while top > 0:
            node = stack[top - 1]
            if seen[node] == done or seen[node] == begun:
                if seen[node] == begun:
                    weigh(bounds, arena, node, window)
                    seen[node] = done
                top -= 1
                continue
            if top + 2 > len(stack):
                return False
            seen[node] = begun
            for part in (CHILD, REST):
                below = nodes[node, part]
                if below != NOTHING and seen[below] != done and alive(arena, below, window):
                    stack[top] = below
                    top += 1
    return True


@kernel
def weigh_all(bounds: Bounds, arena: Arena) -> None:
    """Weighs all nodes anew: parts come before what they are parts of."""
    for node in range(arena.used[USED]):
        weigh(bounds, arena, node, Window(0, 0, NO_BOUND, NO_BOUND))


class MatchWeights:
    """The weights of one evaluator's nodes."""

    def __init__(self, bounds: Sequence[AnyBound], marks: Sequence[Marks]) -> None:
        self._count = len(bounds)
        number = {way: n for n, way in enumerate(_ways(bounds, marks))}
        counting = [[number.get((k, _counting(b, m)), NOTHING) for m in marks] for k, b in enumerate(bounds)]
        self._way = np.array(counting, dtype=np.int64)
        self._least = np.array([b.least for b in bounds], dtype=np.float64)
        self._strict = np.array([b.strict for b in bounds], dtype=np.bool_)
        self._own = self._best = self._so_far = np.zeros((0, self._count))
        self._seen = np.zeros(0, dtype=np.int64)

    @property
    def bytes_a_node(self) -> int:
        return 16 * self._count + 8

    def bounds(self, of_event: Floats, nodes: int, path: int) -> Bounds:
        """What kernels need, with room for so many nodes and for a path so long."""
        self._own, self._best = self._grown(self._own, nodes), self._grown(self._best, nodes)
        self._so_far = self._grown(self._so_far, path)
        if len(self._seen) < nodes:
            self._seen = np.full(nodes, NOTHING, dtype=np.int64)
        weighed = (self._own, self._best, of_event, self._way, self._least, self._strict, self._so_far)
        return Bounds(*weighed, self._seen)

    def _grown(self, rows: Floats, count: int) -> Floats:
        missed = count - len(rows)
        return np.concatenate([rows, np.zeros((missed, self._count))]) if missed > 0 else rows

    def forget(self) -> None:
        """What was weighed anew was not all: it is begun again."""
        self._seen[:] = NOTHING

    def moved(self, arena: Arena, place: npt.NDArray[np.int64]) -> None:
        """The nodes have gone to these places, and what no window holds is cut off."""
        kept = np.flatnonzero(place != NOTHING)
        if len(kept):
            self._own[place[kept]] = self._own[kept]
        self._weigh_all(arena)

    def save(self, arena: Arena) -> npt.NDArray[np.int64]:
        """What the events of the nodes weigh, as the bits of floats."""
        return self._own[: arena.used[USED]].copy().view(np.int64)

    def load(self, arena: Arena, own: npt.NDArray[np.int64] | None) -> None:
        """Takes it over; what is not known is enough for everything."""
        used = arena.used[USED]
        self._own = np.full((used, self._count), np.inf)
        if own is not None and own.shape == self._own.shape:
            self._own[:] = own.view(np.float64)
        self._weigh_all(arena)

    def _weigh_all(self, arena: Arena) -> None:
        self.forget()
        weigh_all(self.bounds(np.zeros((self._count, 0)), len(arena.node), 0), arena)


# ---------------------------------------------------------------- events


def _counting(b: AnyBound, marks: Marks) -> tuple[int, ...]:
    """Which terms of a bound an event with these marks has."""
    terms: tuple[Bound | Term, ...] = b.terms
    return tuple(k for k, term in enumerate(terms) if term.variable in marks)


def _ways(bounds: Sequence[AnyBound], marks: Sequence[Marks]) -> list[tuple[int, tuple[int, ...]]]:
    """The ways in which marks make events count, each a bound with some of its terms."""
    ways = ((k, _counting(b, m)) for k, b in enumerate(bounds) for m in marks)
    return list(dict.fromkeys(way for way in ways if way[1]))


def weights_of(bounds: Sequence[AnyBound], marks: Sequence[Marks], table: pa.Table) -> Floats:
    """What each event of a table weighs, in each way in which marks make it count."""
    ways = _ways(bounds, marks)
    found: Floats = np.zeros((len(ways), len(table)))
    for row, (k, terms) in zip(found, ways, strict=True):
        each = [_weights(bounds[k].terms[t], table) for t in terms]
        row[:] = each[0] if len(each) == 1 else np.nextafter(sum(each), np.inf)
    return found


def _weights(b: Bound | Term, table: pa.Table) -> Floats:
    if isinstance(b, Term):
        return _of_term(b, table)
    of_each: Floats = np.full(len(table), float(b.sign))
    if b.value is None:
        return of_each
    names = {n.name for n in ast.find(b.value, ast.Name)}
    column = evaluated(b.value, {n: one_chunk(table.column(n)) for n in names}, len(table))
    if pa.types.is_null(column.type):
        return 0.0 * of_each
    if b.weight in (Weight.SOME, Weight.NONE):
        return truth(column) * np.float64(1.0 if b.weight is Weight.SOME else -1.0)
    null = missing(column)
    found = of_each if b.weight is Weight.COUNT else _numbers(b, column)
    # What is infinite or NaN is for the judge alone.
    found = np.where(np.isfinite(found), found, np.inf)
    if null is not None:
        found[null] = 0.0
    return found


def _of_term(term: Term, table: pa.Table) -> Floats:
    """The values times the sign, and more by what rounding may make; what is no number is for the judge alone."""
    names = {n.name for n in ast.find(term.value, ast.Name)}
    column = evaluated(term.value, {n: one_chunk(table.column(n)) for n in names}, len(table))
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.full(len(table), np.inf)
    values: Floats = raw(as_floats(column))
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.where(np.abs(values) < _LARGEST, term.sign * values + np.abs(values) * SLACK, np.inf)
    null = missing(column)
    if null is not None:
        found[null] = 0.0
    return found


def _numbers(b: Bound, column: pa.Array) -> Floats:
    """The values times the sign, less the constant of an average; nowhere less than they are."""
    values: Floats = raw(as_floats(column)) * float(b.sign)
    whole = pa.types.is_integer(column.type)
    found: Floats
    with np.errstate(over="ignore", invalid="ignore"):
        if b.weight is Weight.SUM:
            found = np.where(whole & (np.abs(values) >= 2.0**53), np.nextafter(values, np.inf), values)
            return found
        constant = b.sign * b.constant
        rounded = values - constant
        part = rounded - values
        lost = (values - (rounded - part)) + (-constant - part)
        found = np.where(lost > 0.0, np.nextafter(rounded, np.inf), rounded)
        small = whole & (np.abs(values) <= _SMALL)
        found = np.where(small, found, found + (np.abs(values) + abs(constant)) * _SLACK)
    return found
