"""Windowed determinisation: makes an automaton with a window in events deterministic (Alevizos et al., theorem 14).

The paper unrolls all walks of the window's length into a tree, each with its own registers, and then builds the power
set of the tree's states, with the min-terms of their outgoing transitions (algorithms 5 to 8). Here both steps are done
at once, starting from the initial state, so that only reachable states are built. A state is the set of open runs. A
run has its state in the automaton, its length, the events whose values it has stored, and the events that it has
marked. Runs that differ only in their marked events have the same future, and only the union of the matches is needed,
so such runs are merged.

The paper has two slips. With its loop on the start state, a second run overwrites the register of the first one if the
window has three events or more. And it marks an event as soon as some run marks it, even if that run never ends. So
here values shift from register to register with the age of their event, and final states say which events took part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ensue.automata.deterministic import Copy, DeterministicAutomaton, Outcomes, Step, Write, register, values_of
from ensue.automata.liveness import register_liveness
from ensue.automata.model import Automaton, Marks, TooLarge, Transition
from ensue.automata.predicates import ALWAYS, Guard, conjunction, implied, predicates_of
from ensue.automata.registers import Condition, Keep, Store, conditions_of, writes_of
from ensue.automata.satisfiable import can_hold
from ensue.logic.stored_values import Register

#: The default limit. The transitions can double with each event of the window, as states record which events matter.
MAX_STEPS = 10_000


class NotBounded(Exception):
    """Raised for a store that keeps the least or greatest value of any number of events: a register here holds one."""

    def __init__(self, store: Store) -> None:
        self.store = store
        super().__init__(str(store))


class OpenRun(NamedTuple):
    """A group of open runs with the same future. Events are given by their age: the last event has age 1."""

    state: int
    length: int
    held: frozenset[tuple[Register, int, int]]  # for each register: the number of its value, and the event
    marked: frozenset[int]


_START = OpenRun(0, 0, frozenset(), frozenset())


class State(NamedTuple):
    """The open runs and, if a match has just ended, the events that took part, by their age."""

    runs: frozenset[OpenRun]
    ended: frozenset[int] | None


class Needed(NamedTuple):
    """What must hold for a run to take a transition."""

    guard: Guard
    conditions: frozenset[Condition]


class Move(NamedTuple):
    """A transition of a run, and what it needs."""

    run: OpenRun
    transition: Transition
    needed: Needed


class _MinTerm(NamedTuple):
    """A class of events and register contents, and which of the transitions' needs it satisfies."""

    guard: Guard
    outcomes: Outcomes
    satisfied: frozenset[Needed]


def construct(p: Automaton, window: int, *, consuming: bool = False, most: int = MAX_STEPS) -> DeterministicAutomaton:
    """The deterministic automaton that reports where matches of `p` within the window end, and what took part in them.

    With `consuming`, the open runs are dropped where a match ends. Raises TooLarge and NotBounded.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> construct(build(parse_pattern("A ; B")), 3)
    DeterministicAutomaton(size=7, ends={3: (0, 1), 5: (0, 1, 2), 6: (0, 2)})
    """
    return Construction(p, window, consuming=consuming).run(most)


class Construction:
    """Builds the transitions of one state after the other."""

    def __init__(self, p: Automaton, window: int, *, consuming: bool) -> None:
        stores = [a for t in p.transitions for a in t.actions if isinstance(a, Store)]
        for store in sorted(stores, key=str):
            if store.keep is not Keep.NEW:
                raise NotBounded(store)
        self._automaton = p
        self._window = window
        self._consuming = consuming
        self.values = values_of(stores)  # what registers hold of an event
        self._live = register_liveness(p).live
        self._to_end = _to_end(p)

    def run(self, most: int) -> DeterministicAutomaton:
        first = State(frozenset(), None)
        numbers, waiting = {first: 0}, deque([first])
        steps: list[Step] = []
        while waiting:
            source = waiting.popleft()
            for step, target in self._leaving(source):
                if target not in numbers:
                    numbers[target] = len(numbers)
                    waiting.append(target)
                if len(steps) == most:
                    raise TooLarge(most)
                steps.append(replace(step, source=numbers[source], target=numbers[target]))
        ends = {n: tuple(sorted(k - 1 for k in s.ended)) for s, n in numbers.items() if s.ended is not None}
        return DeterministicAutomaton(len(numbers), ends, tuple(steps))

    def _leaving(self, state: State) -> Iterator[tuple[Step, State]]:
        """The steps out of a state: what each min-term does to the state's runs and to a new run."""
        moves = self.moves(state)
        for term in _min_terms(frozenset(move.needed for move in moves)):
            target, marks = self.after(move for move in moves if move.needed in term.satisfied)
            yield Step(0, term.guard, term.outcomes, marks, self._writes(target), 0), target

    def moves(self, state: State) -> list[Move]:
        """What the state's runs, and a new one, can do next."""
        return [
            Move(run, t, Needed(t.guard, _checks(run, t)))
            for run in (*state.runs, _START)
            for t in self._automaton.outgoing.get(run.state, ())
            if self._ends(t) or self._goes_on(run, t)
        ]

    def after(self, moves: Iterable[Move]) -> tuple[State, Marks]:
        """The state after these moves, with what took part in a match that ended; and the marks of all the moves."""
        open_: dict[OpenRun, frozenset[int]] = {}  # the marked events of each run, which is given without them
        ended: frozenset[int] | None = None
        marks: set[str] = set()
        for run, t, _ in moves:
            marked = frozenset({k + 1 for k in run.marked} | ({1} if t.marks else set()))
            if self._ends(t):
                ended = marked | (ended or frozenset())
            if self._goes_on(run, t):
                key = OpenRun(t.target, run.length + 1, self._held(run, t), frozenset())
                open_[key] = open_.get(key, frozenset()) | marked
            marks |= t.marks
        if ended is not None and self._consuming:
            open_ = {}
        return State(_without_lesser([r._replace(marked=m) for r, m in open_.items()]), ended), frozenset(marks)

    def _ends(self, t: Transition) -> bool:
        return t.target in self._automaton.finals

    def _goes_on(self, run: OpenRun, t: Transition) -> bool:
        """Whether a match can still end within the window after the transition."""
        return run.length + 1 + self._to_end.get(t.target, self._window) <= self._window

    def _held(self, run: OpenRun, t: Transition) -> frozenset[tuple[Register, int, int]]:
        written = {w.register for w in writes_of(t.actions)}
        live = self._live.get(t.target, frozenset())
        old = ((r, value, age + 1) for r, value, age in run.held if r in live - written)
        new = ((w.register, self.values.index(w.value), 1) for w in writes_of(t.actions) if isinstance(w, Store))
        return frozenset(old) | frozenset(h for h in new if h[0] in live)

    def _writes(self, target: State) -> tuple[Write, ...]:
        held = sorted({(value, age) for run in target.runs for _, value, age in run.held})
        return tuple(
            Store(register(value + 1, 1), self.values[value])
            if age == 1
            else Copy(register(value + 1, age), register(value + 1, age - 1))
            for value, age in held
        )


def _checks(run: OpenRun, t: Transition) -> frozenset[Condition]:
    """The checks of a transition, on the registers that hold the run's values; checks of empty registers hold."""
    held = {r: register(value + 1, age) for r, value, age in run.held}
    return frozenset(c.renamed(held) for c in conditions_of(t.actions) if c.registers <= held.keys())


def _without_lesser(runs: Sequence[OpenRun]) -> frozenset[OpenRun]:
    """Drops each run for which a shorter run with the same future has marked at least the same events."""
    return frozenset(
        a
        for a in runs
        if not any(
            (a.state, a.held) == (b.state, b.held) and b.length < a.length and a.marked <= b.marked for b in runs
        )
    )


def _to_end(p: Automaton) -> dict[int, int]:
    """For each state with transitions, the least number of events to the end of a match."""
    found: dict[int, int] = {}
    changed = True
    while changed:
        changed = False
        for t in p.transitions:
            events = 1 if t.target in p.finals else 1 + found.get(t.target, len(p.transitions))
            if events < found.get(t.source, len(p.transitions) + 1):
                found[t.source] = events
                changed = True
    return found


@lru_cache(maxsize=10_000)
def _min_terms(needed: frozenset[Needed]) -> tuple[_MinTerm, ...]:
    """The min-terms that can hold and that distinguish the needs: disjoint, and together all cases."""
    return tuple(_split(ALWAYS, frozenset(), sorted(needed, key=_as_text)))


def _as_text(needed: Needed) -> tuple[list[str], list[str]]:
    return sorted(f"{p} {holds}" for p, holds in needed.guard), sorted(map(str, needed.conditions))


def _split(guard: Guard, outcomes: Outcomes, needed: list[Needed]) -> Iterator[_MinTerm]:
    """Decides one condition after the other, first those of the event, and only those that still make a difference."""
    possible = [
        n
        for n in needed
        if conjunction(guard, n.guard) is not None and not any((c, False) in outcomes for c in n.conditions)
    ]
    open_ = predicates_of(frozenset(x for x in n.guard if not implied(guard, frozenset({x}))) for n in possible)
    if open_:
        for holds in (True, False):
            narrowed = conjunction(guard, frozenset({(open_[0], holds)}))
            if narrowed is not None and can_hold(narrowed, outcomes):
                yield from _split(narrowed, outcomes, possible)
        return
    undecided = sorted({c for n in possible for c in n.conditions if (c, True) not in outcomes}, key=str)
    if not undecided:
        yield _MinTerm(guard, outcomes, frozenset(possible))
        return
    for holds in (True, False):
        narrower = outcomes | {(undecided[0], holds)}
        if can_hold(guard, narrower):
            yield from _split(guard, narrower, possible)
