"""Automata that report matches, and the operations under which they are closed, with their marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pyarrow as pa

from ensue.algebra.runnable import field_types, runnable
from ensue.algebra.subset_construction import determinised
from ensue.api import query
from ensue.automata.automaton_printer import print_automaton
from ensue.automata.build import Unsupported, build, iteration, or_, project, sequence
from ensue.automata.build import and_ as intersection
from ensue.automata.build.named_automaton import registers_of
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import Automaton, Label, Marks, TooLarge, Transition
from ensue.automata.predicates import machines_of, predicates_of, rankings_of
from ensue.automata.registers import Clear, Keep, Store, fresh
from ensue.data.schema import Schema, ValueType
from ensue.errors import EngineError
from ensue.language import ast
from ensue.language.own import Draft
from ensue.logic.check_automata import type_of
from ensue.logic.own_automata import OwnAutomaton
from ensue.logic.stored_values import Register
from ensue.own.registry import register
from ensue.results.matches import Matches
from ensue.rewrite import rewrite_pattern

#: A complement has a transition for each way to mark an event.
MOST_VARIABLES = 6
_DECIDED_OUTSIDE = ast.Until | ast.NotAfter | ast.NotBefore


@dataclass(frozen=True)
class MatchAutomaton(Draft):
    """An automaton that reports matches: where they start and end, and which events their variables mark.

    A query takes it under a name, as it takes an `ensue.Automaton`: `MATCHES name` runs over tables, on Spark and over
    streams. Automata with marks are closed under union, intersection, concatenation, iteration, determinisation and
    complement (Grez, Proposition 6.1); with registers not under the last two (Alevizos et al., Theorem 12), but with
    clocks, if the resets are synchronous (Garcia and Riveros, Theorem 5.3).

    >>> import ensue
    >>> later, next_one = MatchAutomaton.of("A ; B"), MatchAutomaton.of("A : B")
    >>> print(next_one)
    0 -> 1  A / A
    1 -> 2* B / B
    >>> events = [{"time": k, "type": t} for k, t in enumerate("AABB")]
    >>> query = "SELECT A.time, B.time FROM S WHERE MATCHES apart WITHIN 3 EVENTS"
    >>> ensue.query(query, apart=later - next_one).run(events, unit="s")
    start_time  end_time  A_time  B_time
    ----------  --------  ------  ------
    0           2         0       2
    1           3         1       3
    2 matches
    """

    automaton: Automaton
    #: The types of the values that its registers store.
    types: Mapping[Register, ValueType] = field(default_factory=dict)

    @classmethod
    def of(cls, pattern: str | Draft, *, schema: pa.Schema | None = None) -> MatchAutomaton:
        """The automaton of a pattern, or of an `ensue.Automaton`; a pattern that compares events needs the schema."""
        known = None if schema is None else Schema.of(schema)
        if isinstance(pattern, str):
            tree = query(f"SELECT * FROM S WHERE {pattern}").ast
            if tree.consume is not ast.Consume.NONE or tree.limit is not None or tree.partition:
                raise EngineError("an automaton is made of a pattern alone: leave out PARTITION BY and what follows it")
            made = _built(tree.pattern)
            return cls(made, field_types(made, known))
        own = pattern.finished("own")
        if not isinstance(own, OwnAutomaton):
            raise TypeError(f"a pattern, or an ensue.Automaton, and not {own!r}")
        made = _built(ast.Matches("own", own))
        held = {r: type_of(own.fields[name]) for name, r in registers_of(own).items() if name in own.fields}
        return cls(made, {r: t for r, t in held.items() if r in made.registers})

    def __str__(self) -> str:
        return "\n".join(print_automaton(self.automaton))

    @property
    def variables(self) -> frozenset[str]:
        """The variables that mark events."""
        return frozenset().union(*self._marks)

    @property
    def _marks(self) -> frozenset[Marks]:
        return frozenset(t.marks for t in self.automaton.transitions)

    def __or__(self, other: MatchAutomaton) -> MatchAutomaton:
        """What one of the two reports."""
        return self._joined(other, or_.construct)

    def __and__(self, other: MatchAutomaton) -> MatchAutomaton:
        """What both report: the same events with the same marks."""
        return self._joined(other, intersection.construct)

    def __sub__(self, other: MatchAutomaton) -> MatchAutomaton:
        """What this one reports and the other does not; the other must have a complement."""
        without = determinised(other.automaton, accepting=False, marks=self._marks)
        return self & MatchAutomaton(without, other.types)

    def then(self, other: MatchAutomaton) -> MatchAutomaton:
        """What this one reports, directly followed by what the other reports, as one match."""
        return self._joined(other, lambda p, q: sequence.construct(p, q, contiguous=True))

    def repeated(self) -> MatchAutomaton:
        """One or more of what this one reports, each directly after the other, as one match."""
        began_anew = _with_empty_registers(self.automaton)
        return self._made(lambda: iteration.construct(began_anew, 1, None, contiguous=True), self.types)

    def keeping(self, *variables: str) -> MatchAutomaton:
        """The same with the marks of these variables alone."""
        return MatchAutomaton(project.construct(self.automaton, frozenset(variables)), self.types)

    def determinised(self) -> MatchAutomaton:
        """The same with at most one run for each match: the subset construction over events and their marks."""
        return self._made(lambda: determinised(self.automaton, accepting=True, marks=self._marks), self.types)

    def __invert__(self) -> MatchAutomaton:
        """All that this one does not report: any stretch of events, and any marks of these variables on them."""
        names = sorted(self.variables)
        if len(names) > MOST_VARIABLES:
            raise EngineError(
                f"a complement has every other way to mark events, and {len(names)} variables have too many: keep up "
                f"to {MOST_VARIABLES}, or subtract the automaton from another one"
            )
        ways = [frozenset(some) for n in range(len(names) + 1) for some in combinations(names, n)]
        return self._made(lambda: determinised(self.automaton, accepting=False, marks=ways), self.types)

    def run(self, events: Any, **options: Any) -> Matches:
        """The matches in a table of events; for windows, partitions, streams and Spark, give it to a query."""
        found = query("SELECT * FROM S WHERE MATCHES it", it=self).run(events, **options)
        assert isinstance(found, Matches)
        return found

    def register(self, name: str) -> MatchAutomaton:
        """Makes it known to all queries of the program that are made from now on."""
        register(self.finished(name))
        return self

    def finished(self, name: str) -> OwnAutomaton:
        """The automaton as queries take it, under a name."""
        return runnable(name, self.automaton, self.types)

    def _joined(self, other: MatchAutomaton, by: Callable[[Automaton, Automaton], Automaton]) -> MatchAutomaton:
        names = fresh(self.automaton.registers, other.automaton.registers)
        renamed = {r: next(names) for r in sorted(self.automaton.registers & other.automaton.registers)}
        types = {renamed.get(r, r): t for r, t in other.types.items()}
        return self._made(lambda: by(self.automaton, other.automaton.renamed(renamed)), {**self.types, **types})

    @staticmethod
    def _made(construct: Callable[[], Automaton], types: Mapping[Register, ValueType]) -> MatchAutomaton:
        try:
            made = pruned(construct())
        except TooLarge as e:
            raise EngineError(f"the automaton would have more than {e.most:,} transitions") from None
        return MatchAutomaton(made, {r: t for r, t in types.items() if r in made.registers})


def _built(p: ast.Pattern) -> Automaton:
    if any(isinstance(q, _DECIDED_OUTSIDE) for q in ast.walk(p)):
        raise EngineError("what follows a match, or came before it, within some time is not part of an automaton")
    try:
        made = pruned(with_shared_registers(build(rewrite_pattern(p))))
    except Unsupported as e:
        raise EngineError(f"the pattern has no automaton, because of {e.what}") from None
    guards = [t.guard for t in made.transitions]
    if machines_of(predicates_of(guards)) or rankings_of(guards):
        raise EngineError("a selector inside a pattern depends on earlier events: it has no automaton of its own")
    if any(isinstance(a, Store) and a.keep is not Keep.NEW for t in made.transitions for a in t.actions):
        raise EngineError("registers that add up, or keep the least, are not part of the algebra")
    return made


def _with_empty_registers(p: Automaton) -> Automaton:
    """The automaton whose first transitions empty all registers: a second round must not read those of the first."""

    def begun(t: Transition) -> Label:
        return t.also(*map(Clear, sorted(p.registers))) if t.source == 0 else t.label

    return Automaton(p.size, p.finals, tuple(Transition(t.source, t.guard, begun(t), t.target) for t in p.transitions))
