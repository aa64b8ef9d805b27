"""How many matches end at an event, and how many events they mark, without writing them out.

The matches of an end are the paths through the nodes of the match structure. Nodes have greater numbers than those
that they lead to, so one pass over them in their order counts the paths from each; the numbers are floats, since there
may be exponentially many paths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.arena import (
    CHILD,
    EVENT,
    GROUP,
    MARK_MASK,
    NOTHING,
    REST,
    USED,
    Arena,
    Window,
    alive,
    own_list,
)
from ensue.kernels.jit import inner
from ensue.kernels.stepping import COUNTED, DONE, MARK, NEEDS_OUTPUT, NO_BOUND, REPORTED, SOURCE, End, State

#: What one match takes in the output, and each event that it marks, in bytes.
BYTES_A_MATCH, BYTES_AN_EVENT = 24, 10

# What was counted: all matches and their marked events, those of the end that has most, and those of the first end; and
# the number of nodes that were visited.
MATCHES_IN_ALL, MARKED_IN_ALL, MOST_MATCHES, MOST_MARKED, FIRST_MATCHES, FIRST_MARKED, VISITED = range(7)
TOTALS = 7


class Counts(NamedTuple):
    """The memory of a count, which stops after a number of visits."""

    paths: Any  # float64[nodes, 2]: the matches that a node and its rest stand for, and the events that these mark
    totals: Any  # float64[7]
    visits: float


def new_counts(visits: int) -> Counts:
    return Counts(np.zeros((0, 2)), np.zeros(TOTALS), float(visits))


@inner
def count_matches(state: State, end: End, window: Window, limit: int, counts: Counts) -> int:
    """Counts the complex events that end here; stops when it has visited as many nodes as it may."""
    arena, progress, totals = state.arena, state.progress, counts.totals
    # What a window leaves behind changes the counts of all nodes; without one, those of earlier nodes stay.
    counted = progress[COUNTED] if window.low == NO_BOUND and window.low_second == NO_BOUND else 0
    _count_paths(arena, window, counts.paths, counted)
    matches = marked = 0.0
    for r in range(end.first, end.last):
        source = end.reports[r, SOURCE]
        here, below = 1.0, 0.0
        if source >= 0:
            node = end.slots[end.row, source]
            here = 0.0
            if node != NOTHING and alive(arena, node, window):
                here, below = counts.paths[node, 0], counts.paths[node, 1]
        matches += here
        marked += below + (here if end.reports[r, MARK] != 0 else 0.0)
    progress[REPORTED] = 1 if matches > 0 else 0
    if limit > 0 and matches > limit:
        matches, marked = float(limit), 0.0  # which ones they are, and so how long, is not known here
    if totals[MATCHES_IN_ALL] == 0:
        totals[FIRST_MATCHES], totals[FIRST_MARKED] = matches, marked
    totals[MATCHES_IN_ALL] += matches
    totals[MARKED_IN_ALL] += marked
    if matches > totals[MOST_MATCHES]:
        totals[MOST_MATCHES], totals[MOST_MARKED] = matches, marked
    totals[VISITED] += arena.used[USED] - counted
    progress[COUNTED] = arena.used[USED]
    return NEEDS_OUTPUT if totals[VISITED] > counts.visits else DONE


@inner
def _count_paths(arena: Arena, window: Window, paths: Any, begin: int) -> None:
    """Counts the matches of each node from `begin` on, and of its rest, as far as they are inside the window."""
    for node in range(begin, arena.used[USED]):
        if not alive(arena, node, window):
            continue  # nobody asks for it
        event, child, rest = arena.node[node, EVENT], arena.node[node, CHILD], arena.node[node, REST]
        matches = marked = 0.0
        if event >= 0 and child == NOTHING:
            matches = 1.0
        elif child != NOTHING and (event >= 0 or event == GROUP or alive(arena, child, window)):
            matches, marked = paths[child, 0], paths[child, 1]
        if event >= 0 and event & MARK_MASK != 0:
            marked += matches
        for part in (own_list(arena, node), rest):
            if part != NOTHING and alive(arena, part, window):
                matches += paths[part, 0]
                marked += paths[part, 1]
        paths[node, 0], paths[node, 1] = matches, marked
