"""Whether two automata have the same windows over every stream, and events on which they differ.

Both read the stream side by side. Where one of them ends a window that the other does not end, after a start that they
share, the events up to there are a stream on which they differ. What is not decided of conditions is the same for both,
so where no such events seem possible, there are none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from ensue.automata.build.expect import Expectation
from ensue.automata.model import Automaton
from ensue.automata.overlap.stream import Letter, Predicates, Situation, Streams, TooMany, holds

MOST_STATES = 20_000
_Subset = frozenset[int]
_START: _Subset = frozenset({0})
N = TypeVar("N")


class _Node(NamedTuple):
    """What is known of the stream, and the states that a window of each automaton can be in."""

    situation: Situation
    first: _Subset
    second: _Subset


@dataclass(frozen=True)
class Difference:
    """Events before a window that only one of two automata has, and the window's own."""

    streams: Streams
    before: tuple[Letter, ...]
    window: tuple[Letter, ...]
    of_first: bool  # which of the two has it


def difference(
    first: Automaton, second: Automaton, expectation: Expectation | None = None, *, both_ways: bool = True
) -> Difference | None:
    """A window that only one of them has, or, unless `both_ways`, only the second; None if there is none.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> one, other = (build(parse_pattern(text)) for text in ("A : B?", "A OR A : B"))
    >>> difference(one, other)
    >>> found = difference(one, build(parse_pattern("A")))
    >>> [letter.type for letter in found.window], found.of_first
    (['A', 'B'], True)
    """
    streams = Streams((t.guard for p in (first, second) for t in p.transitions), expectation)
    lead = _situations(streams)
    came: dict[_Node, tuple[_Node, Letter] | None] = {_Node(s, _START, _START): None for s in lead}
    waiting = deque(came)
    while waiting:
        node = waiting.popleft()
        for letter, true, situation in streams.next(node.situation):
            (after, ended), (other, other_ended) = (
                _moved(p, subset, true) for p, subset in ((first, node.first), (second, node.second))
            )
            if ended != other_ended and (both_ways or other_ended):
                begin, window = _way(came, node)
                return Difference(streams, tuple(_way(lead, begin.situation)[1]), (*window, letter), ended)
            following = _Node(situation, after, other)
            if (after or other) and following not in came:
                came[following] = (node, letter)
                waiting.append(following)
        if len(came) > MOST_STATES:
            raise TooMany
    return None


def _moved(p: Automaton, subset: _Subset, true: Predicates) -> tuple[_Subset, bool]:
    reached = frozenset(t.target for s in subset for t in p.outgoing.get(s, ()) if holds(t.guard, true))
    return reached, not p.finals.isdisjoint(reached)


def _situations(streams: Streams) -> dict[Situation, tuple[Situation, Letter] | None]:
    """What can be known of a stream, nearest to its beginning first, each with the last step to it."""
    found: dict[Situation, tuple[Situation, Letter] | None] = {streams.first: None}
    waiting = deque(found)
    while waiting:
        situation = waiting.popleft()
        for letter, _, after in streams.next(situation):
            if after not in found:
                found[after] = (situation, letter)
                waiting.append(after)
        if len(found) > MOST_STATES:
            raise TooMany
    return found


def _way(came: Mapping[N, tuple[N, Letter] | None], node: N) -> tuple[N, list[Letter]]:
    """Where the way to a node begins, and its letters."""
    letters = []
    while (step := came[node]) is not None:
        node, letter = step
        letters.append(letter)
    return node, letters[::-1]
