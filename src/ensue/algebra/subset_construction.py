"""The subset construction over classes of events and clock types: an equivalent automaton with one run each.

Of automata that report matches, there is one run for each way to mark the events (Grez, Proposition 6.1).

A clock stays one register, if all runs with the same events agree on it wherever it can still be checked: then the
resets are synchronous (Garcia and Riveros, Theorem 5.3). Whether they do is found on the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product
from typing import NamedTuple

from ensue.automata.build.limits import MAX_PREDICATES
from ensue.automata.liveness import Registers, register_liveness
from ensue.automata.model import NO_MARKS, Automaton, Builder, Label, Marks, TooLarge, Transition
from ensue.automata.predicates import Guard, cells, implied, predicates_of
from ensue.automata.registers import Keep, Since, Store
from ensue.automata.timing.clock_types import clock_types, covers
from ensue.errors import EngineError
from ensue.logic.stored_values import Register


class _State(NamedTuple):
    first: bool  # nothing leads back to where the run starts
    subset: frozenset[int]


def determinised(p: Automaton, *, accepting: bool, marks: Collection[Marks] = (NO_MARKS,)) -> Automaton:
    """The automaton that accepts the same streams with at most one run each, or those that `p` does not accept.

    `marks` are the ways to mark an event; a stream with other marks is another one.
    """
    _check(p)
    try:
        return _Construction(p, marks).made(accepting=accepting)
    except TooLarge as e:
        raise EngineError(f"the deterministic automaton would have more than {e.most:,} transitions") from None


def _check(p: Automaton) -> None:
    """Refuses what has no deterministic automaton, or too large a one."""
    stored = register_liveness(p).stored
    if any(isinstance(a, Since) and a.register not in stored[t.source] for t in p.transitions for a in t.actions):
        raise EngineError("a clock is checked that some runs have not reset: in those the check holds")
    if any(not isinstance(a, Since) and not _resets(a) for t in p.transitions for a in t.actions):
        raise EngineError(
            "automata with registers are not closed under complement and determinisation: with k registers, a "
            "deterministic automaton cannot store k + 1 events that may each be compared with a later one"
        )
    if len(predicates_of(t.guard for t in p.transitions)) > MAX_PREDICATES:
        raise EngineError(f"determinising distinguishes all combinations of at most {MAX_PREDICATES} conditions")


def _resets(action: object) -> bool:
    return isinstance(action, Store) and action.value is None and action.keep is Keep.NEW


class _Construction:
    def __init__(self, p: Automaton, marks: Collection[Marks]) -> None:
        self._p = p
        self._marks = sorted(marks, key=sorted)
        self._cells = list(cells(predicates_of(t.guard for t in p.transitions)))
        self._live = register_liveness(p).live
        checks = [a for t in p.transitions for a in t.actions if isinstance(a, Since)]
        self._types = {r: clock_types(c.interval for c in checks if c.register == r) for r in p.registers}

    def made(self, *, accepting: bool) -> Automaton:
        start = _State(True, frozenset({0}))
        made = Builder(start)
        seen, waiting = {start}, [start]
        while waiting:
            source = waiting.pop()
            for guard, label, after in self._moves(source.subset):
                if accepting and not after:
                    continue
                target = _State(False, after)
                made.add(source, guard, label, target, final=self._p.finals.isdisjoint(after) != accepting)
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return made.build()

    def _moves(self, subset: frozenset[int]) -> Iterator[tuple[Guard, Label, frozenset[int]]]:
        """For each class of events, and each type of the clocks that are checked: the states that runs reach."""
        known: Registers = frozenset().union(*(self._live.get(s, ()) for s in subset))
        outgoing = [t for s in sorted(subset) for t in self._p.outgoing.get(s, ())]
        for cell, marks in product(self._cells, self._marks):
            possible = [t for t in outgoing if t.marks == marks and implied(cell, t.guard)]
            asked = sorted({a.register for t in possible for a in t.actions if isinstance(a, Since)} & known)
            for types in product(*(self._types[r] for r in asked)):
                now = frozenset(Since(r, i) for r, i in zip(asked, types, strict=True))
                taken = [t for t in possible if _passes(t, now)]
                resets = {Store(r) for r in sorted(self._p.registers) if self._is_reset(r, taken)}
                yield cell, Label(marks, now | resets), frozenset(t.target for t in taken)

    def _is_reset(self, register: Register, taken: list[Transition]) -> bool:
        """Whether the event resets the clock, for all runs that can still check it."""
        found = {Store(register) in t.actions for t in taken if register in self._live.get(t.target, ())}
        if len(found) > 1:
            raise EngineError(
                "the resets are not synchronous: after the same events, runs may differ in a clock that they can still "
                "check, so that one clock does not tell which of them go on"
            )
        return found == {True}


def _passes(t: Transition, types: frozenset[Since]) -> bool:
    known = {since.register: since.interval for since in types}
    return all(covers(a.interval, known[a.register]) for a in t.actions if isinstance(a, Since) and a.register in known)
