"""Automata that accept or reject whole streams, and the operations under which they are closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ensue.algebra.event_conditions import NOTHING, EventConditions
from ensue.automata.build import and_ as intersection
from ensue.automata.build import apart, build, or_, project, sequence
from ensue.automata.build import iteration as iteration_
from ensue.automata.build.limits import MAX_PREDICATES
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import NO_MARKS, UNMARKED, Automaton, Builder
from ensue.automata.predicates import cells, implied, machines_of, predicates_of, rankings_of
from ensue.automata.registers import Clear, conditions_of, writes_of
from ensue.data.events import EventStream, read_events
from ensue.errors import EngineError
from ensue.language.parser import parse_pattern


@dataclass(frozen=True)
class Recogniser:
    """An automaton without marks: it accepts a stream if one of its runs takes all events."""

    automaton: Automaton

    @classmethod
    def of(cls, pattern: str) -> Recogniser:
        """Accepts the streams that, from the first event to the last, are one complex event of the pattern."""
        automaton = pruned(with_shared_registers(build(parse_pattern(pattern))))
        guards = [t.guard for t in automaton.transitions]
        if machines_of(predicates_of(guards)) or rankings_of(guards):
            raise EngineError("a selector inside a pattern depends on earlier events: it has no automaton of its own")
        return cls(project.construct(automaton, NO_MARKS))

    @property
    def unary(self) -> bool:
        """Whether every condition of the automaton concerns one event."""
        return not self.automaton.registers

    def __or__(self, other: Recogniser) -> Recogniser:
        """Accepts the streams that one of the two accepts."""
        return Recogniser(or_.construct(self.automaton, other.automaton))

    def __and__(self, other: Recogniser) -> Recogniser:
        """Accepts the streams that both accept."""
        return Recogniser(intersection.construct(*apart(self.automaton, other.automaton)))

    def then(self, other: Recogniser) -> Recogniser:
        """Accepts a stream that this one accepts, directly followed by a stream that the other accepts."""
        return Recogniser(sequence.construct(self.automaton, other.automaton, contiguous=True))

    def repeated(self) -> Recogniser:
        """Accepts one or more streams that this one accepts, each directly after the other."""
        return Recogniser(iteration_.construct(self.automaton, 1, None, contiguous=True))

    def determinised(self) -> Recogniser:
        """Accepts the same streams with at most one run each, by the subset construction over classes of events."""
        return Recogniser(self._determinised(accepting=True))

    def __invert__(self) -> Recogniser:
        """Accepts the streams of one or more events that this one does not accept."""
        return Recogniser(self._determinised(accepting=False))

    def _determinised(self, *, accepting: bool) -> Automaton:
        if not self.unary:
            raise EngineError(
                "automata with registers are not closed under complement and determinisation: with k registers, a "
                "deterministic automaton cannot store k + 1 events that may each be compared with a later one"
            )
        p = self.automaton
        predicates = predicates_of(t.guard for t in p.transitions)
        if len(predicates) > MAX_PREDICATES:
            raise EngineError(f"determinising distinguishes all combinations of at most {MAX_PREDICATES} conditions")
        start: tuple[bool, frozenset[int]] = (True, frozenset({0}))
        made = Builder(start)
        seen, waiting = {start}, [start]
        while waiting:
            source = waiting.pop()
            for cell in cells(predicates):
                after = frozenset(t.target for s in source[1] for t in p.outgoing.get(s, ()) if implied(cell, t.guard))
                target = (False, after)
                made.add(source, cell, UNMARKED, target, final=p.finals.isdisjoint(after) != accepting)
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return made.build()

    def accepts(self, events: Any, *, unit: str | None = None) -> bool:
        """Whether a run takes all events, which have the columns `time` and `type`; `unit` is for integer times."""
        stream = read_events(events, ("S",), unit=unit)
        return _Runs(self.automaton, stream).accepted() if len(stream) else False


_Stored = frozenset[tuple[str, Any]]


class _Runs:
    """All runs of an automaton over one stream; runs with equal states and registers are one."""

    def __init__(self, automaton: Automaton, stream: EventStream) -> None:
        self._automaton = automaton
        self._length = len(stream)
        self._at = EventConditions(stream, [range(len(stream))])

    def accepted(self) -> bool:
        open_: set[tuple[int, _Stored]] = {(0, frozenset())}
        for k in range(self._length):
            open_ = {
                (t.target, after)
                for state, stored in open_
                for t in self._automaton.outgoing.get(state, ())
                if self._at.holds(t.guard, k)
                if (after := self._after(stored, t.actions, k)) is not None
            }
        return any(state in self._automaton.finals for state, _ in open_)

    def _after(self, stored: _Stored, actions: Any, k: int) -> _Stored | None:
        """The contents of the registers after the actions; None if a check fails."""
        before = dict(stored)
        if not all(self._at.passes(c, before, k) for c in conditions_of(actions)):
            return None
        for w in writes_of(actions):
            if isinstance(w, Clear):
                before.pop(w.register, None)
                continue
            old = before.get(w.register, NOTHING)
            before[w.register] = self._at.kept(w.keep, old, self._at.value(w.value, k))
        return frozenset(before.items())
