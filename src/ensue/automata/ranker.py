"""Ranks the states of an automaton by their best runs, event by event (Grez, Algorithm 2 and Theorem 7.3).

A step takes time linear in the automaton: each move is looked at once. The runs of a state that are not its best can
never be chosen, because whatever they do later, the best run of their state can do as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from ensue.automata.predicates import Best, Chosen, Predicate, Ranking
from ensue.language import ast

#: Sets of states, the best first; no state is in two of them.
Ranks = tuple[frozenset[int], ...]
#: Before the first event, every run has yet to start.
FIRST: Ranks = (frozenset({0}),)


class _Move(NamedTuple):
    mask: int  # the predicates that the guard decides
    value: int  # and those of them that must hold
    marked: bool
    target: int
    bit: int  # of the predicate that the move is a best one


class Ranker:
    """Computes the ranks after an event, and which of the ranking's predicates hold at it.

    `known` has the bits of the predicates that the ranking asks of an event; those of its own are the next ones.
    """

    def __init__(self, ranking: Ranking, known: Mapping[Predicate, int]) -> None:
        self._latest_first = ranking.selector is ast.Selector.LAST
        steps = dict.fromkeys((source, marked, target) for source, _, marked, target in ranking.moves)
        own: list[Predicate] = [Best(ranking, *step) for step in steps]
        own += [Chosen(ranking, state) for state in sorted(ranking.finals)]
        self.bits: dict[Predicate, int] = {p: 1 << len(known) + k for k, p in enumerate(own)}
        self._chosen = {state: self.bits[Chosen(ranking, state)] for state in ranking.finals}
        self._moves: dict[int, list[_Move]] = defaultdict(list)
        for source, guard, marked, target in ranking.moves:
            mask, value = sum(known[p] for p, _ in guard), sum(known[p] for p, positive in guard if positive)
            bit = self.bits[Best(ranking, source, marked, target)]
            self._moves[source].append(_Move(mask, value, marked, target, bit))
        self._moves[0].append(_Move(0, 0, False, 0, 0))  # runs that start later
        self._known: dict[tuple[Ranks, int], tuple[Ranks, int]] = {}
        self.states = 0  # in the ranks that are remembered, all together

    def step(self, ranks: Ranks, word: int) -> tuple[Ranks, int]:
        """The ranks after an event of this word, and the word with the bits of this ranking."""
        key = (ranks, word)
        if key not in self._known:
            self._known[key] = after, _ = self._step(ranks, word)
            self.states += sum(map(len, after))
        return self._known[key]

    def _step(self, ranks: Ranks, word: int) -> tuple[Ranks, int]:
        best: dict[int, tuple[int, int]] = {}
        moved: list[tuple[_Move, tuple[int, int]]] = []
        for rank, states in enumerate(ranks):
            for state in states:
                for move in self._moves.get(state, ()):
                    if word & move.mask == move.value:
                        unmarked = int(not move.marked)
                        place = (unmarked, rank) if self._latest_first else (rank, unmarked)
                        moved.append((move, place))
                        if move.target not in best or place < best[move.target]:
                            best[move.target] = place
        for move, place in moved:
            if best[move.target] == place:
                word |= move.bit
        ends = min((best[state] for state in self._chosen if state in best), default=None)
        word |= sum(bit for state, bit in self._chosen.items() if state in best and best[state] == ends)
        after: dict[tuple[int, int], set[int]] = defaultdict(set)
        for state, place in best.items():
            if state in self._moves:
                after[place].add(state)
        return tuple(frozenset(after[place]) for place in sorted(after)), word

    def idle(self, word: int) -> bool:
        """Whether an event of this class leaves every state as it is."""
        return all(
            [(m.marked, m.target) for m in moves if word & m.mask == m.value] == [(False, state)]
            for state, moves in self._moves.items()
        )

    def forget(self) -> None:
        """Drops what is remembered; it is computed again when needed."""
        self._known.clear()
        self.states = 0
