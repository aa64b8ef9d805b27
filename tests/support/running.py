"""Running queries in tests: the result as plain values that can be compared."""

from __future__ import annotations

from hypothesis import currently_in_test_context, note
from membership import ComplexEvent, Event
from strategies import events_table

import ensue
from ensue.language import ast
from ensue.language.printer import print_query
from ensue.results.matches import Matches


def query_of(pattern: ast.Pattern) -> ast.Query:
    return ast.Query(None, ("S",), pattern)


def run(query: ast.Query, events: list[Event], engine: str) -> Matches:
    """The matches of a query, given as an AST, over events whose times are seconds."""
    if currently_in_test_context():
        note(f"{print_query(query)}\n-- over {events}")
    return ensue.Query(print_query(query), query).run(events_table(events), unit="s", engine=engine)


def complex_events(matches: Matches) -> list[ComplexEvent]:
    """The matches as triples of start, end and marks."""
    return [
        (
            int(matches.start[m]),
            int(matches.end[m]),
            frozenset((x, int(k)) for x, marks in matches.marks.items() for k in marks.of(m)),
        )
        for m in range(len(matches))
    ]


def results(query: ast.Query, events: list[Event], engine: str) -> set[ComplexEvent]:
    """The complex events of a query; fails if one is reported twice."""
    found = complex_events(run(query, events, engine))
    assert len(found) == len(set(found)), "a complex event is reported twice"
    return set(found)


def meaning(pattern: ast.Pattern, events: list[Event], engine: str) -> set[ComplexEvent]:
    """The complex events of a pattern."""
    return results(query_of(pattern), events, engine)


def same_meaning(p: ast.Pattern, q: ast.Pattern, events: list[Event], engine: str) -> bool:
    """Whether two patterns have the same complex events. If not, a note shows some that only one of them has."""
    of_p, of_q = meaning(p, events, engine), meaning(q, events, engine)
    if of_p != of_q and currently_in_test_context():
        note(
            f"only the first: {sorted(of_p - of_q, key=repr)[:3]}, only the second: {sorted(of_q - of_p, key=repr)[:3]}"
        )
    return of_p == of_q
