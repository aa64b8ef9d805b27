"""Zones: sets of clock values, given by bounds on clocks and on their differences.

A zone is a union of the regions of Alur and Dill that theorem 5.4 explores. The number of regions grows with the size
of the bounds (a window of 12 hours and a gap of a millisecond give millions), but there are only a few zones. A zone is
a matrix of bounds, each as small as the others allow. A bound is a whole number: `2 * c + 1` is "at most c" and `2 * c`
is "less than c".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ensue.logic.stored_values import Register

Bound = int
NO_BOUND: Bound = 1 << 200
ZERO: Bound = 1


def at_most(c: int) -> Bound:
    return 2 * c + 1


def less_than(c: int) -> Bound:
    return 2 * c


def plus(a: Bound, b: Bound) -> Bound:
    """The bound on `x - z`, if `a` bounds `x - y` and `b` bounds `y - z`."""
    return NO_BOUND if a >= NO_BOUND or b >= NO_BOUND else a + b - ((a | b) & 1)


def tighten(rows: list[list[Bound]]) -> bool:
    """Makes every bound as small as the others allow; returns False if no values are left."""
    size = range(len(rows))
    for k in size:
        through = rows[k]
        for row in rows:
            first = row[k]
            if first >= NO_BOUND:
                continue
            for j in size:
                bound = plus(first, through[j])
                if bound < row[j]:
                    row[j] = bound
    return all(rows[i][i] >= ZERO for i in size)


@dataclass(frozen=True)
class Zone:
    """Bounds on `x - y` for all clocks, in the given order; the first row and column are for the number zero."""

    clocks: tuple[Register, ...] = ()
    rows: tuple[tuple[Bound, ...], ...] = ((ZERO,),)

    def later(self) -> Zone:
        """The zone after any length of time, also none: events may have the same time."""
        return Zone(self.clocks, (self.rows[0], *((NO_BOUND, *row[1:]) for row in self.rows[1:])))

    def where(self, bounds: Iterable[tuple[Register, Bound, Bound]]) -> Zone | None:
        """The zone with these bounds on clocks and on their negatives, None if empty; stopped clocks are ignored."""
        place = {clock: n for n, clock in enumerate(self.clocks, 1)}
        asked = [(place[clock], high, low) for clock, high, low in bounds if clock in place]
        if not asked:
            return self
        rows = [list(row) for row in self.rows]
        for n, high, low in asked:
            rows[n][0] = min(rows[n][0], high)
            rows[0][n] = min(rows[0][n], low)
        return self._of(rows) if tighten(rows) else None

    def _of(self, rows: Sequence[Sequence[Bound]]) -> Zone:
        return Zone(self.clocks, tuple(map(tuple, rows)))

    def after(self, changed: Mapping[Register, bool], needed: Iterable[Register]) -> Zone:
        """The zone with clocks reset (True) or stopped (False), and with only the needed clocks."""
        running = [c for c in self.clocks if c not in changed]
        kept = sorted({*running, *(c for c, runs in changed.items() if runs)} & {*needed})
        # A clock that is reset equals the number zero.
        place = [0, *(0 if c in changed else self.clocks.index(c) + 1 for c in kept)]
        return Zone(tuple(kept), tuple(tuple(self.rows[i][j] for j in place) for i in place))

    def without_far(self, largest: Mapping[Register, int]) -> Zone:
        """The zone with all values merged that exceed the largest bound on their clock: then zones are finitely many.

        This adds no run if, as here, no difference of two clocks is compared (Bouyer, Untameable timed automata, 2003).
        """
        most = [0, *(largest.get(c, 0) for c in self.clocks)]
        rows = [
            [
                bound if i == j else NO_BOUND if i and bound > at_most(most[i]) else max(bound, less_than(-most[j]))
                for j, bound in enumerate(row)
            ]
            for i, row in enumerate(self.rows)
        ]
        tighten(rows)
        return self._of(rows)

    def covers(self, other: Zone) -> bool:
        """Whether this zone contains all values of the other, which has the same clocks."""
        return all(a >= b for x, y in zip(self.rows, other.rows, strict=True) for a, b in zip(x, y, strict=True))
