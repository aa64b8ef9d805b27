"""A condition on an earlier event inside a choice: the cases become alternatives (Grez, Theorem 5.3, first step).

    T AS x ; ((T AS y FILTER x.v >= 40) OR (H AS y FILTER x.v < 40))

is a choice between `(T AS x FILTER x.v >= 40) ; T AS y` and `(T AS x FILTER x.v < 40) ; H AS y`. What has to be known
of `x` is then decided at `x` itself, and no value of it is stored. With negations at the conditions themselves, a
pattern has the more matches, the more of these hold. So the case in which one does not hold need not say so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ensue.language import ast
from ensue.logic.classify import conjunction, conjuncts_of, is_plain
from ensue.logic.scope import captured, free, singles, variables_of
from ensue.rewrite.bottom_up import bottom_up
from ensue.rewrite.drop_dead import NOTHING, drop_dead

#: More conditions of this kind than this stay where they are: each can double the pattern.
MOST_CONDITIONS = 4
#: In these, more matches of a part give more matches of the whole.
_Monotone = ast.Filter | ast.Sequence | ast.Or | ast.And | ast.All | ast.Iteration | ast.Optional | ast.As | ast.Within


def split_cases(p: ast.Pattern) -> ast.Pattern:
    """The pattern with alternatives for what its choices ask of events outside of them.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(split_cases(parse_pattern("T AS x ; ((T AS y FILTER x.v > 4) OR H AS y)")))
    '(T AS x ; (T AS y OR H AS y) FILTER x.v > 4) OR T AS x ; H AS y'
    """
    asked = conditions_on_outer_events(p)
    return p if not asked or len(asked) > MOST_CONDITIONS else bottom_up(p, _split)


def conditions_on_outer_events(p: ast.Pattern) -> list[ast.Expression]:
    """The conditions on one event each that stand in a part of the pattern in which this event is not bound."""
    found: dict[ast.Expression, None] = {}
    for q in ast.walk(p):
        if isinstance(q, ast.Pattern):
            found |= dict.fromkeys(_asked(q))
    return list(found)


def _split(q: ast.Pattern) -> ast.Pattern:
    first = next(_asked(q), None)
    if first is None:
        return q
    holds = ast.Filter(_split(drop_dead(_with(q, first, holds=True))), first, span=q.span)
    without = drop_dead(_with(q, first, holds=False))
    return holds if without == NOTHING else ast.Or(holds, _split(without), span=q.span)


def _asked(q: ast.Pattern) -> Iterator[ast.Expression]:
    """What parts of `q` ask of single events that `q` binds elsewhere."""
    given = captured(q)
    if given and isinstance(q, ast.Sequence | ast.All | ast.And):
        for part in (q.left, q.right):
            for conjunct in _inside(part, given & free(part)):
                yield from (a for a in _literals(conjunct, wanted=True) if variables_of(a) <= given & free(part))


def _inside(p: ast.Pattern, given: frozenset[str]) -> Iterator[ast.Expression]:
    """The conjuncts in `p` that use events from around it, as far as cases can be made of them."""
    if not given or not isinstance(p, _Monotone) or getattr(p, "absent", None) is not None:
        return
    if isinstance(p, ast.Filter):
        # With a set that may be empty, a condition holds that is false otherwise.
        known = given | singles(p.body)
        yield from (c for c in conjuncts_of(p.condition) if is_plain(c) and variables_of(c) <= known)
    for part in ast.children(p):
        if isinstance(part, ast.Pattern):
            yield from _inside(part, given & free(part))


def _literals(e: ast.Expression, *, wanted: bool) -> Iterator[ast.Expression]:
    """The parts of a condition, with the negations around them, that AND and OR join."""
    match e:
        case ast.Unary(operator="NOT"):
            yield from _literals(e.operand, wanted=not wanted)
        case ast.Binary(operator="AND" | "OR") if len(variables_of(e)) > 1:
            yield from _literals(e.left, wanted=wanted)
            yield from _literals(e.right, wanted=wanted)
        case _ if len(variables_of(e)) == 1:
            yield e if wanted else ast.Unary("NOT", e)


def _with(q: ast.Pattern, asked: ast.Expression, *, holds: bool) -> ast.Pattern:
    """The pattern in the case that what it asks holds, or as if it did not."""
    assert isinstance(q, ast.Sequence | ast.All | ast.And)
    given = captured(q)
    changed = {side: _decided(getattr(q, side), asked, given, holds=holds) for side in ("left", "right")}
    return dataclasses.replace(q, **changed)  # type: ignore[arg-type]


def _decided(p: ast.Pattern, asked: ast.Expression, given: frozenset[str], *, holds: bool) -> ast.Pattern:
    given = given & free(p)
    if not given or not isinstance(p, _Monotone) or getattr(p, "absent", None) is not None:
        return p
    parts = {
        f.name: _decided(value, asked, given, holds=holds)
        for f in dataclasses.fields(p)
        if isinstance(value := getattr(p, f.name), ast.Pattern)
    }
    if isinstance(p, ast.Filter):
        known = given | singles(p.body)
        conjuncts = [
            _in_case(c, asked, wanted=True, holds=holds) if is_plain(c) and variables_of(c) <= known else c
            for c in conjuncts_of(p.condition)
        ]
        return ast.Filter(parts["body"], _simplified(conjuncts), span=p.span)
    return dataclasses.replace(p, **parts)  # type: ignore[arg-type]


def _in_case(e: ast.Expression, asked: ast.Expression, *, wanted: bool, holds: bool) -> ast.Expression:
    """The condition with negations at its parts, where the part that is asked holds or does not."""
    match e:
        case ast.Unary(operator="NOT"):
            return _in_case(e.operand, asked, wanted=not wanted, holds=holds)
        case ast.Binary(operator="AND" | "OR") if len(variables_of(e)) > 1:
            left, right = (_in_case(side, asked, wanted=wanted, holds=holds) for side in (e.left, e.right))
            return _joined((e.operator == "AND") == wanted, left, right, e)
    literal = e if wanted else ast.Unary("NOT", e)
    return (_TRUE if holds else _FALSE) if literal == asked else literal


def _joined(both: bool, left: ast.Expression, right: ast.Expression, here: ast.Expression) -> ast.Expression:
    decides, leaves = (_FALSE, _TRUE) if both else (_TRUE, _FALSE)
    if decides in (left, right):
        return decides
    if leaves in (left, right):
        return right if left == leaves else left
    return ast.Binary("AND" if both else "OR", left, right, span=here.span)


def _simplified(conjuncts: list[ast.Expression]) -> ast.Expression:
    if _FALSE in conjuncts:
        return _FALSE
    return conjunction([c for c in conjuncts if c != _TRUE] or [_TRUE])


_TRUE = ast.Literal(True, ast.LiteralType.BOOLEAN)
_FALSE = ast.Literal(False, ast.LiteralType.BOOLEAN)
