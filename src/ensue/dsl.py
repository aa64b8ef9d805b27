"""The builder of queries in Python, under the name that users import."""

from ensue.language.builder import (
    ANY,
    Expr,
    Pat,
    Select,
    Variable,
    Windows,
    attribute,
    call,
    case,
    lastof,
    running,
    select,
    types,
    variables,
    window,
)

__all__ = [
    "ANY",
    "Expr",
    "Pat",
    "Select",
    "Variable",
    "Windows",
    "attribute",
    "call",
    "case",
    "lastof",
    "running",
    "select",
    "types",
    "variables",
    "window",
]
