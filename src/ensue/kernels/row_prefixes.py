"""Aggregates of the rows of a match as far as each of its rows: one pass over the rows of all matches.

`begins[i]` is the first row of the match of row `i`, and `known[i]` says whether there is a value in it.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.fixed_point import SPECIALS, add_float, finished_row
from ensue.kernels.jit import at, kernel


@kernel
def running_totals(
    bits: Any, known: Any, begins: Any, width: int, first: int, lanes: Any, sums: Any, counts: Any
) -> None:
    """The bits of the exact sum of floats, rounded once, and their number; `lanes` is room for one sum."""
    count = 0
    for row in range(len(bits)):
        if begins[at(row)] == row:
            count = 0
            for lane in range(width + SPECIALS):
                lanes[0, at(lane)] = 0
        if known[at(row)]:
            count += 1
            add_float(lanes, 0, 0, width, first, bits[at(row)])
        counts[at(row)] = count
        sums[at(row)] = finished_row(lanes, 0, 0, width, first)


@kernel
def running_extremes(ranks: Any, known: Any, begins: Any, greatest: bool, best: Any) -> None:
    """The row with the least or the greatest rank, the first of those that are equal; -1 as long as there is none."""
    place = -1
    for row in range(len(ranks)):
        if begins[at(row)] == row:
            place = -1
        if known[at(row)]:
            rank, best_rank = ranks[at(row)], ranks[at(max(place, 0))]
            if place < 0 or (rank > best_rank if greatest else rank < best_rank):
                place = row
        best[at(row)] = place
