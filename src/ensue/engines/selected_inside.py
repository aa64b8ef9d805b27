"""What a selector inside a pattern has chosen, for as long as matches of the whole may still go on from it."""

from __future__ import annotations

import numpy as np

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Piece, concatenated
from ensue.data.envelope import Parts
from ensue.engines.exclusion import Mask, are_among
from ensue.engines.protocol import Positions
from ensue.rewrite.take_apart import Alike

#: Below so many it does not pay to look which of them are asked for no more.
_FEW = 1 << 12


class SelectedInside:
    """Sets of events by their positions in the stream, under the variable that marks them in the whole pattern."""

    def __init__(self, variable: str, budget: Budget) -> None:
        self._only = frozenset({variable})
        self._variable = variable
        self._holder = budget.holder()
        self._sets = [frozenset[str](), self._only]
        self._known = ComplexEvents((), self._sets)
        self._few = _FEW

    @property
    def crowded(self) -> bool:
        return len(self._known) > 2 * self._few

    def add(self, found: ComplexEvents) -> None:
        if len(found):
            self._known = concatenated([self._known, found.only(self._only).numbered(self._sets)], self._sets)
            self._holder.hold(Large.JUDGED, self._known.nbytes, len(self._known))

    def having(self, found: ComplexEvents) -> Mask:
        """Which matches have a chosen set of events, or none at all, where the pattern leaves that part out."""
        marks = found.marks(self._variable)
        left_out: Mask = np.diff(marks.offsets) == 0
        return left_out | are_among(found, self._known, self._only, Alike.MARKS)

    def keep(self, referenced: Positions) -> None:
        """Forgets sets of which no partial match has the last event."""
        if len(self._known):
            last = self._known.position[self._known.offset[1:] - 1]
            self._known = self._known.in_order(np.flatnonzero(np.isin(last, referenced)))
            self._few = max(_FEW, len(self._known))

    def save(self) -> Parts:
        return {"offset": np.array(self._known.offset), "marked": np.array(self._known.position)}

    def load(self, parts: Parts) -> None:
        offset, position = parts["offset"], parts["marked"]
        ends = position[offset[1:] - 1] if len(position) else position
        mark = np.ones(len(position), dtype=np.uint16)
        self._known = ComplexEvents((Piece(ends, ends, offset, position, mark),), self._sets)
