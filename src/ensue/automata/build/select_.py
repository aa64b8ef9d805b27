"""`NEXT(p)`, `LAST(p)`, `MAX(p)`: runs `p` together with its competitors, the runs of `p` that may end where it ends.

For each state that a competitor can be in, a run carries the best relation that such a competitor's support can have to
its own so far. The run is accepted where it ends, unless a better competitor ends at the same event. Algorithm 2 of
Grez, chapter 8, keeps the best run of each state during the evaluation; here the comparison is part of the automaton,
so a selector can be anywhere in a pattern, and it is evaluated like any other automaton.

A competitor that starts later waits in state 0 until it starts. Competitors that started earlier are the same for all
runs that start at one event: their states depend only on the stream up to there. A separate machine computes these
states, and the machine's state is a condition on the run's first event.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from ensue.automata.build import ranked
from ensue.automata.model import UNMARKED, Automaton, Builder, Label, TooLarge, Transition
from ensue.automata.predicates import ALWAYS, Guard, Machine, conjunction, machines_of, predicates_of, rankings_of
from ensue.automata.splitting import ALL_EVENTS, Cell, Splitter
from ensue.language import ast

#: A selector's automaton can have exponentially many states and is slow to build: it is refused earlier than others.
MOST_TRANSITIONS = 10_000
#: Beyond so many, NEXT and LAST are evaluated by ranks instead, which takes no longer to build than the pattern.
MOST_WITHOUT_RANKS = 2_000
#: The most states of the machine for earlier runs: they multiply the classes of events.
MOST_STATES_BEFORE = 256
#: The most pairs of transitions that a run and a competitor can take at once.
_MOST_PAIRS = 200_000
#: The most moves of competitors that are examined, which takes some seconds.
_MOST_WORK = 1_000_000


class Relation(IntEnum):
    """How a competitor's support compares with the run's own so far; a greater value is more dangerous."""

    WORSE = 1
    EQUAL = 2
    BETTER = 3


#: The states that competitors can be in, sorted, each with the best relation that a competitor there can have.
Competitors = tuple[tuple[int, Relation], ...]
#: A competitor that has not started yet. Every run has it: it stands for all runs that start with the run or later.
NOT_STARTED: Competitors = ((0, Relation.EQUAL),)


def relate(selector: ast.Selector, relation: Relation, own: bool, other: bool) -> Relation | None:
    """The relation after an event that the run marks (`own`) or not, and the competitor (`other`) or not.

    None means that the competitor can never be better again.
    """
    if own == other:
        return relation
    match selector:
        case ast.Selector.LAST:  # the most recent difference decides
            return Relation.BETTER if other else Relation.WORSE
        case ast.Selector.NEXT:  # the first difference decides
            return Relation.BETTER if other or relation is Relation.BETTER else None
        case ast.Selector.MAX:  # a better competitor marks all that the run marks, and more
            return Relation.BETTER if other else None
    raise AssertionError(selector)


def construct(selector: ast.Selector, p: Automaton, text: str, most: int = MOST_TRANSITIONS) -> Automaton:
    """The runs of `p` that the selector keeps among all that end at the same event; `text` is the pattern's text."""
    rivalry = _Rivalry(selector, p, most)
    machine, before = rivalry.earlier(_name(selector, text))
    starts = [list(rivalry.moves(0, competitors)) for competitors in before]
    if all(moves == starts[0] for moves in starts):
        return rivalry.automaton([(ALWAYS, starts[0])])  # runs that started earlier make no difference
    return rivalry.automaton([(machine.is_in(state), moves) for state, moves in enumerate(starts)])


def construct_any(selector: ast.Selector, p: Automaton, text: str) -> Automaton:
    """The same, by ranks where the automaton would be large."""
    if selector is ast.Selector.MAX:
        return construct(selector, p, text)  # does not order all runs
    if not rankings_of(t.guard for t in p.transitions):
        try:
            return construct(selector, p, text, MOST_WITHOUT_RANKS)
        except TooLarge:
            pass
    return ranked.construct(selector, p, text)


def construct_by_start(selector: ast.Selector, p: Automaton) -> Automaton:
    """The runs of `p` that the selector keeps among those that start at the same event or later.

    It is for candidates whose earliest allowed start moves on: a run that is excluded here is excluded by any window.
    """
    rivalry = _Rivalry(selector, p, MOST_TRANSITIONS)
    return rivalry.automaton([(ALWAYS, list(rivalry.moves(0, NOT_STARTED)))])


def is_settled(selector: ast.Selector, p: ast.Pattern) -> bool:
    """Whether nothing is left to choose, because the pattern is itself a selector.

    NEXT and LAST keep one support for each end, and MAX of MAX is MAX.
    """
    while isinstance(p, ast.Filter | ast.Within):
        p = p.body
    chosen = p.selector if isinstance(p, ast.Select) else None
    return chosen in (ast.Selector.NEXT, ast.Selector.LAST) or selector is chosen is ast.Selector.MAX


def asks_for_earlier_runs(automaton: Automaton, selector: ast.Selector, text: str) -> bool:
    """Whether what `construct` made depends on the runs of the pattern that started earlier."""
    guards = [t.guard for t in automaton.transitions]
    asked = {*(m.name for m in machines_of(predicates_of(guards))), *(r.name for r in rankings_of(guards))}
    return bool(asked & {_name(selector, text), ranked.name_of(selector, text)})


def _name(selector: ast.Selector, text: str) -> str:
    """The machine's name, with the selector, because not all selectors need the same facts about earlier runs."""
    return f"earlier runs in {selector}({text})"


@dataclass(frozen=True)
class _State:
    """A state of the constructed automaton: the run's own state, its competitors, and whether it is accepted."""

    own: int
    competitors: Competitors
    accepted: bool


_Move = tuple[Guard, Label, _State]


class _Rivalry:
    """Runs of `p` against each other."""

    def __init__(self, selector: ast.Selector, p: Automaton, most: int) -> None:
        self._selector = selector
        self._most = most
        self._p = p
        waiting = Transition(0, ALWAYS, UNMARKED, 0)
        self._moves = {**p.outgoing, 0: [*p.outgoing.get(0, ()), waiting]}
        self._splitter = Splitter([ALWAYS, *(t.guard for t in p.transitions)])
        self._bits = {state: [self._splitter.bit(t.guard) for t in moves] for state, moves in self._moves.items()}
        self._work = 0
        self._least = self._least_relations()

    def automaton(self, starts: Iterable[tuple[Guard, list[_Move]]]) -> Automaton:
        """The automaton in which a run starts with these moves, at an event that satisfies their guard."""
        made = Builder("start", self._most)
        seen: set[_State] = set()
        stack: list[_State] = []

        def add(source: object, also: Guard, moves: Iterable[_Move]) -> None:
            for guard, label, target in moves:
                made.add(source, conjunction(guard, also), label, target, final=target.accepted)
                if target not in seen:
                    seen.add(target)
                    stack.append(target)

        for guard, moves in starts:
            add("start", guard, moves)
        while stack:
            state = stack.pop()
            add(state, ALWAYS, self.moves(state.own, state.competitors))
        return made.build()

    def moves(self, own: int, competitors: Competitors) -> Iterator[_Move]:
        """The moves of a run in its own state and with these competitors."""
        p = self._p
        for t in p.outgoing.get(own, ()):
            for cell, after in self._steps(competitors, self._splitter.cell(t.guard), own=bool(t.marks)):
                if (t.target, Relation.BETTER) in after:
                    continue  # however the run continues, the competitor can do the same and stay better
                beaten = any(r is Relation.BETTER and s in p.finals for s, r in after)
                accepted = t.target in p.finals and not beaten
                if accepted or t.target in p.outgoing:
                    yield cell, t.label, _State(t.target, self._that_matter(t.target, after), accepted)

    def earlier(self, name: str) -> tuple[Machine, list[Competitors]]:
        """The machine that tracks the runs that started earlier, and the competitors that each of its states means."""
        first = self._that_matter(0, NOT_STARTED)
        numbers = {first: 0}
        states = [first]
        steps: list[tuple[tuple[Guard, int], ...]] = []
        while len(steps) < len(states):
            following = []
            # A run that has not started marks nothing.
            for cell, after in self._steps(states[len(steps)], ALL_EVENTS, own=False):
                going_on = self._that_matter(0, after)
                if going_on not in numbers:
                    numbers[going_on] = len(states)
                    states.append(going_on)
                following.append((cell, numbers[going_on]))
            if len(states) > MOST_STATES_BEFORE:
                raise TooLarge(self._most)
            steps.append(tuple(following))
        return Machine(name, tuple(map(_shown, states)), tuple(steps)), states

    def _steps(self, competitors: Competitors, cell: Cell, *, own: bool) -> Iterator[tuple[Guard, Competitors]]:
        """The competitors after an event, for each part of the cell in which they move differently."""
        moves: list[tuple[int, int, Relation]] = []
        for state, relation in competitors:
            for t, bit in zip(self._moves.get(state, ()), self._bits.get(state, ()), strict=True):
                after = relate(self._selector, relation, own, bool(t.marks))
                if after is not None:
                    moves.append((bit, t.target, after))
        guards = functools.reduce(operator.or_, (bit for bit, _, _ in moves), 0)
        for part, held in self._splitter.split(cell, guards):
            self._work += len(moves)
            if self._work > _MOST_WORK:
                raise TooLarge(self._most)
            best: dict[int, Relation] = {}
            for bit, target, after in moves:
                if held & bit and after > best.get(target, 0):
                    best[target] = after
            yield self._splitter.guard(part), tuple(sorted(best.items()))

    def _that_matter(self, own: int, competitors: Competitors) -> Competitors:
        """The competitors that matter to a run in this state, each with the least relation that has the same effect."""
        least = ((s, self._least.get((own, s, relation))) for s, relation in competitors)
        return tuple((s, relation) for s, relation in least if relation is not None)

    def _least_relations(self) -> dict[tuple[int, int, Relation], Relation]:
        """For the states of a run and a competitor, and a relation: the least relation with the same effect, if any."""
        return {
            (own, other, relation): max(x for x in thresholds if x <= relation)
            for (own, other), thresholds in self._what_matters().items()
            for relation in Relation
            if min(thresholds) <= relation
        }

    def _what_matters(self) -> dict[tuple[int, int], set[Relation]]:
        """For the states of a run and a competitor: the least relations from which some future makes it better.

        If the two will differ later in any case, LAST need not know which was better; if they cannot end together,
        nothing need be known. Without this analysis, the automaton would have many states that mean the same.
        """
        thresholds: dict[tuple[int, int], set[Relation]] = defaultdict(set)
        into: dict[tuple[int, int], list[tuple[tuple[int, int], bool, bool]]] = defaultdict(list)
        seen = {(0, 0)}
        stack = [(0, 0)]
        pairs = 0
        while stack:
            pair = stack.pop()
            for t, u in itertools.product(self._moves.get(pair[0], ()), self._moves.get(pair[1], ())):
                if not self._splitter.meets(t.guard, u.guard):
                    continue
                pairs += 1
                if pairs > _MOST_PAIRS:
                    raise TooLarge(self._most)
                target = (t.target, u.target)
                into[target].append((pair, bool(t.marks), bool(u.marks)))
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        finals = self._p.finals
        waiting = [(pair, Relation.BETTER) for pair in into if pair[0] in finals and pair[1] in finals]
        while waiting:
            target, needed = waiting.pop()
            for pair, own, other in into[target]:
                enough = self._needed_before(needed, own, other)
                if enough is not None and enough not in thresholds.get(pair, ()):
                    thresholds[pair].add(enough)
                    waiting.append((pair, enough))
        return thresholds

    def _needed_before(self, needed: Relation, own: bool, other: bool) -> Relation | None:
        """The least relation before an event that becomes the needed one, or a greater one, after it."""
        possible = Relation if self._selector is ast.Selector.LAST else (Relation.EQUAL, Relation.BETTER)
        return next((r for r in possible if (relate(self._selector, r, own, other) or 0) >= needed), None)


def _shown(competitors: Competitors) -> str:
    """The states of the earlier runs as text; a question mark says that having marked events makes no difference."""
    parts = [f"{s}{'' if r is Relation.BETTER else '?'}" for s, r in competitors if s != 0]
    return "{" + ", ".join(parts) + "}"
