"""Finds the fragment of the language that a query is in: the facts about a query that `explain` reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from ensue.language import ast
from ensue.language.printer import print_closing, print_expression
from ensue.logic.own_automata import automata_of, own_automaton_of
from ensue.logic.scope import aggregates_of, variables_of
from ensue.logic.window import looks_back


@dataclass(frozen=True)
class Fragment:
    """The features of a query that decide how it can be evaluated."""

    related: tuple[str, ...]  # the conditions that relate several events
    look_back: bool
    timed_gaps: bool
    windows: tuple[ast.Interval | ast.EventCount, ...]
    selectors: tuple[ast.Selector, ...]
    absence: bool
    deadline: ast.Interval | None  # of the absence at the end of the pattern
    deadline_before: ast.Interval | None  # of the absence at its front
    closings: tuple[str, ...]  # what closes windows

    @property
    def unary(self) -> bool:
        """Whether every filter concerns one event at a time."""
        return not self.related

    @property
    def uses_time(self) -> bool:
        """Whether the query measures time differences, so that the unit of the time column must be known."""
        times = (self.deadline, self.deadline_before, *self.windows)
        return self.timed_gaps or any(isinstance(w, ast.Interval) for w in times)


def classify(query: ast.Query) -> Fragment:
    """The fragment of a query.

    >>> from ensue.language.parser import parse_query
    >>> classify(parse_query("SELECT * FROM S WHERE A AS x ; B AS y FILTER x.id = y.id AND x.v > 1")).related
    ('x.id = y.id',)
    """
    pattern = query.pattern
    conjuncts = [c for f in ast.find(pattern, ast.Filter) for c in conjuncts_of(f.condition)]
    selectors = [s.selector for s in ast.find(pattern, ast.Select)]
    automata = automata_of(query)
    if query.selector is not ast.Selector.ALL:
        selectors.insert(0, query.selector)
    return Fragment(
        related=tuple(print_expression(c) for c in conjuncts if len(variables_of(c)) > 1 or aggregates_of(c)),
        look_back=looks_back(pattern) or any(own.looks_back for own in automata),
        timed_gaps=any(map(_is_timed, ast.walk(pattern))),
        windows=tuple(w.window for w in ast.find(pattern, ast.Within)),
        selectors=tuple(dict.fromkeys(selectors)),
        absence=any(isinstance(p, ast.Absence) for p in ast.walk(pattern)),
        deadline=deadline_of(pattern),
        deadline_before=next((p.deadline for p in ast.find(pattern, ast.NotBefore)), None),
        closings=tuple(dict.fromkeys(print_closing(p) for p in ast.find(pattern, ast.Until))),
    )


def _is_timed(node: ast.Node) -> bool:
    """Whether times are measured here between two events."""
    if isinstance(node, ast.Matches):
        own = own_automaton_of(node)
        return own is not None and any(arc.since for arc in own.shape.arcs)
    return isinstance(node, ast.Sequence | ast.NotBetween | ast.Iteration) and node.gap is not None


def deadline_of(pattern: ast.Pattern) -> ast.Interval | None:
    """The deadline of the absence at the end of a query's pattern, if it ends in one."""
    return next((p.deadline for p in ast.find(pattern, ast.NotAfter)), None)


def is_told_later_than_end(query: ast.Query) -> bool:
    """Whether matches wait, once they have ended, for a time to pass or for what closes a window."""
    return deadline_of(query.pattern) is not None or any(ast.find(query.pattern, ast.Until))


def conjuncts_of(e: ast.Expression) -> list[ast.Expression]:
    """The conjuncts of a condition: the operands of its outermost ANDs. A filter judges each of them by itself."""
    if isinstance(e, ast.Binary) and e.operator == "AND":
        return conjuncts_of(e.left) + conjuncts_of(e.right)
    return [e]


def conjunction(conjuncts: list[ast.Expression]) -> ast.Expression:
    """The condition that all of these conjuncts hold; there must be at least one."""
    return reduce(lambda left, right: ast.Binary("AND", left, right, span=left.span.join(right.span)), conjuncts)
