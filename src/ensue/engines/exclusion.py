"""Which matches are left out because others are the same, as far as they are compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ensue.data.complex_events import ComplexEvents, Positions
from ensue.data.events import integers
from ensue.data.partitions import key_codes
from ensue.rewrite.take_apart import Alike

Mask = npt.NDArray[np.bool_]


def are_among(found: ComplexEvents, others: ComplexEvents, compared: frozenset[str], alike: Alike) -> Mask:
    """Of each match, whether one of the others has the same marks of these variables, and the same ends.

    Where they are alike in no end, all of the others must have marks.

    >>> found = ComplexEvents.of([(0, 2, [("x", 0), ("y", 2)]), (1, 2, [("x", 1), ("y", 2)])])
    >>> are_among(found, ComplexEvents.of([(0, 5, [("x", 0), ("b", 5)])]), frozenset({"x"}), Alike.START).tolist()
    [True, False]
    """
    mask = np.zeros(len(found), dtype=np.bool_)
    if not len(found) or not len(others):
        return mask
    ours, theirs = found.only(compared), others.only(compared)
    sets = list(dict.fromkeys([*ours.sets, *theirs.sets]))
    ours, theirs = ours.numbered(sets), theirs.numbered(sets)
    our_counts, their_counts = np.diff(ours.offset), np.diff(theirs.offset)
    for count in np.intersect1d(our_counts, their_counts).tolist():
        some, other = np.flatnonzero(our_counts == count), np.flatnonzero(their_counts == count)
        columns = (
            np.concatenate([a, b])
            for a, b in zip(_columns(ours, some, count, alike), _columns(theirs, other, count, alike), strict=True)
        )
        codes = key_codes([integers(np.ascontiguousarray(c, dtype=np.int64)) for c in columns])
        known = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
        known[codes[len(some) :]] = True
        mask[some] = known[codes[: len(some)]]
    return mask


def _columns(found: ComplexEvents, chosen: Positions, count: int, alike: Alike) -> list[Positions]:
    """What these matches, which have so many marked events, are compared by."""
    columns = [found.start[chosen]] if alike in (Alike.BOTH, Alike.START) else []
    columns += [found.end[chosen]] if alike in (Alike.BOTH, Alike.END) else []
    for k in range(count):
        places = found.offset[chosen] + k
        columns += [found.position[places], found.mark[places].astype(np.int64)]
    return columns
