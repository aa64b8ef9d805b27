"""Watching for a pattern that must not occur: the set of states its runs are in, started at every event."""

from collections.abc import Iterator

from ensue.automata.build.limits import check_predicates
from ensue.automata.model import Automaton
from ensue.automata.predicates import Guard, cells, implied, predicates_of
from ensue.language import ast

Watched = frozenset[int]


class Watcher:
    """Steps the set of states of `absent` on one event, split into the cells that its guards tell apart."""

    def __init__(self, part: ast.Node, absent: Automaton) -> None:
        self._absent = absent
        predicates = predicates_of(t.guard for t in absent.transitions)
        check_predicates(part, len(predicates))
        self._cells = list(cells(predicates))
        self._known: dict[Watched, list[tuple[Guard, Watched]]] = {}

    def steps(self, watched: Watched) -> list[tuple[Guard, Watched]]:
        """For each cell the next set, where no run of the absent pattern ends at this event."""
        if watched not in self._known:
            self._known[watched] = list(self._steps(watched))
        return self._known[watched]

    def _steps(self, watched: Watched) -> Iterator[tuple[Guard, Watched]]:
        for cell in self._cells:
            after = frozenset(
                t.target
                for state in watched | {0}
                for t in self._absent.outgoing.get(state, ())
                if implied(cell, t.guard)
            )
            if not after & self._absent.finals:
                yield cell, after
