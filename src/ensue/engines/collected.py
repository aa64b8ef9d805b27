"""Parts of the matches that are kept until all of them are there: what they take is noted as they come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Variables, concatenated


class Collected:
    """Keeps parts; raises the error of the budget when they are too many."""

    def __init__(self, budget: Budget, what: Large) -> None:
        self._holder = budget.holder()
        self._what = what
        self._parts: list[ComplexEvents] = []
        self._size = self._count = 0

    def add(self, part: ComplexEvents) -> None:
        self._parts.append(part)
        self._size += part.nbytes
        self._count += part.marked if self._what is Large.TOOK_PART else len(part)
        self._holder.hold(self._what, self._size, self._count)

    def add_all(self, parts: Iterable[ComplexEvents]) -> Collected:
        for part in parts:
            self.add(part)
        return self

    def concatenated(self, sets: Sequence[Variables]) -> ComplexEvents:
        """One part after the other; all of several have these sets of variables."""
        return self._parts[0] if len(self._parts) == 1 else concatenated(self._parts, sets)

    def release(self) -> None:
        """They are kept elsewhere by now."""
        self._parts = []
        self._holder.hold(self._what, 0, 0)
