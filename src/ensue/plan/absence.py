"""What must not follow a match by a deadline. It is always one event, so no automaton is needed to recognise it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ensue.automata.build import Unsupported, build
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.predicates import Guard, Predicate, machines_of, predicates_of, rankings_of
from ensue.language import ast
from ensue.logic.scope import free, is_atom
from ensue.logic.window import looks_back
from ensue.rewrite import rewrite_pattern


@dataclass(frozen=True)
class Absence:
    """No event for which one of the guards holds may follow a match by the deadline."""

    guards: tuple[Guard, ...]
    deadline: ast.Interval

    @cached_property
    def predicates(self) -> list[Predicate]:
        return predicates_of(self.guards)

    def holds(self, word: int) -> bool:
        """Whether an event must not follow. Bit `k` of its word says whether predicate `k` holds for it."""
        true = {p for k, p in enumerate(self.predicates) if word >> k & 1}
        return any(all((p in true) == positive for p, positive in guard) for guard in self.guards)


def absence_of(node: ast.NotAfter, consume: ast.Consume) -> Absence:
    """The absence with its deadline; raises Unsupported if recognising it takes more than one event."""
    if consume is not ast.Consume.NONE:
        raise Unsupported(node, "CONSUME BY with a deadline")
    if free(node.absent):
        raise Unsupported(node, "a deadline for an absence that uses events before it")
    if not is_atom(node.absent) or looks_back(node.absent):
        raise Unsupported(node, "a deadline for an absence of several events")
    automaton = pruned(with_shared_registers(build(rewrite_pattern(node.absent))))
    guards = tuple(dict.fromkeys(t.guard for t in automaton.transitions))
    asks_before = machines_of(predicates_of(guards)) or rankings_of(guards)
    if automaton.registers or asks_before or {t.source for t in automaton.transitions} > {0}:
        raise Unsupported(node, "a deadline for an absence of several events")
    return Absence(guards, node.deadline)
