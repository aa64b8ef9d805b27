"""Whether a query asks what a clock shows at an instant, which depends on a time zone."""

from __future__ import annotations

from ensue.language import ast
from ensue.logic.functions import FUNCTIONS, TIME


def reads_wall_clock(query: ast.Query) -> bool:
    """Whether some expression of the query takes an instant apart, as `hour` and `date` do, or casts a value.

    >>> from ensue.language.parser import parse_query
    >>> [reads_wall_clock(parse_query(f"SELECT {item} AS i FROM S WHERE A AS x")) for item in ("hour(x.t)", "abs(x.v)")]
    [True, False]
    """
    return any(ast.find(query, ast.Cast)) or any(
        TIME in FUNCTIONS[call.function].parameters for call in ast.find(query, ast.Call) if call.function in FUNCTIONS
    )
