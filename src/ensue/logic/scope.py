"""Scope: which variables a pattern binds, which stand for exactly one event, which a pattern takes from outside.

These are the definitions of the language page, section 4, as functions of a pattern. The reference evaluator,
the checks and the engines share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from ensue.language import ast

#: For each variable that a pattern binds: whether it stands for exactly one event there.
Bindings = Mapping[str, bool]


@lru_cache(maxsize=10_000)
def bindings(p: ast.Pattern) -> Bindings:
    """The variables of `p`, each with True where it is single.

    >>> from ensue.language.parser import parse_pattern
    >>> dict(bindings(parse_pattern("A AS x ; (B AS y)+ ; A")))
    {'A': False, 'x': True, 'B': False, 'y': False}
    """
    match p:
        case ast.Type():
            return {p.name: True}
        case ast.Any():
            return {}
        case ast.As():
            inner = bindings(p.body)
            # A name that the body binds already is joined with all its marks: single only if both are one event.
            single = is_atom(p.body) and inner.get(p.variable, True)
            return {**inner, p.variable: single}
        case ast.Iteration():
            inner = bindings(p.body)
            return inner if p.low == p.high == 1 else dict.fromkeys(inner, False)
        case ast.Optional():
            return dict.fromkeys(bindings(p.body), False)
        case ast.Sequence() | ast.NotBetween():
            left, right = bindings(p.left), bindings(p.right)
            return {x: s and not (x in left and x in right) for x, s in {**left, **right}.items()}
        case ast.Or():
            left, right = bindings(p.left), bindings(p.right)
            return {x: left.get(x, False) and right.get(x, False) for x in {**left, **right}}
        case ast.And():
            # Both sides mark alike, so what is one event on either side is one event.
            left, right = bindings(p.left), bindings(p.right)
            return {x: left.get(x, False) or right.get(x, False) for x in {**left, **right}}
        case ast.All():
            left, right = bindings(p.left), bindings(p.right)
            return {x: left.get(x, True) and right.get(x, True) for x in {**left, **right}}
        case ast.Project():
            inner = bindings(p.body)
            return {x: inner[x] for x in inner if x in p.variables}
        case ast.Filter() | ast.Within() | ast.Select() | ast.Unless():
            return bindings(p.body)
    raise AssertionError(p)


@lru_cache(maxsize=10_000)
def always_marked(p: ast.Pattern) -> frozenset[str]:
    """The variables that mark at least one event in every complex event of `p`."""
    match p:
        case ast.Type():
            return frozenset({p.name})
        case ast.Any() | ast.Optional():
            return frozenset()
        case ast.As():
            inner = always_marked(p.body)
            return inner | {p.variable} if inner or is_atom(p.body) else inner
        case ast.Sequence() | ast.NotBetween() | ast.And() | ast.All():
            return always_marked(p.left) | always_marked(p.right)
        case ast.Or():
            return always_marked(p.left) & always_marked(p.right)
        case ast.Project():
            return always_marked(p.body) & set(p.variables)
        case ast.Iteration() | ast.Filter() | ast.Within() | ast.Select() | ast.Unless():
            return always_marked(p.body)
    raise AssertionError(p)


def singles(p: ast.Pattern) -> frozenset[str]:
    """The variables that stand for exactly one event in every complex event of `p`."""
    return frozenset(x for x, single in bindings(p).items() if single)


@lru_cache(maxsize=10_000)
def is_atom(p: ast.Pattern) -> bool:
    """Whether `p` is one event, whatever it matches: then `p AS x` marks that event, for ANY too."""
    match p:
        case ast.Type() | ast.Any():
            return True
        case ast.As() | ast.Filter() | ast.Within() | ast.Select() | ast.Unless():
            return is_atom(p.body)
        case ast.Or() | ast.And():
            return is_atom(p.left) and is_atom(p.right)
        case ast.Iteration():
            return p.low == p.high == 1 and is_atom(p.body)
    return False


@lru_cache(maxsize=10_000)
def free(p: ast.Pattern) -> frozenset[str]:
    """The variables that filters inside `p` take from a pattern around `p`."""
    return _asked(p) - captured(p)


@lru_cache(maxsize=10_000)
def captured(p: ast.Pattern) -> frozenset[str]:
    """The variables that `p` gives to filters below it: single in `p`, and free in a part of it."""
    return _asked(p) & singles(p)


def _asked(p: ast.Pattern) -> frozenset[str]:
    """What the parts of `p` leave free."""
    asked: frozenset[str] = frozenset()
    for part, given in parts(p):
        asked |= free(part) - given
    if isinstance(p, ast.Filter):
        asked |= variables_of(p.condition) - bindings(p.body).keys()
    return asked


def parts(p: ast.Pattern) -> Iterator[tuple[ast.Pattern, frozenset[str]]]:
    """The patterns directly inside `p`, each with the variables that `p` hands to that part alone.

    The absent pattern of UNLESS and of NOT between sees the single variables of the patterns it is absent from.
    """
    match p:
        case ast.Unless():
            yield p.body, frozenset()
            yield p.absent, singles(p)
        case ast.NotBetween():
            yield p.left, frozenset()
            yield p.right, frozenset()
            yield p.absent, singles(p)
        case _:
            for part in ast.children(p):
                if isinstance(part, ast.Pattern):
                    yield part, frozenset()


def nullable(p: ast.Pattern) -> bool:
    """Whether a sequence around `p` may go on without it."""
    if isinstance(p, ast.Sequence | ast.NotBetween):
        return nullable(p.left) and nullable(p.right)
    return isinstance(p, ast.Optional)


def chosen_of(e: ast.Expression) -> frozenset[str]:
    """The variables from whose sets an event is chosen, as `x.a`: if one of them is empty, a filter holds."""
    return frozenset(n.variable for n in ast.find(e, ast.Attribute))


def variables_of(e: ast.Expression) -> frozenset[str]:
    """The variables that an expression of a filter speaks of, as `x.a` or `x[g]`."""
    return frozenset(n.variable for n in ast.walk(e) if isinstance(n, ast.Attribute | ast.Each))
