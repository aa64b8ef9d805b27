"""How many windows can be open at once.

A window that began at an event is open while some events could still end it. The windows open after some events are the
runs of an automaton that reads the stream, guesses where a window starts, and reads the window from there. So there is
a bound if and only if that automaton is finitely ambiguous. By the criterion IDA of Weber and Seidl (1991), there is
none if and only if, in some situation of the stream, some further events lead

    the stream back to the same situation,   a window that starts with them to a state q,   a window in q back to q

where a window in q can still end. Each further round of these events then leaves one more window open.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ensue.automata.build.expect import Expectation
from ensue.automata.model import Automaton
from ensue.automata.overlap.stream import Letter, Situation, Streams, TooMany, holds
from ensue.automata.predicates import Predicate
from ensue.data.schema import Schema

#: The sets of states that the runs of a window can be in.
_Subset = frozenset[int]
_START: _Subset = frozenset({0})
_Open = tuple[Situation, _Subset]
#: More states than this are not gone through, nor more steps between them; and no more windows are counted.
MOST_STATES, MOST_STEPS, MOST_COUNTED = 5_000, 400_000, 64


@dataclass(frozen=True)
class Rounds:
    """Events that leave more windows open with each round: what leads there, a round, and what ends the windows."""

    lead: tuple[Letter, ...]
    round: tuple[Letter, ...]
    close: tuple[Letter, ...]


@dataclass(frozen=True)
class Overlap:
    """What is known of the number of windows that can be open at once, and of their length."""

    streams: Streams | None
    bounded: bool | None  # None: there is too much to go through
    most: int | None = None  # the greatest number, where it was counted
    longest: int | None = None  # the most events of a window, where that has a bound
    rounds: Rounds | None = None  # what seems to show that there is no bound
    undecided: tuple[str, ...] = ()  # what was not decided: without a bound, it may be that there is one


def overlap(
    automaton: Automaton,
    expectation: Expectation | None = None,
    *,
    timed: bool = True,
    schema: Schema | None = None,
) -> Overlap:
    """Decides it for the windows of an automaton, over the streams that are as expected; the rest is as for `Streams`.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> overlap(build(parse_pattern("a:* : b"))).bounded, overlap(build(parse_pattern("ANY:{3}"))).most
    (False, 2)
    """
    streams = Streams((t.guard for t in automaton.transitions), expectation, timed=timed, schema=schema)
    undecided = [*streams.undecided, *_of_registers(automaton)]
    try:
        graph = _Graph(automaton, streams)
        rounds = graph.rounds()
        if rounds is not None:
            return Overlap(streams, False, rounds=rounds, undecided=tuple(undecided))
        return Overlap(streams, True, graph.most(), graph.longest(), undecided=tuple(undecided))
    except TooMany:
        return Overlap(streams, None, undecided=tuple(undecided))


def _of_registers(automaton: Automaton) -> list[str]:
    return ["comparisons of events, or of their times"] if automaton.registers else []


N = TypeVar("N", bound=Hashable)


@dataclass
class _Graph:
    """The situations that can be reached, and in each the states of windows that are open there."""

    automaton: Automaton
    streams: Streams
    steps: dict[Situation, list[tuple[Letter, frozenset[Predicate], Situation]]] = field(default_factory=dict)
    came: dict[Situation, tuple[Situation, Letter]] = field(default_factory=dict)
    windows: dict[_Open, list[tuple[Letter, _Open]]] = field(default_factory=dict)
    ends: dict[_Open, Letter] = field(default_factory=dict)  # an event that ends a window, where there is one
    live: dict[_Open, tuple[Letter, _Open] | Letter] = field(default_factory=dict)  # the first step of a way to an end
    spent: int = 0

    def __post_init__(self) -> None:
        self._find_situations()
        self._find_windows()
        self._find_live()

    def _spend(self, steps: int = 1) -> None:
        self.spent += steps
        if self.spent > MOST_STEPS:
            raise TooMany

    def _find_situations(self) -> None:
        waiting = deque([self.streams.first])
        while waiting:
            situation = waiting.popleft()
            if situation in self.steps:
                continue
            self.steps[situation] = self.streams.next(situation)
            self._spend(len(self.steps[situation]))
            if len(self.steps) > MOST_STATES:
                raise TooMany
            for letter, _, after in self.steps[situation]:
                if after not in self.steps:
                    self.came.setdefault(after, (situation, letter))
                    waiting.append(after)

    def _find_windows(self) -> None:
        waiting: list[_Open] = [(s, _START) for s in self.steps]
        while waiting:
            open_ = waiting.pop()
            if open_ in self.windows:
                continue
            situation, subset = open_
            self.windows[open_] = []
            for letter, true, following in self.steps[situation]:
                self._spend()
                after, ended = self._moved(subset, true)
                if ended:
                    self.ends.setdefault(open_, letter)
                if after:
                    self.windows[open_].append((letter, (following, after)))
                    waiting.append((following, after))
            if len(self.windows) > 4 * MOST_STATES:
                raise TooMany

    def _moved(self, subset: _Subset, true: frozenset[Predicate]) -> tuple[_Subset, bool]:
        """The states after an event that can go on, and whether a window ends with it."""
        outgoing = self.automaton.outgoing
        reached = {t.target for s in subset for t in outgoing.get(s, ()) if holds(t.guard, true)}
        return frozenset(t for t in reached if t in outgoing), not self.automaton.finals.isdisjoint(reached)

    def _find_live(self) -> None:
        before: dict[_Open, list[tuple[_Open, Letter]]] = defaultdict(list)
        for open_, steps in self.windows.items():
            for letter, after in steps:
                before[after].append((open_, letter))
        self.live.update(self.ends)
        waiting = deque(self.ends)
        while waiting:
            after = waiting.popleft()
            for open_, letter in before[after]:
                if open_ not in self.live:
                    self.live[open_] = (letter, after)
                    waiting.append(open_)

    # ---------------------------------------------------------------- is there a bound?

    def rounds(self) -> Rounds | None:
        """Rounds of events of which each leaves one more window open; None if there are none."""
        kept = {o: [(x, n) for x, n in steps if n in self.live] for o, steps in self.windows.items() if o in self.live}
        component = _components({o: [n for _, n in steps] for o, steps in kept.items() if o[1] != _START})
        for open_ in (o for o in kept if o[1] != _START and component[o] is not None):
            found = self._round(open_, kept, component)
            if found is not None:
                return Rounds(tuple(self._lead(open_[0])), tuple(found), tuple(self._close(open_)))
        return None

    def _round(
        self,
        goal: _Open,
        kept: Mapping[_Open, list[tuple[Letter, _Open]]],
        component: Mapping[_Open, int | None],
    ) -> list[Letter] | None:
        """Events from the goal's situation that lead a new window to the goal, and one that is there back to it."""
        situation, q = goal
        begin = (situation, _START, q)
        came: dict[tuple[Situation, _Subset, _Subset], tuple[tuple[Situation, _Subset, _Subset], Letter]] = {}
        waiting = deque([begin])
        while waiting:
            node = waiting.popleft()
            here, new, old = node
            went = dict(kept.get((here, new), ()))
            for letter, (there, moved) in kept[here, old]:
                self._spend()
                if letter not in went or component[there, moved] != component[goal]:
                    continue
                after = (there, went[letter][1], moved)
                if after in came:
                    continue
                came[after] = (node, letter)
                if after == (situation, q, q):
                    return _way(came, after, begin)
                waiting.append(after)
        return None

    def _lead(self, situation: Situation) -> list[Letter]:
        letters = []
        while situation != self.streams.first:
            situation, letter = self.came[situation]
            letters.append(letter)
        return letters[::-1]

    def _close(self, open_: _Open) -> Iterable[Letter]:
        while True:
            step = self.live[open_]
            if isinstance(step, Letter):
                yield step
                return
            letter, open_ = step
            yield letter

    # ---------------------------------------------------------------- how many, and how long

    def most(self) -> int | None:
        """The greatest number of windows open after an event, where it is bounded; None if counting takes too long."""
        first: tuple[Situation, tuple[tuple[_Subset, int], ...]] = (self.streams.first, ())
        seen, waiting, most = {first}, [first], 0
        while waiting:
            situation, counts = waiting.pop()
            for letter, _, following in self.steps[situation]:
                number: dict[_Subset, int] = defaultdict(int)
                for subset, count in (*counts, (_START, 1)):
                    after = self._after(situation, subset, letter)
                    if after is not None and (following, after) in self.live:
                        number[after] += count
                most = max(most, sum(number.values()))
                reached = (following, tuple(sorted(number.items(), key=lambda x: sorted(x[0]))))
                if reached not in seen:
                    seen.add(reached)
                    waiting.append(reached)
            if most > MOST_COUNTED or len(seen) > MOST_STATES:
                return None
        return most

    def _after(self, situation: Situation, subset: _Subset, letter: Letter) -> _Subset | None:
        return next((n[1] for x, n in self.windows[situation, subset] if x is letter), None)

    def longest(self) -> int | None:
        """The most events that a window can have before the event that ends it, and that one; None without a bound."""
        kept = {o: [n for _, n in steps if n in self.live] for o, steps in self.windows.items() if o in self.live}
        if any(c is not None for c in _components(kept).values()):
            return None
        length: dict[_Open, int] = {}
        for open_ in _bottom_up(kept):
            length[open_] = 1 + max((length[n] for n in kept[open_]), default=0)
        return max((length[o] for o in kept if o[1] == _START), default=0)


def _way(came: Mapping[N, tuple[N, Letter]], to: N, begin: N) -> list[Letter]:
    """The letters of a way that is at least one step long."""
    letters = []
    node = to
    while True:
        node, letter = came[node]
        letters.append(letter)
        if node == begin:
            return letters[::-1]


def _components(edges: Mapping[N, list[N]]) -> dict[N, int | None]:
    """The number of the strongly connected component of each node; None for one that is on no cycle (Tarjan)."""
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    found: dict[N, int | None] = {}
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, following = work[-1]
            child = next((n for n in following if n in edges), None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    _close_component(node, stack, edges, found)
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                work.append((child, iter(edges[child])))
            elif child not in found:
                low[node] = min(low[node], index[child])
    return found


def _close_component(root: N, stack: list[N], edges: Mapping[N, list[N]], found: dict[N, int | None]) -> None:
    members: list[N] = []
    while not members or members[-1] != root:
        members.append(stack.pop())
    alone = len(members) == 1 and root not in edges[root]
    number = None if alone else len(found) + 1
    found.update(dict.fromkeys(members, number))


def _bottom_up(edges: Mapping[N, list[N]]) -> list[N]:
    """The nodes of a graph without cycles, each after all that it leads to."""
    done: dict[N, None] = {}
    waiting = [(n, False) for n in edges]
    while waiting:
        node, entered = waiting.pop()
        if node in done:
            continue
        if entered:
            done[node] = None
        else:
            waiting.append((node, True))
            waiting += [(n, False) for n in edges[node] if n not in done]
    return list(done)
