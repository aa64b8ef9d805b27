"""How many matches end at an event, and how many events they mark, without writing them out.

The matches of an end are the paths through the nodes of the match structure. Nodes have greater numbers than those
that they lead to, so one pass over them in their order counts the paths from each; the numbers are floats, since there
may be exponentially many paths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.arena import CHILD, EVENT, GROUP, MARK_MASK, NOTHING, REST, alive, own_list
from ensue.kernels.jit import kernel

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


NO_COUNTS = Counts(np.zeros((0, 2)), np.zeros(0), 0.0)


def new_counts(visits: int) -> Counts:
    return Counts(np.zeros((0, 2)), np.zeros(TOTALS), float(visits))


@kernel
def count_paths(nodes: Any, seconds: Any, paths: Any, begin: int, end: int, low: int, low_second: int) -> None:
    """Counts the paths from the nodes from `begin` up to `end`, inside the window; those before are counted."""
    for node in range(begin, end):
        if not alive(nodes, seconds, node, low, low_second):
            continue  # nobody asks for it
        event, child, rest = nodes[node, EVENT], nodes[node, CHILD], nodes[node, REST]
        matches = marked = 0.0
        if event >= 0 and child == NOTHING:
            matches = 1.0
        elif child != NOTHING and (event >= 0 or event == GROUP or alive(nodes, seconds, child, low, low_second)):
            matches, marked = paths[child, 0], paths[child, 1]
        if event >= 0 and event & MARK_MASK != 0:
            marked += matches
        own = own_list(nodes, node)
        for part in (own, rest):
            if part != NOTHING and alive(nodes, seconds, part, low, low_second):
                matches += paths[part, 0]
                marked += paths[part, 1]
        paths[node, 0], paths[node, 1] = matches, marked


@kernel
def count_reports(
    report_source: Any,
    report_mark: Any,
    first: int,
    last: int,
    slots: Any,
    k: int,
    nodes: Any,
    seconds: Any,
    counted: int,
    used: int,
    counts: Counts,
    low: int,
    low_second: int,
    limit: int,
) -> bool:
    """Adds what the reports from `first` to `last` stand for. Gives whether any match ends here.

    The nodes from `counted` up to `used` are counted first. With a limit for each end, events of matches are left out.
    """
    paths, totals = counts.paths, counts.totals
    count_paths(nodes, seconds, paths, counted, used, low, low_second)
    matches = marked = 0.0
    for r in range(first, last):
        source = report_source[r]
        if source < 0:
            here, below = 1.0, 0.0
        elif slots[k, source] != NOTHING and alive(nodes, seconds, slots[k, source], low, low_second):
            here, below = paths[slots[k, source], 0], paths[slots[k, source], 1]
        else:
            here, below = 0.0, 0.0
        matches += here
        marked += below + (here if report_mark[r] != 0 else 0.0)
    ends = matches > 0
    if limit > 0 and matches > limit:
        matches, marked = float(limit), 0.0
    if totals[MATCHES_IN_ALL] == 0:
        totals[FIRST_MATCHES], totals[FIRST_MARKED] = matches, marked
    totals[MATCHES_IN_ALL] += matches
    totals[MARKED_IN_ALL] += marked
    if matches > totals[MOST_MATCHES]:
        totals[MOST_MATCHES], totals[MOST_MARKED] = matches, marked
    totals[VISITED] += used - counted
    return ends
