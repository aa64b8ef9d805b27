"""LIMIT and ORDER BY on a stream."""

from __future__ import annotations

from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast


def check_rows_of_stream(query: ast.Query, text: str, *, revised: bool = False) -> None:
    """Refuses what asks for the whole result of a stream, which is never there.

    Where matches are `revised`, one that is taken back would make room for another, so no row is the first of any.
    """
    problems = []
    if query.limit is not None and query.per is ast.Per.RESULT:
        hint = (
            f"write LIMIT {query.limit} PER END for some of the matches of each end, LIMIT {query.limit} PER PARTITION "
            "for the first of each key"
        )
        message = f"LIMIT {query.limit} takes the first rows of the whole result, and a stream has no end"
        problems.append(Problem(ProblemKind.UNSUPPORTED, message, query.places.get("LIMIT", query.span), hint))
    if revised and query.limit is not None and query.per is ast.Per.PARTITION:
        message = "LIMIT ... PER PARTITION takes the first rows of each key, and disorder='revise' may take them back"
        hint = f"write LIMIT {query.limit} PER END, or give disorder='wait'"
        problems.append(Problem(ProblemKind.UNSUPPORTED, message, query.places.get("LIMIT", query.span), hint))
    if query.order:
        message = "ORDER BY sorts the whole result, and a stream has no end"
        hint = "leave it out: the matches come in the order of their ends"
        problems.append(Problem(ProblemKind.UNSUPPORTED, message, query.places.get("ORDER BY", query.span), hint))
    if problems:
        raise QueryError(text, problems)
