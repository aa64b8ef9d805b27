"""The public face: `query`, `match`, `Query`, and several queries at once."""

from ensue.api.many_queries import live, rows, run
from ensue.api.one_query import Query, match, query

__all__ = ["Query", "live", "match", "query", "rows", "run"]
