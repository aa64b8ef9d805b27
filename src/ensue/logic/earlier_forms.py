"""Conditions between events in a form that is checked while a match grows, for `explain` to advise.

    x.v + y.v > 5       x.v > 5 - y.v

Registers check a comparison with one event on each side as soon as the second event comes. Arithmetic that is moved to
the other side rounds and overflows elsewhere: so this is advice and no rewriting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.classify import conjunction, is_plain
from ensue.logic.comparisons import MIRRORED, comparison
from ensue.logic.scope import Bindings, aggregates_of, running_of, variables_of

#: A part of a sum, and whether it is added.
Term = tuple[bool, ast.Expression]
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def why_late(e: ast.Expression, known: Bindings) -> str:
    """Why the condition is not checked as soon as its second event comes."""
    if isinstance(e, ast.EachRound):
        return "partial matches do not keep what it asks for: so all matches without it are found first"
    if aggregates_of(e) or any(ast.find(e, ast.Each)):
        return "it asks a whole set of events, which is complete when the match ends"
    if running_of(e):
        return "what it comes to so far differs from match to match"
    used = variables_of(e)
    if len(used) > 2:
        return f"it is about {len(used)} events"
    sets = sorted(x for x in used if not known.get(x, True))
    if sets:
        return f"{sets[0]} stands for a set of events"
    if comparison(e) is None:
        return "it is no comparison with one event on each side"
    return "one of its events may be missing, or come from several places of the pattern"


def earlier_form(e: ast.Expression, known: Bindings | None = None, schema: Schema | None = None) -> str | None:
    """The condition as conjuncts that are checked earlier, or as a choice of two patterns; None if there is none.

    >>> from ensue.language.parser import parse_expression
    >>> for text in ("x.v + y.v > 5", "abs(y.v - x.v) < 3", "x.v BETWEEN y.v AND y.v + 2", "x.v > 1 OR y.v > 2"):
    ...     print(earlier_form(parse_expression(text)))
    FILTER x.v > 5 - y.v
    FILTER y.v < x.v + 3 AND y.v > x.v - 3
    FILTER x.v >= y.v AND x.v <= y.v + 2
    (p FILTER x.v > 1) OR (p FILTER y.v > 2)
    """
    if not is_plain(e):
        return None
    forms = [_conjuncts(a, schema) for a in _alternatives(e)]
    if len(forms) > 1 and not all((known or {}).get(x, True) for x in variables_of(e)):
        return None  # each event of a set may choose for itself
    texts = [print_expression(conjunction(f)) for f in forms if f is not None]
    if len(texts) < len(forms) or texts == [print_expression(e)]:
        return None
    return f"FILTER {texts[0]}" if len(texts) == 1 else " OR ".join(f"(p FILTER {text})" for text in texts)


def as_comparisons(e: ast.Expression, schema: Schema | None) -> list[ast.Expression]:
    """The condition as comparisons that together mean the same for all values and sets; itself if there are none.

    >>> from ensue.language.parser import parse_expression
    >>> for text in ("x.v BETWEEN y.v AND y.w", "abs(y.v) BETWEEN x.v AND 3", "abs(x.v - y.v) < 3"):
    ...     print([print_expression(c) for c in as_comparisons(parse_expression(text), None)])
    ['x.v >= y.v', 'x.v <= y.w']
    ['abs(y.v) BETWEEN x.v AND 3']
    ['abs(x.v - y.v) < 3']
    """
    used = variables_of(e)
    if len(used) != 2 or not is_plain(e) or comparison(e, schema) is not None or not is_exact(e):
        return [e]
    alternatives = _alternatives(e)
    found = _conjuncts(alternatives[0], schema) if len(alternatives) == 1 else None
    # Each speaks of both events: a part about one of them would be asked even if the other were left out.
    return found if found and all(variables_of(c) == used for c in found) else [e]


def is_exact(e: ast.Expression) -> bool:
    """Whether the earlier form means the same for all values: no arithmetic is moved, and NaN is as it was."""
    parts = [part for a in _alternatives(e) for part in _parts(a, wanted=True)]
    solved = [part for part in parts if len(variables_of(part)) > 1 and comparison(part) is None]
    return not solved and not (isinstance(e, ast.Binary) and e.operator == "<>")


def _alternatives(e: ast.Expression) -> list[ast.Expression]:
    match e:
        case ast.Binary(operator="OR"):
            return [*_alternatives(e.left), *_alternatives(e.right)]
        case ast.Binary(operator="<>"):
            return [replace(e, operator="<"), replace(e, operator=">")]
        case ast.InList(negated=False) if len(e.options) <= 3:
            return [ast.Binary("=", e.operand, option) for option in e.options]
        case ast.Between(negated=True):
            return [ast.Binary("<", e.operand, e.low), ast.Binary(">", e.operand, e.high)]
        case ast.Binary(left=ast.Call(function="abs", arguments=(inner,)), operator=">" | ">=" as symbol):
            less = ast.Binary(MIRRORED[symbol], inner, ast.Unary("-", e.right))
            return [less, ast.Binary(symbol, inner, e.right)]
    return [e]


def _conjuncts(e: ast.Expression, schema: Schema | None) -> list[ast.Expression] | None:
    """Conditions on one event, or with one event on each side, that together mean the same; None if there are none."""
    found: list[ast.Expression] = []
    for part in _parts(e, wanted=True):
        solved = part if len(variables_of(part)) <= 1 or comparison(part, schema) is not None else _solved(part)
        if solved is None or (len(variables_of(solved)) > 1 and comparison(solved, schema) is None):
            return None
        found.append(solved)
    return found


def _parts(e: ast.Expression, *, wanted: bool) -> Iterator[ast.Expression]:
    """The conjuncts of a condition that is TRUE or, if it is not `wanted`, FALSE."""
    match e:
        case ast.Unary(operator="NOT"):
            yield from _parts(e.operand, wanted=not wanted)
        case ast.Binary(operator="AND") if wanted:
            yield from (*_parts(e.left, wanted=True), *_parts(e.right, wanted=True))
        case ast.Binary(operator="OR") if not wanted:
            yield from (*_parts(e.left, wanted=False), *_parts(e.right, wanted=False))
        case ast.Between() if wanted != e.negated:
            yield ast.Binary(">=", e.operand, e.low)
            yield ast.Binary("<=", e.operand, e.high)
        case ast.Binary(left=ast.Call(function="abs", arguments=(inner,)), operator="<" | "<=" as symbol) if wanted:
            yield ast.Binary(symbol, inner, e.right)
            yield ast.Binary(MIRRORED[symbol], inner, ast.Unary("-", e.right))
        case _:
            yield e if wanted else ast.Unary("NOT", e)


def _solved(e: ast.Expression) -> ast.Expression | None:
    """A comparison of sums with the terms of one variable on the left and of another on the right."""
    if not (isinstance(e, ast.Binary) and e.operator in MIRRORED):
        return None
    terms = [*_terms(e.left, added=True), *_terms(e.right, added=False)]
    owners = [variables_of(part) for _, part in terms]
    used = sorted({x for owner in owners for x in owner}, key=lambda x: min(i for i, o in enumerate(owners) if x in o))
    if len(used) != 2 or any(len(owner) > 1 for owner in owners):
        return None
    left = [t for t, owner in zip(terms, owners, strict=True) if owner == {used[0]}]
    right = [(not added, part) for (added, part), owner in zip(terms, owners, strict=True) if owner != {used[0]}]
    operator = e.operator
    if not any(added for added, _ in left):
        left, right = ([(not added, part) for added, part in side] for side in (left, right))
        operator = MIRRORED[operator]
    return ast.Binary(operator, _sum(left), _sum(right))


def _terms(e: ast.Expression, *, added: bool) -> Iterator[Term]:
    match e:
        case ast.Binary(operator="+" | "-"):
            yield from _terms(e.left, added=added)
            yield from _terms(e.right, added=added == (e.operator == "+"))
        case ast.Unary(operator="-", operand=operand):
            yield from _terms(operand, added=not added)
        case ast.Literal(value=0):
            pass
        case _:
            yield added, e


def _sum(terms: Sequence[Term]) -> ast.Expression:
    """The sum, which begins with something that is added if anything is."""
    if not terms:
        return ast.Literal(0, ast.LiteralType.INTEGER)
    first, *others = sorted(terms, key=lambda t: not t[0])
    found = first[1] if first[0] else ast.Unary("-", first[1])
    for added, part in others:
        found = ast.Binary("+" if added else "-", found, part)
    return found
