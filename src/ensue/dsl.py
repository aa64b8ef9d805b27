"""The builder of queries in Python, under the name that users import."""

from ensue.language.expression_builder import (
    Expr,
    Variable,
    attribute,
    call,
    case,
    count_distinct,
    count_matches,
    lastof,
    param,
    running,
    variables,
)
from ensue.language.pattern_builder import ANY, Pat, Windows, types, window
from ensue.language.position_builder import (
    Claim,
    Position,
    PositionSet,
    exists,
    forall,
    from_to,
    position_sets,
    positions,
)
from ensue.language.query_builder import Select, aggregate, select

__all__ = [
    "ANY",
    "Claim",
    "Expr",
    "Pat",
    "Position",
    "PositionSet",
    "Select",
    "Variable",
    "Windows",
    "aggregate",
    "attribute",
    "call",
    "case",
    "count_distinct",
    "count_matches",
    "exists",
    "forall",
    "from_to",
    "lastof",
    "param",
    "position_sets",
    "positions",
    "running",
    "select",
    "types",
    "variables",
    "window",
]
