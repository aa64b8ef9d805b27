"""Queries whose literals are handed over as parameters."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

from lark import Token

from ensue.language.parser import _lark

#: What a literal is worth, by the kind of its token.
_VALUES: dict[str, Callable[[str], Any]] = {
    "INTEGER": int,
    "DECIMAL": Decimal,
    "STRING": lambda text: text[1:-1].replace("''", "'"),
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
    "NULL": lambda _: None,
}


def with_parameters(text: str, rng: Random) -> tuple[str, dict[str, Any]]:
    """The query with parameters in the places of most literals, and their values."""
    tokens = list(_lark("query_text").lex(text))
    made, done = "", 0
    values: dict[str, Any] = {}
    for before, token in zip([Token("", ""), *tokens], tokens, strict=False):
        # `IS NULL` is a test; a keyword behind a dot is a name.
        word = before.type in ("IS", "NOT", "DOT") and token.type in ("NULL", "TRUE", "FALSE")
        if token.type in _VALUES and not word and rng.random() < 0.8:
            name = f"p{len(values)}"
            values[name] = _VALUES[token.type](str(token))
            assert token.start_pos is not None
            made, done = made + text[done : token.start_pos] + f"${name}", token.end_pos or 0
    return made + text[done:], values
