"""Automata to compute with: union, concatenation, iteration, intersection, and without registers the complement.

A recogniser accepts a stream if a run of its automaton takes all events, from the first to the last. Automata with
registers are closed under union, concatenation and iteration, but not under complement and determinisation (Alevizos et
al., theorem 12): a deterministic one would have to remember every event that may still be compared, and it has a fixed
number of registers.

>>> rising = Recogniser.of("(A AS x ; A AS y) FILTER y.v > x.v")
>>> events = [{"time": k, "type": "A", "v": v} for k, v in enumerate([1, 5, 3])]
>>> rising.accepts(events), rising.accepts(events[1:])
(True, False)
>>> (~Recogniser.of("A : A")).accepts(events)
True
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.automata.build import and_ as intersection
from ensue.automata.build import apart, build, or_, project, sequence
from ensue.automata.build import iteration as iteration_
from ensue.automata.build.limits import MAX_PREDICATES
from ensue.automata.liveness import pruned, shared
from ensue.automata.memory import Check, Clear, Condition, Keep, Store, conditions_of, writes_of
from ensue.automata.model import NO_MARKS, UNMARKED, Automaton, Builder
from ensue.automata.predicates import Guard, Predicate, Test, TypeIs, cells, implied, machines_of, predicates_of
from ensue.errors import EngineError
from ensue.events import EventStream, one_chunk, read_events
from ensue.kernels.masks import holds, values_of
from ensue.language import ast
from ensue.language.parser import parse_pattern

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NOTHING = object()


@dataclass(frozen=True)
class Recogniser:
    """An automaton without its marks: what counts is whether a run takes all events."""

    automaton: Automaton

    @classmethod
    def of(cls, pattern: str) -> Recogniser:
        """The streams that are one complex event of the pattern, from the first event to the last."""
        automaton = pruned(shared(build(parse_pattern(pattern))))
        if machines_of(predicates_of(t.guard for t in automaton.transitions)):
            raise EngineError("a selector inside a pattern depends on what came before: it has no automaton of its own")
        return cls(project.construct(automaton, NO_MARKS))

    @property
    def unary(self) -> bool:
        """Whether it asks something of one event at a time."""
        return not self.automaton.registers

    def __or__(self, other: Recogniser) -> Recogniser:
        """What one of the two accepts."""
        return Recogniser(or_.construct(self.automaton, other.automaton))

    def __and__(self, other: Recogniser) -> Recogniser:
        """What both accept."""
        return Recogniser(intersection.construct(*apart(self.automaton, other.automaton)))

    def then(self, other: Recogniser) -> Recogniser:
        """A stream that this accepts, and directly after it one that the other accepts."""
        return Recogniser(sequence.construct(self.automaton, other.automaton, contiguous=True))

    def repeated(self) -> Recogniser:
        """One stream or more that this accepts, each directly after the other."""
        return Recogniser(iteration_.construct(self.automaton, 1, None, contiguous=True))

    def determinised(self) -> Recogniser:
        """The same with one run at most over every stream, by the subset construction over classes of events."""
        return Recogniser(self._determinised(accepting=True))

    def __invert__(self) -> Recogniser:
        """The streams of one event or more that this does not accept."""
        return Recogniser(self._determinised(accepting=False))

    def _determinised(self, *, accepting: bool) -> Automaton:
        if not self.unary:
            raise EngineError(
                "automata with registers are not closed under complement and determinisation: with k registers, a "
                "deterministic one cannot remember k + 1 events that may each be compared with one to come"
            )
        p = self.automaton
        predicates = predicates_of(t.guard for t in p.transitions)
        if len(predicates) > MAX_PREDICATES:
            raise EngineError(f"determinising tells all combinations apart of at most {MAX_PREDICATES} conditions")
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
        """Whether a run takes all events, which have the columns `time` and `type`; `unit` is that of whole times."""
        stream = read_events(events, ("S",), unit=unit)
        return _Runs(self.automaton, stream).accepted() if len(stream) else False


_Stored = frozenset[tuple[str, Any]]


class _Runs:
    """All runs of an automaton over one stream, by their states and what they have stored."""

    def __init__(self, automaton: Automaton, stream: EventStream) -> None:
        self._automaton = automaton
        self._stream = stream
        predicates = predicates_of(t.guard for t in automaton.transitions)
        self._truth = {p: self._mask(p) for p in predicates}
        self._values: dict[ast.Expression, list[Any]] = {}

    def accepted(self) -> bool:
        open_: set[tuple[int, _Stored]] = {(0, frozenset())}
        for k in range(len(self._stream)):
            open_ = {
                (t.target, after)
                for state, stored in open_
                for t in self._automaton.outgoing.get(state, ())
                if self._holds(t.guard, k)
                if (after := self._after(stored, t.actions, k)) is not None
            }
        return any(state in self._automaton.finals for state, _ in open_)

    def _mask(self, p: Predicate) -> Any:
        if isinstance(p, TypeIs):
            return np.array([t == p.name for t in self._stream.types.to_pylist()], dtype=np.bool_)
        assert isinstance(p, Test)
        return holds(p.expression, self._columns(p.expression), len(self._stream))

    def _columns(self, e: ast.Expression) -> dict[str, pa.Array]:
        return {n.name: one_chunk(self._stream.table.column(n.name)) for n in ast.find(e, ast.Name)}

    def _holds(self, guard: Guard, k: int) -> bool:
        return all(bool(self._truth[p][k]) == positive for p, positive in guard)

    def _value(self, e: ast.Expression | None, k: int) -> Any:
        if e is None:
            return int(self._stream.times[k])
        if e not in self._values:
            self._values[e] = values_of(e, self._columns(e), len(self._stream)).to_pylist()
        return self._values[e][k]

    def _after(self, stored: _Stored, actions: Any, k: int) -> _Stored | None:
        """What is stored after the actions; None where a check fails."""
        before = dict(stored)
        if not all(self._passes(c, before.get(c.register, _NOTHING), k) for c in conditions_of(actions)):
            return None
        for w in writes_of(actions):
            if isinstance(w, Clear):
                before.pop(w.register, None)
                continue
            before[w.register] = self._kept(w, before.get(w.register, _NOTHING), self._value(w.value, k))
        return frozenset(before.items())

    def _kept(self, store: Store, old: Any, new: Any) -> Any:
        if old is _NOTHING or store.keep is Keep.NEW:
            return new
        if old is None or new is None:
            return None
        return min(old, new) if store.keep is Keep.LEAST else max(old, new)

    def _passes(self, c: Condition, stored: Any, k: int) -> bool:
        if stored is _NOTHING:
            return True
        if isinstance(c, Check):
            value = self._value(c.value, k)
            return stored is not None and value is not None and _COMPARE[c.operator](stored, value)
        assert self._stream.tick is not None, "a pattern that compares times needs a stream whose unit is known"
        return c.interval.contains((int(self._stream.times[k]) - stored) * self._stream.tick)
