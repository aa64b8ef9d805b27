"""The builder of queries in Python, under the name that users import."""

from ensue.language.builder import (
    ANY,
    Expr,
    Pat,
    Select,
    Variable,
    attribute,
    call,
    case,
    lastof,
    running,
    select,
    types,
    variables,
)

__all__ = [
    "ANY",
    "Expr",
    "Pat",
    "Select",
    "Variable",
    "attribute",
    "call",
    "case",
    "lastof",
    "running",
    "select",
    "types",
    "variables",
]
