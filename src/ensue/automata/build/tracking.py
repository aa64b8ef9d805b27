"""Watches for a pattern that must not occur, by the set of states of its runs; a run starts at every event.

If the pattern is one event that is related to others (`NOT (B AS b FILTER b.v > x.v)`), register checks exclude it.
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
    """Steps the set of states of `absent` on one event, for each cell of events that its guards distinguish."""

    def __init__(self, part: ast.Node, absent: Automaton) -> None:
        if any(t.actions and t.target not in absent.finals for t in absent.transitions):
            raise Unsupported(part, "an absent pattern of several events that is related to other events")
        self._absent = absent
        predicates = predicates_of(t.guard for t in absent.transitions)
        check_predicates(part, len(predicates))
        self._cells = list(cells(predicates))
        self._known: dict[Watched, list[Watching]] = {}

    def steps(self, watched: Watched) -> list[Watching]:
        """For each cell: the checks by which no run of the absent pattern ends at this event, and the next set."""
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
    """A condition that is TRUE if and only if the formula holds."""
    if not f.absent:
        return f.condition
    return ast.Binary("OR", ast.IsNull(f.condition, negated=False), ast.Unary("NOT", f.condition))
