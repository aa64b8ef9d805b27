"""The next event of each key, and which windows are left where those that are told take others away."""

from __future__ import annotations

from typing import Any

from ensue.kernels.jit import at, kernel

NONE = -1


@kernel
def next_of_key(codes: Any, first: Any, following: Any) -> None:
    """`following[i]`: the next event with the code of event `i`; `first` gives the first one of each code, or NONE."""
    for i in range(len(codes) - 1, -1, -1):
        following[at(i)] = first[at(codes[at(i)])]
        first[at(codes[at(i)])] = i


@kernel
def take_unconsumed(
    keys: Any, starts: Any, ends: Any, consumed: Any, longest_only: bool, limit: int, kept: Any
) -> None:
    """Which windows are told: those that start behind the last end of their key that was told, as far as chosen.

    Windows of one end are neighbours, the longest first. `consumed` has the last end of each key; of one end, so many
    at most are told, or any number if `limit` is 0.
    """
    last, before, told = NONE, NONE, 0
    for i in range(len(starts)):
        if ends[at(i)] != last:
            last, told = ends[at(i)], 0
            before = consumed[at(keys[at(i)])]
        free = starts[at(i)] > before and (limit == 0 or told < limit) and not (longest_only and told > 0)
        kept[at(i)] = free
        if free:
            told += 1
            consumed[at(keys[at(i)])] = last
