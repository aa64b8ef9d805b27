"""The lists of runs with one clock against plain sets of runs: what they hold, and in how many steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest
from inner_kernels import callable_from_python

from ensue.kernels import clock_lists, waiting_lists
from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, STAMP, USED, new_arena
from ensue.kernels.clock_lists import NO_CHECK, NODES_A_MOVE, STOPPED, collect
from ensue.kernels.waiting_lists import collect as collect_queues

join, new_cell, new_start, passed, reset_in = (
    callable_from_python(f)
    for f in (clock_lists.join, clock_lists.new_cell, clock_lists.new_start, clock_lists.passed, clock_lists.reset_in)
)
queued, ripe = callable_from_python(waiting_lists.queued), callable_from_python(waiting_lists.ripe)

#: The events of a run, the last one first, and when its clock was reset.
Run = tuple[tuple[int, ...], int]
SLOTS = 4
#: The most steps from any node to the next event of a match, and the most nodes that a move makes.
MOST_STEPS = 5
MOST_NODES = 2 * (SLOTS + 3) + 2


@dataclass
class Lists:
    """Slots of runs as an evaluator keeps them, and beside them the plain sets that they stand for."""

    rng: Random
    now: int = 0
    slots: np.ndarray = field(default_factory=lambda: np.full((1, SLOTS), NOTHING, dtype=np.int64))
    plain: list[set[Run]] = field(default_factory=lambda: [set() for _ in range(SLOTS)])

    def __post_init__(self) -> None:
        self.arena = arena = new_arena(1 << 16, second=True)
        self.nodes, self.bounds, self.used = arena.node, arena.second, arena.used
        self.event = 0
        self.most_nodes = 0  # that one move has made
        self.forgotten = NO_CHECK  # what was reset earlier than this is asked for no more

    def step(self) -> None:
        """One event: each slot goes on to one slot, or nowhere, and with marks to others; some runs start."""
        rng = self.rng
        self.now += rng.choice([0, 0, 1, 1, 2, 5])
        self.event += 1
        lists: list[int] = [NOTHING] * SLOTS
        plain: list[set[Run]] = [set() for _ in range(SLOTS)]
        fresh = int(self.used[USED])
        moves = [(slot, False) for slot in range(SLOTS) if rng.random() < 0.9]
        moves += [(slot, True) for slot in range(SLOTS) if rng.random() < 0.4]
        moves += [(NOTHING, True)] * (rng.random() < 0.5)
        for source, marks in moves:
            target = source if source != NOTHING and rng.random() < 0.6 else rng.randrange(SLOTS)
            resets = rng.random() < 0.25
            bound = self.now - rng.choice([0, 1, 3, 6]) if rng.random() < 0.3 else NO_CHECK
            bound = max(bound, self.forgotten) if resets else bound
            before = int(self.used[USED])
            added = self._moved(source, marks, resets, bound)
            if added != NOTHING:
                new = added if lists[target] == NOTHING else self._joined(lists[target], added, fresh)
                lists[target] = new
            self.most_nodes = max(self.most_nodes, int(self.used[USED]) - before)
            plain[target] |= self._plainly(source, marks, resets, bound)
        self.slots[0], self.plain = lists, plain

    def _moved(self, source: int, marks: bool, resets: bool, bound: int) -> int:
        if source == NOTHING:
            return int(new_start(self.arena, self.event, self.now if resets else STOPPED))
        list_ = int(self.slots[0, source])
        if list_ == NOTHING or self.nodes[list_, STAMP] < bound:
            return NOTHING
        if marks:
            stamp = self.now if resets else self.nodes[list_, STAMP]
            return int(new_cell(self.arena, list_, self.event, bound, resets, stamp))
        if not resets and bound == NO_CHECK:
            return list_
        return int(passed(self.arena, list_, bound, resets, self.now))

    def _joined(self, a: int, b: int, fresh: int) -> int:
        return int(join(self.arena, a, b, fresh))

    def _plainly(self, source: int, marks: bool, resets: bool, bound: int) -> set[Run]:
        if source == NOTHING:
            return {((self.event,), self.now if resets else STOPPED)}
        mine = (self.event,) if marks else ()
        return {
            (mine + events, self.now if resets else reset) for events, reset in self.plain[source] if reset >= bound
        }

    def listed(self, list_: int, low: int) -> tuple[list[tuple[int, ...]], int]:
        """The runs of a list that were reset at `low` or later, and the most steps from one event to the next."""
        found: list[tuple[int, ...]] = []
        longest = 0
        waiting: list[tuple[int, int, tuple[int, ...], int]] = []
        if list_ != NOTHING and self.nodes[list_, STAMP] >= low:
            waiting.append((list_, low, (), 0))
        while waiting:
            node, low, events, steps = waiting.pop()
            assert self.nodes[node, STAMP] >= low  # nothing is visited in vain
            rest, child = int(self.nodes[node, REST]), int(self.nodes[node, CHILD])
            assert max(rest, child if child >= NOTHING else reset_in(child)) < node
            if rest != NOTHING and self.nodes[rest, STAMP] >= low:
                waiting.append((rest, low, events, 0))
            steps += 1
            longest = max(longest, steps)
            if self.nodes[node, EVENT] >= 0:
                events, steps = (*events, int(self.nodes[node, EVENT])), 0
            if child == NOTHING:
                found.append(events)
            elif child < NOTHING:
                waiting.append((reset_in(child), int(self.bounds[node]), events, steps))
            else:
                waiting.append((child, max(low, int(self.bounds[node])), events, steps))
        return found, longest

    def check(self, low: int) -> None:
        low = max(low, self.forgotten)
        for slot in range(SLOTS):
            found, longest = self.listed(int(self.slots[0, slot]), low)
            assert sorted(found) == sorted(events for events, reset in self.plain[slot] if reset >= low)
            assert longest <= MOST_STEPS

    def forget(self, low: int) -> None:
        """What was reset earlier has come to nothing."""
        self.forgotten = low = max(low, self.forgotten)
        self.plain = [{run for run in runs if run[1] >= low} for runs in self.plain]
        self.collect(low)

    def collect(self, low: int) -> None:
        used = int(self.used[USED])
        asked, place = np.full(used, STOPPED, dtype=np.int64), np.full(used, NOTHING, dtype=np.int64)
        collect(self.arena, self.slots, np.full((1, SLOTS), low, dtype=np.int64), asked, place)


@pytest.mark.parametrize("seed", range(60))
def test_lists_hold_the_runs_that_plain_sets_hold(seed: int) -> None:
    rng = Random(seed)
    lists = Lists(rng)
    for _ in range(40):
        lists.step()
        if sum(map(len, lists.plain)) > 2_000:
            break
        lists.check(rng.choice([NO_CHECK, lists.now - 2, lists.now]))
        if rng.random() < 0.2:
            lists.forget(lists.now - rng.choice([1, 4, 9]))
            lists.check(NO_CHECK)
    assert lists.most_nodes <= MOST_NODES < NODES_A_MOVE


def test_a_run_that_no_check_can_pass_is_given_back() -> None:
    lists = Lists(Random(0))
    for _ in range(30):
        lists.step()
    assert lists.used[USED] > 0
    lists.plain = [set() for _ in range(SLOTS)]
    lists.collect(STOPPED)
    kept = int(lists.used[USED])
    lists.collect(STOPPED)
    assert int(lists.used[USED]) == kept  # only runs whose clock does not run


@pytest.mark.parametrize("seed", range(20))
def test_a_queue_gives_those_that_have_waited_and_looks_at_each_once(seed: int) -> None:
    rng = Random(seed)
    arena = new_arena(1 << 10, second=True)
    nodes, second, used = arena.node, arena.second, arena.used
    slots = np.full((1, 1), NOTHING, dtype=np.int64)
    queue, now, taken = NOTHING, 0, []
    for _ in range(60):
        now += rng.choice([0, 1, 2])
        fresh = int(used[USED])
        for _ in range(rng.choice([0, 1, 1, 3])):
            cell = new_start(arena, now, now)
            nodes[cell, REST] = queue
            queue = cell
        if queue >= fresh:
            queued(arena, queue, fresh)
        if queue != NOTHING and rng.random() < 0.5:
            found = ripe(arena, queue, now - 4)
            assert stamps_from(nodes, found) == [t for t in stamps_from(nodes, queue) if t <= now - 4]
            taken.append((found, stamps_from(nodes, found)))
            waiting = int(second[queue])
            assert waiting == NOTHING or nodes[waiting, REST] == found  # it goes on from here, not from the beginning
        if queue != NOTHING and rng.random() < 0.1:
            slots[0, 0] = queue
            collect_queues(arena, slots, np.full(int(used[USED]), NOTHING, dtype=np.int64))
            queue, taken = int(slots[0, 0]), []
    assert all(stamps_from(nodes, found) == stamps for found, stamps in taken)  # what was taken stays as it was


def stamps_from(nodes: np.ndarray, node: int) -> list[int]:
    found = []
    while node != NOTHING:
        found.append(int(nodes[node, STAMP]))
        node = int(nodes[node, REST])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_steps_and_nodes_stay_few_however_long_the_stream_is(seed: int) -> None:
    """Without enumerating: from every node the way to the next event is short, and no move makes many nodes."""
    lists = Lists(Random(seed))
    for _ in range(1_000):
        lists.step()
    steps = np.zeros(int(lists.used[USED]), dtype=np.int64)
    for node in range(len(steps)):
        if lists.nodes[node, EVENT] < 0:
            child = int(lists.nodes[node, CHILD])
            steps[node] = 1 + steps[reset_in(child) if child < NOTHING else child]
    assert steps.max() < MOST_STEPS
    assert lists.most_nodes <= MOST_NODES
