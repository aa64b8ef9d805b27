"""LIMIT and ORDER BY on a stream."""

from __future__ import annotations

from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast
from ensue.logic.partition_keys import key_name


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
    problems += _of_groups(query)
    if problems:
        raise QueryError(text, problems)


def _of_groups(query: ast.Query) -> list[Problem]:
    """Groups of AGGREGATE that are never complete, or that several tasks have parts of."""
    aggregation, where = query.aggregation, query.places.get("items", query.span)
    if aggregation is None or aggregation.per_end:
        return []
    if aggregation.every is None:
        message = "these groups are complete when the stream ends, and a stream has no end"
        hint = "add buckets of time, GROUP BY EVERY 1 h, or write GROUP BY END for each end by itself"
        return [Problem(ProblemKind.UNSUPPORTED, message, where, hint)]
    if any(True for _ in ast.find(query.pattern, ast.Until)):
        message = "what UNTIL waits for may come at any time, so no bucket of time is ever complete"
        hint = "write GROUP BY END for each end by itself, and add up downstream"
        return [Problem(ProblemKind.UNSUPPORTED, message, where, hint)]
    grouped = {k.name for k in aggregation.keys}
    missing = [name for name in map(key_name, query.partition) if name not in grouped]
    if not missing:
        return []
    message = "a stream keeps the groups of each key of PARTITION BY by themselves"
    hint = f"add {', '.join(missing)} to GROUP BY, and add up the rows downstream"
    return [Problem(ProblemKind.UNSUPPORTED, message, where, hint)]
