"""Watching for a pattern that must not occur: the set of states its runs are in, started at every event.

Where it is one event that is related to others (`NOT (B AS b FILTER b.v > x.v)`), registers must say that it is not.
"""

from collections.abc import Iterator
from functools import reduce

from ensue.automata.build.limits import Unsupported, check_predicates
from ensue.automata.model import Automaton, Transition
from ensue.automata.predicates import Guard, cells, implied, predicates_of
from ensue.automata.registers import Action, Holds, formulas_of
from ensue.language import ast

Watched = frozenset[int]
Watching = tuple[Guard, frozenset[Action], Watched]


class Watcher:
    """Steps the set of states of `absent` on one event, split into the cells that its guards tell apart."""

    def __init__(self, part: ast.Node, absent: Automaton) -> None:
        if any(t.actions and t.target not in absent.finals for t in absent.transitions):
            raise Unsupported(part, "several events that must not come and are related to others")
        self._absent = absent
        predicates = predicates_of(t.guard for t in absent.transitions)
        check_predicates(part, len(predicates))
        self._cells = list(cells(predicates))
        self._known: dict[Watched, list[Watching]] = {}

    def steps(self, watched: Watched) -> list[Watching]:
        """For each cell, what must hold for no run of the absent pattern to end at this event, and the next set."""
        if watched not in self._known:
            self._known[watched] = list(self._steps(watched))
        return self._known[watched]

    def _steps(self, watched: Watched) -> Iterator[Watching]:
        for cell in self._cells:
            taken = [
                t for state in watched | {0} for t in self._absent.outgoing.get(state, ()) if implied(cell, t.guard)
            ]
            ending = [t for t in taken if t.target in self._absent.finals]
            if all(t.actions for t in ending):
                after = frozenset(t.target for t in taken if t not in ending)
                yield cell, frozenset(_does_not_end(t) for t in ending), after


def _does_not_end(t: Transition) -> Action:
    first, *rest = map(_as_condition, formulas_of(t.actions))
    return Holds(reduce(lambda a, b: ast.Binary("AND", a, b), rest, first), absent=True)


def _as_condition(f: Holds) -> ast.Expression:
    """What is TRUE where the formula holds."""
    if not f.absent:
        return f.condition
    return ast.Binary("OR", ast.IsNull(f.condition, negated=False), ast.Unary("NOT", f.condition))
