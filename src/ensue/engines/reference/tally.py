"""What the reference keeps, counted: its complex events are Python objects, and there may be exponentially many."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ensue.data.budget import Budget, Large

if TYPE_CHECKING:
    from ensue.engines.reference.patterns import ComplexEvent

#: The object and its entries, beside the sets of its marks and of its support (measured); and a place in another set.
_OBJECT, _PLACE = 200, 100
#: So many at a time are noted.
_STEP = 1 << 10


class Tally:
    """Notes what complex events take as they are kept, and raises the error of the budget when it is too much."""

    def __init__(self, budget: Budget) -> None:
        self._holder = budget.holder()
        self._size = self._count = 0

    def counted(self, found: Iterable[ComplexEvent], *, new: bool) -> Iterator[ComplexEvent]:
        """The same, each being noted when it is taken; `new` ones are not kept elsewhere already."""
        for c in found:
            self._count += 1
            self._size += _size_of(c) if new else _PLACE
            if self._count % _STEP == 0:
                self._holder.hold(Large.PARTS, self._size, self._count)
            yield c

    def kept(self, found: Iterable[ComplexEvent], *, new: bool) -> frozenset[ComplexEvent]:
        """Those that differ, as a set."""
        size, count = self._size, self._count
        different = frozenset(self.counted(found, new=new))
        # Those that are there once more were let go of.
        taken = self._count - count
        if taken > len(different):
            self._size = size + (self._size - size) * len(different) // taken
            self._count = count + len(different)
        return different

    def release(self) -> None:
        """They are all let go of."""
        self._size = self._count = 0
        self._holder.hold(Large.PARTS, 0, 0)


def _size_of(c: ComplexEvent) -> int:
    return _OBJECT + 2 * sys.getsizeof(c.marks)
