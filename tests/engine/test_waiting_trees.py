"""The piles of runs that wait for lower bounds against plain sets of runs: what they hold, and in how many steps."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from inner_kernels import callable_from_python

from ensue.kernels import clock_lists, waiting_trees
from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, STAMP, USED, Arena, new_arena
from ensue.kernels.clock_lists import NO_CHECK, STOPPED, collect
from ensue.kernels.waiting_trees import PILE, UNION

new_cell, new_start, pile_of, united = (
    callable_from_python(f)
    for f in (clock_lists.new_cell, clock_lists.new_start, waiting_trees.pile_of, waiting_trees.united)
)

#: The events of a run, the last one first, and the stamp of its reset: the time with the other sign.
Run = tuple[tuple[int, ...], int]


def read(arena: Arena, pile: int, low: int) -> tuple[list[tuple[int, ...]], int]:
    """The events of the runs of a pile with the stamp `low` or later, and the most steps from one event to the next."""
    nodes, longest = arena.node, 0
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[int, int, tuple[int, ...], int]] = [(pile, low, (), 0)] if pile != NOTHING else []
    while waiting:
        node, low, events, steps = waiting.pop()
        if nodes[node, STAMP] < low:
            continue
        rest, child, event = (int(nodes[node, part]) for part in (REST, CHILD, EVENT))
        steps += 1
        longest = max(longest, steps)
        if rest != NOTHING:
            waiting.append((rest, low, events, steps))
        if event >= 0:
            events, steps, low = (*events, event), 0, max(low, int(arena.second[node]))
        if child == NOTHING:
            found.append(events)
        else:
            waiting.append((child, low, events, steps))
    return found, longest


def heights(arena: Arena, pile: int) -> list[int]:
    found = []
    while pile != NOTHING:
        found.append(PILE - int(arena.node[pile, EVENT]))
        pile = int(arena.node[pile, REST])
    return found


@pytest.mark.parametrize("seed", range(30))
def test_piles_hold_the_runs_that_plain_sets_hold(seed: int) -> None:
    rng, arena, now = Random(seed), new_arena(1 << 16, second=True), 0
    piles: list[int] = [NOTHING] * 3
    plain: list[set[Run]] = [set() for _ in piles]
    highest = 0
    for event in range(60):
        now += rng.choice([0, 1, 2])
        source, target = rng.randrange(3), rng.randrange(3)
        started = int(new_start(arena, event, -now))
        piles[0] = int(united(arena, piles[0], pile_of(arena, started)))
        plain[0].add(((event,), -now))
        bound = rng.choice([NO_CHECK, -now + 2, -now + 9])
        runs = {((event, *events), reset) for events, reset in plain[source] if reset >= bound}
        if runs and sum(map(len, plain)) < 3_000:
            cell = new_cell(arena, piles[source], event, bound, False, arena.node[piles[source], STAMP])
            piles[target] = int(united(arena, piles[target], pile_of(arena, cell)))
            plain[target] |= runs
        if rng.random() < 0.1 and source != target:  # all of one go on to the other
            piles[target], piles[source] = int(united(arena, piles[target], piles[source])), NOTHING
            plain[target], plain[source] = plain[target] | plain[source], set()
        if rng.random() < 0.1:
            piles = collected(arena, piles)
        low = rng.choice([NO_CHECK, -now + 1, -now + 5])
        for pile, held in zip(piles, plain, strict=True):
            found, longest = read(arena, pile, low)
            assert sorted(found) == sorted(events for events, reset in held if reset >= low)
            assert heights(arena, pile) == sorted(set(heights(arena, pile)))
            highest = max([highest, *heights(arena, pile)])
            assert longest <= 2 * highest + 3


def collected(arena: Arena, piles: list[int]) -> list[int]:
    used = int(arena.used[USED])
    slots = np.array([piles], dtype=np.int64)
    asked, place = np.full(used, STOPPED, dtype=np.int64), np.full(used, NOTHING, dtype=np.int64)
    collect(arena, slots, np.full((1, len(piles)), NO_CHECK, dtype=np.int64), asked, place)
    return [int(pile) for pile in slots[0]]


def test_a_cell_takes_two_nodes_more_on_average_and_a_pile_is_low() -> None:
    arena, pile = new_arena(1 << 16, second=True), NOTHING
    for event in range(10_000):
        pile = int(united(arena, pile, pile_of(arena, new_start(arena, event, -event))))
    unions = int((arena.node[: int(arena.used[USED]), EVENT] == UNION).sum())
    assert unions < 10_000
    assert int(arena.used[USED]) < 40_000
    assert heights(arena, pile) == [k for k in range(14) if 10_000 >> k & 1]
