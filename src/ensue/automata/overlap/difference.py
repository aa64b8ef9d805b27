"""Whether two automata have the same windows, or complex events, over every stream, and events on which they differ.

Both read the stream side by side. Where one of them ends a window that the other does not end, after a start that they
share, the events up to there are a stream on which they differ. Of complex events, each way to mark the events is
followed by itself. What is not decided of conditions is the same for both, so where no such events seem possible, there
are none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from ensue.automata.build.expect import Expectation
from ensue.automata.model import NO_MARKS, Automaton, Marks
from ensue.automata.overlap.stream import Letter, Predicates, Situation, Streams, TooMany, holds
from ensue.data.schema import Schema

MOST_STATES = 20_000
_Subset = frozenset[int]
_START: _Subset = frozenset({0})
_NOWHERE: tuple[_Subset, bool] = (frozenset(), False)
N = TypeVar("N")
S = TypeVar("S")


class _Node(NamedTuple):
    """What is known of the stream, and the states that a window of each automaton can be in."""

    situation: Situation
    first: _Subset
    second: _Subset


class Step(NamedTuple):
    """A kind of event, and how it is marked."""

    letter: Letter
    marks: Marks


@dataclass(frozen=True)
class Difference:
    """Events before a window or complex event that only one of two automata has, and its own events."""

    streams: Streams
    before: tuple[Letter, ...]
    steps: tuple[Step, ...]
    of_first: bool  # which of the two has it

    @property
    def window(self) -> tuple[Letter, ...]:
        return tuple(step.letter for step in self.steps)


def difference(
    first: Automaton,
    second: Automaton,
    expectation: Expectation | None = None,
    *,
    both_ways: bool = True,
    marked: bool = False,
    most: int = MOST_STATES,
    schema: Schema | None = None,
) -> Difference | None:
    """A window that only one of them has, or, unless `both_ways`, only the second; None if there is none.

    If they are `marked`, it is a complex event: the same events with other marks are another one.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> one, other = (build(parse_pattern(text)) for text in ("A : B?", "A OR A : B"))
    >>> difference(one, other)
    >>> found = difference(one, build(parse_pattern("A")))
    >>> [letter.type for letter in found.window], found.of_first
    (['A', 'B'], True)
    """
    streams = Streams([t.guard for p in (first, second) for t in p.transitions], expectation, schema=schema)
    lead = _situations(streams, most)
    came: dict[_Node, tuple[_Node, Step] | None] = {_Node(s, _START, _START): None for s in lead}
    waiting = deque(came)
    while waiting:
        node = waiting.popleft()
        for letter, true, situation in streams.next(node.situation):
            moved = [_moved(p, s, true, marked) for p, s in ((first, node.first), (second, node.second))]
            for marks in dict.fromkeys((*moved[0], *moved[1])):
                (after, ended), (other, other_ended) = (m.get(marks, _NOWHERE) for m in moved)
                step = Step(letter, marks)
                if ended != other_ended and (both_ways or other_ended):
                    begin, steps = _way(came, node)
                    return Difference(streams, tuple(_way(lead, begin.situation)[1]), (*steps, step), ended)
                following = _Node(situation, after, other)
                if (after or other) and following not in came:
                    came[following] = (node, step)
                    waiting.append(following)
        if len(came) > most:
            raise TooMany
    return None


def _moved(p: Automaton, subset: _Subset, true: Predicates, marked: bool) -> dict[Marks, tuple[_Subset, bool]]:
    """The states that runs reach, and whether one ends, for each way to mark the event."""
    reached: dict[Marks, set[int]] = defaultdict(set)
    for state in sorted(subset):
        for t in p.outgoing.get(state, ()):
            if holds(t.guard, true):
                reached[t.marks if marked else NO_MARKS].add(t.target)
    return {marks: (frozenset(states), not p.finals.isdisjoint(states)) for marks, states in reached.items()}


def _situations(streams: Streams, most: int) -> dict[Situation, tuple[Situation, Letter] | None]:
    """What can be known of a stream, nearest to its beginning first, each with the last step to it."""
    found: dict[Situation, tuple[Situation, Letter] | None] = {streams.first: None}
    waiting = deque(found)
    while waiting:
        situation = waiting.popleft()
        for letter, _, after in streams.next(situation):
            if after not in found:
                found[after] = (situation, letter)
                waiting.append(after)
        if len(found) > most:
            raise TooMany
    return found


def _way(came: Mapping[N, tuple[N, S] | None], node: N) -> tuple[N, list[S]]:
    """Where the way to a node begins, and its steps."""
    steps = []
    while (step := came[node]) is not None:
        node, taken = step
        steps.append(taken)
    return node, steps[::-1]
