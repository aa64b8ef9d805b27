"""Determinisation on the fly: computes what an event of a class does to all open runs at once, when first needed.

A *subset* is the set of automaton states of all runs with the same start and the same history of marks (the subset
construction, Garcia and Riveros, appendix B, without clocks). Each start and history has exactly one subset, so no
match is reported twice. A *configuration* is the tuple of subsets that have open runs; the evaluator keeps one
collection of partial matches, a slot, for each. Register actions distinguish runs just as marks do, so all runs of one
subset have stored in the same way. A configuration and a class of events determine a *program*: which slots are
extended with which marks, which are joined, what is reported, and which configuration follows.

Where NEXT or LAST asks which runs are the best (`predicates.Ranking`), the ranks of states are a part of the
configuration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ensue.automata.model import Automaton, Marks
from ensue.automata.predicates import Predicate, rankings_of
from ensue.automata.ranker import FIRST, Ranker, Ranks
from ensue.automata.registers import NO_ACTIONS, Actions

Subset = frozenset[int]


class Configuration(NamedTuple):
    """The subsets that have open runs, one for each slot, and the ranks of each ranking."""

    subsets: tuple[Subset, ...] = ()
    ranks: tuple[Ranks, ...] = ()


#: The source of a run that starts at this very event.
START = -1
#: A program that moves more automaton states than this, in all subsets together, is refused: some hundred megabytes.
MOST_STATES = 1 << 21


class TooManyStates(Exception):
    """An event would move more automaton states than there may be."""


@dataclass(frozen=True, slots=True)
class Move:
    """Extends the runs of slot `source`, or new runs, with a mark; mark 0 leaves the event unmarked.

    `action` is the number of the actions on their registers; 0 means none.
    """

    source: int
    mark: int
    action: int = 0


@dataclass(frozen=True)
class Program:
    """What one event does: the next configuration, the moves into each of its slots, and the moves that end matches."""

    after: Configuration
    slots: tuple[tuple[int, tuple[Move, ...]], ...]  # only the slots that change
    reported: tuple[Move, ...]


class Determinizer:
    """Computes programs. A class of events is a bit mask: bit `k` says whether predicate `k` holds."""

    def __init__(
        self,
        automaton: Automaton,
        predicates: Sequence[Predicate],
        marks: Sequence[Marks],
        actions: Sequence[Actions] = (NO_ACTIONS,),
    ) -> None:
        bit: dict[Predicate, int] = {p: 1 << k for k, p in enumerate(predicates)}
        number = {m: k for k, m in enumerate(marks)}
        action = {a: k for k, a in enumerate(actions)}
        self._rankers: list[Ranker] = []
        for ranking in rankings_of(t.guard for t in automaton.transitions):
            self._rankers.append(Ranker(ranking, bit))
            bit |= self._rankers[-1].bits
        self._asked = (1 << len(predicates)) - 1
        self._finals = automaton.finals
        #: The configuration before the first event.
        self.empty = Configuration(ranks=(FIRST,) * len(self._rankers))
        self._outgoing: dict[int, list[tuple[int, int, int, int, int]]] = {
            state: [
                (
                    sum(bit[p] for p, _ in t.guard),
                    sum(bit[p] for p, positive in t.guard if positive),
                    number[t.marks],
                    action[t.actions],
                    t.target,
                )
                for t in transitions
            ]
            for state, transitions in automaton.outgoing.items()
        }
        self._steps: dict[tuple[Subset, int], list[tuple[int, int, Subset, bool]]] = {}
        self._states = 0  # in the subsets of the steps that are remembered, all together

    @property
    def states(self) -> int:
        """How many states are in all that is remembered."""
        return self._states + sum(ranker.states for ranker in self._rankers)

    def program(self, configuration: Configuration, word: int) -> Program:
        """What an event of this class does to the runs of a configuration; raises TooManyStates."""
        targets: dict[Subset, list[Move]] = defaultdict(list)
        reported = []
        ranks = []
        for ranker, before in zip(self._rankers, configuration.ranks, strict=True):
            now, word = ranker.step(before, word)
            ranks.append(now)
        sources = [*enumerate(configuration.subsets), (START, frozenset({0}))]
        for source, subset in sources:
            for mark, action, after, final in self.step(subset, word):
                move = Move(source, mark, action)
                if final:
                    reported.append(move)
                if after:
                    targets[after].append(move)
        following = tuple(sorted(targets, key=sorted))
        same = following == configuration.subsets
        slots = []
        for slot, subset in enumerate(following):
            # Runs that do not change come first: what this event adds is put in front of them.
            moves = tuple(sorted(targets[subset], key=lambda m: (m.mark != 0 or m.source == START, m.source, m.action)))
            if not (same and moves == (Move(slot, 0),)):
                slots.append((slot, moves))
        return Program(Configuration(following, tuple(ranks)), tuple(slots), tuple(reported))

    def step(self, subset: Subset, word: int) -> list[tuple[int, int, Subset, bool]]:
        """For each set of marks and actions: the reached states that can continue, and whether a run ends."""
        key = (subset, word)
        if key not in self._steps:
            reached: dict[tuple[int, int], set[int]] = defaultdict(set)
            for state in subset:
                for mask, value, mark, action, target in self._outgoing.get(state, ()):
                    if word & mask == value:
                        reached[mark, action].add(target)
            self._steps[key] = [
                (*done, frozenset(t for t in states if t in self._outgoing), not self._finals.isdisjoint(states))
                for done, states in sorted(reached.items())
            ]
            self._states += sum(1 + len(after) for _, _, after, _ in self._steps[key])
            if self._states > MOST_STATES:
                raise TooManyStates
        return self._steps[key]

    def idle(self, word: int) -> bool:
        """Whether an event of this class starts no run and leaves every open run exactly as it is.

        What a ranking says is left open: where every run stays where it is, each is the best in its place.
        """
        for state, transitions in self._outgoing.items():
            enabled = [done for mask, value, *done in transitions if self._may_hold(word, mask, value)]
            if enabled != ([] if state == 0 else [[0, 0, state]]):
                return False
        return all(ranker.idle(word) for ranker in self._rankers)

    def moves(self, state: int, word: int) -> bool:
        """Whether an event of this class moves a run in the state; state 0: whether a run may start with it."""
        return any(self._may_hold(word, mask, value) for mask, value, *_ in self._outgoing.get(state, ()))

    def _may_hold(self, word: int, mask: int, value: int) -> bool:
        """Whether a guard may hold at an event of this class, whatever the rankings say."""
        return word & mask == value & self._asked

    def forget(self) -> None:
        """Drops the computed steps; they are computed again when needed."""
        for ranker in self._rankers:
            ranker.forget()
        self._steps.clear()
        self._states = 0
