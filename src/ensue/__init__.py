"""Ensue: complex event recognition. Write a pattern over a stream of events, get every complex event that matches."""

from ensue import dsl
from ensue.api import Query, match, query
from ensue.detections import Detections
from ensue.errors import DataError, EngineError, EnsueError, QueryError
from ensue.matches import Matches

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "Detections",
    "EngineError",
    "EnsueError",
    "Matches",
    "Query",
    "QueryError",
    "dsl",
    "match",
    "query",
]
