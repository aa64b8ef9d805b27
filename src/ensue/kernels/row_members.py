"""Finds the n-th row with some variables in each match, by looking from one end of the match."""

from __future__ import annotations

from typing import Any

from ensue.kernels.jit import at, kernel


@kernel
def nth_members(wanted: Any, steps: Any, begin: Any, end: Any, n: int, from_first: bool, found: Any) -> None:
    """`found[m]`: the n-th row, from 0 on, from `begin[m]` to `end[m]` whose step is wanted; -1 if there is none."""
    for m in range(len(begin)):
        left, size = n, end[at(m)] - begin[at(m)]
        found[at(m)] = -1
        for i in range(size):
            place = begin[at(m)] + i if from_first else end[at(m)] - 1 - i
            if wanted[at(steps[at(place)])]:
                if left == 0:
                    found[at(m)] = place
                    break
                left -= 1
