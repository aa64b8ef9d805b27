"""Collects parts of the matches until all are found, and notes their memory in the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Variables, concatenated


class Collected:
    """Keeps parts. Raises the budget's error if they are too large."""

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
        """All parts as one. If there are several, all must have these sets of variables."""
        return self._parts[0] if len(self._parts) == 1 else concatenated(self._parts, sets)

    def release(self) -> None:
        """Forgets the parts, which are kept elsewhere now."""
        self._parts = []
        self._holder.hold(self._what, 0, 0)
