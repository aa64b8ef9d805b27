"""Ensue: complex event recognition. Write a pattern over a stream of events, get every complex event that matches.

Each public name is loaded when it is first used, because Spark starts worker processes that need almost none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensue import dsl, windows
    from ensue.api import Query, live, match, query, rows, run
    from ensue.corrections.live_queries import Live, LiveQueries
    from ensue.errors import DataError, EngineError, EnsueError, QueryError
    from ensue.own.user_aggregates import aggregate
    from ensue.own.user_automata import Automaton
    from ensue.own.user_functions import function
    from ensue.preparation import prepare
    from ensue.results.changes import Answer, Changes
    from ensue.results.detections import Detections
    from ensue.results.matches import Matches
    from ensue.results.totals import Totals
    from ensue.row_patterns.sql import SqlRows, explain_sql, sql

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Automaton",
    "Changes",
    "DataError",
    "Detections",
    "EngineError",
    "EnsueError",
    "Live",
    "LiveQueries",
    "Matches",
    "Query",
    "QueryError",
    "SqlRows",
    "Totals",
    "aggregate",
    "dsl",
    "explain_sql",
    "function",
    "live",
    "match",
    "prepare",
    "query",
    "rows",
    "run",
    "sql",
    "windows",
]

_PLACES = {
    **dict.fromkeys(("Query", "live", "match", "query", "rows", "run"), "ensue.api"),
    **dict.fromkeys(("DataError", "EngineError", "EnsueError", "QueryError"), "ensue.errors"),
    "Automaton": "ensue.own.user_automata",
    "aggregate": "ensue.own.user_aggregates",
    "function": "ensue.own.user_functions",
    "prepare": "ensue.preparation",
    "Detections": "ensue.results.detections",
    **dict.fromkeys(("Live", "LiveQueries"), "ensue.corrections.live_queries"),
    **dict.fromkeys(("Answer", "Changes"), "ensue.results.changes"),
    "Matches": "ensue.results.matches",
    "Totals": "ensue.results.totals",
    **dict.fromkeys(("SqlRows", "explain_sql", "sql"), "ensue.row_patterns.sql"),
}


def __getattr__(name: str) -> Any:
    if name in ("dsl", "windows"):
        return import_module(f"ensue.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'ensue' has no attribute '{name}'")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
