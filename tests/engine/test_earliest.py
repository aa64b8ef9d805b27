"""The search for the earliest start: over random lists it finds what looking at every run finds, in few steps."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from inner_kernels import callable_from_python

from ensue.kernels import arena, earliest
from ensue.kernels.arena import (
    CHILD,
    EVENT,
    MARK_BITS,
    NODES_A_MOVE,
    NOTHING,
    REST,
    STAMP,
    USED,
    Arena,
    Window,
    new_arena,
)

alive, join, new_cell, new_start, starts_later = (
    callable_from_python(f) for f in (arena.alive, arena.join, arena.new_cell, arena.new_start, arena.starts_later)
)
add_rungs, earliest_start, with_start = (
    callable_from_python(f) for f in (earliest.add_rungs, earliest.earliest_start, earliest.with_start)
)

NO_LOW = int(np.iinfo(np.int64).min)


def window(stamp: int, low: int = NO_LOW) -> Window:
    """What a move at an event with this stamp sees, and from which stamp on."""
    return Window(stamp, 0, low, NO_LOW)


class Lists:
    """Slots of partial matches that random moves change, as the evaluator's moves do."""

    def __init__(self, seed: int, slots: int, events: int) -> None:
        self.random = random.Random(seed)
        self.arena: Arena = new_arena(events * 4 * NODES_A_MOVE, second=False)
        self.slots = [NOTHING] * slots
        self.time = 0
        self.pending = np.empty(1 << 16, dtype=np.int64)
        for position in range(events):
            self._move(position)
        used = int(self.arena.used[USED])
        self.ladder = np.empty((used, earliest.WIDTH), dtype=np.int64)
        add_rungs(self.arena.node, self.ladder, 0, used)

    def _move(self, position: int) -> None:
        event = (position << MARK_BITS) | 1
        kind = self.random.random()
        target = self.random.randrange(len(self.slots))
        if kind < 0.5:
            self.time += self.random.choice([0, 1, 1])  # several events may have one time
            for mark in range(1, self.random.choice([2, 2, 3])):  # and an event may be marked in several ways
                start = new_start(self.arena, (position << MARK_BITS) | mark, window(self.time))
                self._add(target, start, new=True)
            return
        source = self.random.randrange(len(self.slots))
        if self.slots[source] == NOTHING or source == target:
            return
        added = self.slots[source]
        self.slots[source] = NOTHING  # each run is in one slot, so that lists are disjoint
        if kind < 0.8:
            added = new_cell(self.arena, added, event)
        self._add(target, added, new=kind < 0.8)

    def _add(self, target: int, added: int, *, new: bool) -> None:
        before = self.slots[target]
        if before == NOTHING:
            self.slots[target] = added
        elif new and starts_later(self.arena, added, before):
            self.arena.node[added, REST] = before
            self.slots[target] = added
        else:
            self.slots[target] = join(self.arena, before, added, True)

    def starts(self, node: int) -> list[tuple[int, int]]:
        """All starts in a list, by looking at every run: their positions, and their times."""
        found, waiting = [], [node]
        while waiting:
            n = waiting.pop()
            if n == NOTHING:
                continue
            child, rest = int(self.arena.node[n, CHILD]), int(self.arena.node[n, REST])
            if child == NOTHING:
                found.append((int(self.arena.node[n, EVENT]) >> MARK_BITS, int(self.arena.node[n, STAMP])))
            waiting += [child, rest]
        return found

    def found(self, node: int, low: int) -> int:
        start = earliest_start(self.arena, self.ladder, node, NOTHING, window(0, low), self.pending)
        return int(start)


@pytest.mark.parametrize("seed", range(40))
def test_finds_the_start_that_looking_at_all_finds(seed: int) -> None:
    lists = Lists(seed, slots=3, events=120)
    compared = 0
    for slot, low in itertools.product(lists.slots, range(-1, 60, 2)):
        inside = [position for position, time in lists.starts(slot) if time >= low]
        assert lists.found(slot, low) == min(inside, default=NOTHING)
        compared += bool(inside)
    assert compared > 10


@pytest.mark.parametrize("seed", range(20))
def test_visits_the_runs_with_one_start_only(seed: int) -> None:
    lists = Lists(seed, slots=2, events=80)
    nodes, ladder = lists.arena.node, lists.ladder
    for slot in lists.slots:
        starts = [position for position, _ in lists.starts(slot)]
        for start in starts:
            reached, waiting = [], [slot]
            while waiting:
                node = int(with_start(nodes, ladder, waiting.pop(), start))
                if node == NOTHING:
                    continue
                child = int(nodes[node, CHILD])
                if child == NOTHING:
                    reached.append(int(nodes[node, EVENT]) >> MARK_BITS)
                else:
                    waiting.append(child)
                waiting.append(int(nodes[node, REST]))
            assert set(reached) == {start}
            assert len(reached) == starts.count(start)


def test_rungs_reach_every_node_of_a_long_list_in_few_steps() -> None:
    length = 10_000
    made = new_arena(length, second=False)
    head = NOTHING
    for position in range(length):
        cell = new_start(made, (position << MARK_BITS) | 1, window(position))
        made.node[cell, REST] = head
        head = cell
    ladder = np.empty((length, earliest.WIDTH), dtype=np.int64)
    add_rungs(made.node, ladder, 0, length)
    for low in (0, 1, 17, 4_999, 9_998, 9_999):
        node, steps = head, 0
        while made.node[node, REST] != NOTHING:
            rung, rest = int(ladder[node, earliest.RUNG]), int(made.node[node, REST])
            node, stop = next(((n, False) for n in (rung, rest) if alive(made, n, window(0, low))), (node, True))
            steps += 1
            if stop:
                break
        assert int(made.node[node, STAMP]) == low
        assert steps <= 3 * 14  # three times the logarithm
