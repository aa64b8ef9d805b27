"""Where events left and came among those of a stream, and where that puts the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ChangedPlaces:
    """Both in order: the places that `gone` events had before the step, and those that new ones have after it.

    >>> changed = ChangedPlaces(gone=np.array([1]), came=np.array([3, 4]))  # a b c d e -> a c d X Y e
    >>> changed.first
    1
    >>> changed.moved(np.array([0, 1, 2, 4, 5])).tolist()
    [0, 1, 1, 3, 6]
    >>> changed.between(np.array([0, 1, 2, 4, 5])).tolist()
    [False, True, False, True]
    """

    gone: Integers
    came: Integers

    @property
    def first(self) -> int:
        """How many events lie before the first change."""
        return int(min(places[0] for places in (self.gone, self.came) if len(places)))

    def moved(self, borders: Integers) -> Integers:
        """Where borders between events are now: `b` was behind the first `b` events. What came at one is behind it."""
        kept = borders - np.searchsorted(self.gone, borders)
        return kept + np.searchsorted(self.came - np.arange(len(self.came)), kept)

    def between(self, borders: Integers) -> npt.NDArray[np.bool_]:
        """Whether something has changed between each of these borders, which are in order, and the next one."""
        gone, came = np.searchsorted(self.gone, borders), np.searchsorted(self.came, self.moved(borders))
        changed: npt.NDArray[np.bool_] = (np.diff(gone) > 0) | (np.diff(came) > 0)
        return changed

    def behind(self, before: int, now: int) -> ChangedPlaces | None:
        """What of it is behind the first events, of which there were `before` and are `now`; None if nothing is."""
        gone, came = self.gone[self.gone >= before] - before, self.came[self.came >= now] - now
        return ChangedPlaces(gone, came) if len(gone) or len(came) else None
