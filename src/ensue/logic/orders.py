"""Decides whether comparisons can all hold at once, from the order of values alone.

Values and the constants they are compared with are points on a line; comparisons say that some points are equal,
different, or before others. All comparisons can hold at once if and only if no chain leads from a point to a point
before it, nor from a point to a different one and back. NULL and NaN have no order, so a comparison and its opposite
can both fail; only a value for which some comparison holds is known to be neither.

Arithmetic is not decided: `v` and `v + 1` are two points.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

#: Each comparison, and the one that holds where it fails, if both sides have an order.
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

Point = Hashable
#: A comparison of two points, and whether it holds.
Comparison = tuple[Point, str, Point, bool]
#: The kind and value of a point that is a constant; constants of one kind are ordered by their values.
Constant = tuple[str, Any]


def can_be_ordered(comparisons: Sequence[Comparison], constant: Callable[[Point], Constant | None]) -> bool:
    """Whether some values satisfy all comparisons.

    >>> number = lambda point: ("number", point) if isinstance(point, int) else None
    >>> can_be_ordered([("v", ">", 5, True), ("v", "<", 7, True)], number)
    True
    >>> can_be_ordered([("v", ">", 5, True), ("v", "<", "w", True), ("w", "=", 3, True)], number)
    False
    """
    points = dict.fromkeys(p for a, _, b, _ in comparisons for p in (a, b))
    constants = {p: found for p in points if (found := constant(p)) is not None}
    # `<>` also holds for NaN, so it does not show that a value has an order.
    ordered = constants.keys() | {p for a, op, b, holds in comparisons if holds and op != "<>" for p in (a, b)}
    after: dict[Point, set[Point]] = {}  # for each point, points that are not before it
    strict: list[tuple[Point, Point]] = []
    different: list[tuple[Point, Point]] = []
    for a, op, b, holds in [*comparisons, *_in_order(constants.items())]:
        if a not in ordered or b not in ordered:
            continue
        said = op if holds else OPPOSITE[op]
        if said == "<>":
            different.append((a, b))
        if said in ("=", "<", "<="):
            after.setdefault(a, set()).add(b)
        if said in ("=", ">", ">="):
            after.setdefault(b, set()).add(a)
        if said in ("<", ">"):
            strict.append((a, b) if said == "<" else (b, a))
    return not any(_leads(b, a, after) for a, b in strict) and not any(
        _leads(a, b, after) and _leads(b, a, after) for a, b in different
    )


def _in_order(constants: Iterable[tuple[Point, Constant]]) -> list[Comparison]:
    """The comparisons of each constant with the next one of its kind."""
    of_kind: dict[str, list[tuple[Any, Point]]] = defaultdict(list)
    for point, (kind, value) in constants:
        of_kind[kind].append((value, point))
    found: list[Comparison] = []
    for values in of_kind.values():
        values.sort(key=lambda v: v[0])
        found += [(a, "=" if v == w else "<", b, True) for (v, a), (w, b) in itertools.pairwise(values)]
    return found


def _leads(a: Point, b: Point, after: dict[Point, set[Point]]) -> bool:
    seen, waiting = {a}, [a]
    while waiting:
        point = waiting.pop()
        if point == b:
            return True
        new = after.get(point, set()) - seen
        seen |= new
        waiting += new
    return False
