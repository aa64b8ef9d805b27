"""What the rules of the tree share: places, and refusing what the grammar accepts and the language does not."""

from __future__ import annotations

from lark import Token
from lark.tree import Meta

from ensue.errors import Problem, ProblemKind, Span


class Refused(Exception):
    """Raised for a construct that the grammar accepts and the language does not."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        self.problem = Problem(ProblemKind.SYNTAX, message, span, hint)
        super().__init__(message)


def span_of(meta: Meta) -> Span:
    """The place of all that a rule has read."""
    return Span(meta.start_pos, meta.end_pos)


def token_span(token: Token) -> Span:
    """The place of one word or sign."""
    start = token.start_pos or 0
    return Span(start, token.end_pos or start + len(token))


def whole_number(token: Token) -> int:
    """The value of a whole number, which fits 64 bits."""
    # The digits are counted first: Python refuses to convert thousands of them.
    digits = token.lstrip("0") or "0"
    if len(digits) > 19 or int(digits) >= 2**63:
        raise Refused("the number does not fit 64 bits", token_span(token))
    return int(digits)


def unquoted(token: Token) -> str:
    """The name that the token writes, perhaps in backticks."""
    return token[1:-1].replace("``", "`") if token.type == "QUOTED" else token.value
