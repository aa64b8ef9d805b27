"""Durations as a text writes them: `1 h 30 min`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

from lark import Token

from ensue.errors import Span, did_you_mean
from ensue.language import ast
from ensue.language.rule_support import Refused, token_span

#: Each unit of time that a text may have, as so many of a unit that the AST has: a week is seven days.
_UNITS: dict[str, tuple[int, str]] = {
    **{name: (1, unit) for name, unit in ast.UNITS.items()},
    **dict.fromkeys(("w", "week", "weeks"), (7, "d")),
}
_NO_FIXED_LENGTH = ("mon", "month", "months", "y", "yr", "year", "years")
#: Enough digits for every sum of parts.
_EXACT = Context(prec=100)


def duration_of(parts: Sequence[Token], span: Span) -> ast.Duration:
    """The length `1 h 30 min`, in the smallest of its units: 90 min."""
    total, unit = Decimal(0), ""
    before: Token | None = None
    for number, name in zip(parts[::2], parts[1::2], strict=True):
        count, unit = _unit(name)
        if before is not None and _nanoseconds(name) >= _nanoseconds(before):
            hint = f"{name} is not smaller than {before}: write 1 h 30 min"
            raise Refused("the parts of a duration go from the largest unit to the smallest", token_span(name), hint)
        if before is not None:
            total = _EXACT.multiply(total, Decimal(_nanoseconds(before) // _nanoseconds(name)))
        total = _EXACT.add(total, _amount(number))
        before = name
    amount = _EXACT.multiply(total, Decimal(count))
    if amount.adjusted() > 18:
        raise Refused("a duration has at most 19 digits before the point", span)
    return ast.Duration(amount, unit, span=span)


def _unit(name: Token) -> tuple[int, str]:
    known = _UNITS.get(name.lower())
    if known is not None:
        return known
    hint = did_you_mean(name, _UNITS) or "units are ns, us, ms, s, min, h, d and w"
    if name.lower() == "m":
        hint = "write 5 min for minutes, 5 ms for milliseconds"
    elif name.lower() in ("row", "rows", "message", "messages"):
        hint = "write 5 EVENTS for a number of events"
    elif name.lower() in _NO_FIXED_LENGTH:
        hint = "months and years have no fixed length: write days, such as 30 d"
    elif any(c.isdigit() for c in name):
        hint = "write the parts of a duration apart: 1 h 30 min"
    raise Refused(f"unknown unit of time '{name}'", token_span(name), hint)


def _nanoseconds(name: Token) -> int:
    count, unit = _unit(name)
    return count * ast.NANOSECONDS[unit]


def _amount(number: Token) -> Decimal:
    # Durations are exact, so 1e999999999 s would be a number of a thousand million digits.
    _, _, exponent = number.value.lower().partition("e")
    amount = Decimal(number.value) if len(exponent) <= 4 else Decimal("Infinity")
    if not amount.is_finite() or amount.adjusted() > 18 or int(amount.as_tuple().exponent) < -18:
        message = "a duration has at most 19 digits before the point and 18 after it"
        raise Refused(message, token_span(number))
    return amount
