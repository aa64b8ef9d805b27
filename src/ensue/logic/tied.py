"""Equality that ties all events of a pattern together is a partition by itself.

    A AS x ; B AS y ; C AS z FILTER x.id = y.id AND y.id = z.id

finds what `PARTITION BY id` finds without the filter, as long as nothing in the pattern speaks of events of other ids:
no neighbours, no count of events, nothing absent. The partition costs the same whatever the number of ids.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.classify import conjuncts_of
from ensue.logic.scope import always_marked, is_atom
from ensue.schema import Kind

#: An equality `x.a = y.a`: its attribute and its two variables.
Equality = tuple[str, frozenset[str]]


def tied(checked: Checked, *, counting: bool = False) -> Checked:
    """The query with a partition for each attribute that its filters say to be equal in all events of a match.

    With `counting`, also where the whole has a window in events: these are then still the events of all partitions.

    >>> from ensue.language.parser import parse_query
    >>> from ensue.language.printer import print_query
    >>> from ensue.logic.check import check
    >>> text = "SELECT x FROM S WHERE A AS x ; B AS y FILTER x.id = y.id AND x.v > 1"
    >>> print(print_query(tied(check(parse_query(text), text)).query))
    SELECT x
    FROM S
    WHERE A AS x ; B AS y
    FILTER x.id = x.id AND x.v > 1
    PARTITION BY id
    """
    query = checked.query
    core, filters = _spine(query.pattern)
    if query.consume is not ast.Consume.NONE or query.selector is ast.Selector.STRICT:
        return checked
    counted = any(isinstance(w.window, ast.EventCount) for w in _windows(query.pattern))
    if (counted and not counting) or not all(map(_concerns_its_own_events, _all_nodes(query, core, filters))):
        return checked
    known = always_marked(core)
    equalities = [e for f in filters for c in conjuncts_of(f.condition) if (e := _equality(c)) and e[1] <= known]
    attributes = [a for a in dict.fromkeys(a for a, _ in equalities) if _ties_all(core, a, equalities)]
    if checked.schema is not None:  # nested values can be compared, but are no keys
        attributes = [a for a in attributes if checked.schema.attributes[a].kind is not Kind.OTHER]
    if not attributes:
        return checked
    old = {k.attribute for k in query.partition}
    keys = tuple(ast.PartitionKey(a) for a in attributes if a not in old)
    pattern = _without(query.pattern, frozenset((a, v) for a, v in equalities if a in attributes))
    return dataclasses.replace(
        checked, query=dataclasses.replace(query, pattern=pattern, partition=(*query.partition, *keys))
    )


def _spine(p: ast.Pattern) -> tuple[ast.Pattern, list[ast.Filter]]:
    """The pattern under the filters and windows around the whole of it, and those filters."""
    filters = []
    while isinstance(p, ast.Filter | ast.Within):
        if isinstance(p, ast.Filter):
            filters.append(p)
        p = p.body
    return p, filters


def _windows(p: ast.Pattern) -> Iterator[ast.Within]:
    """The windows around the whole pattern."""
    while isinstance(p, ast.Filter | ast.Within):
        if isinstance(p, ast.Within):
            yield p
        p = p.body


def _all_nodes(query: ast.Query, core: ast.Pattern, filters: list[ast.Filter]) -> Iterator[ast.Node]:
    yield from ast.walk(core)
    for f in filters:
        yield from ast.walk(f.condition)
    for item in query.items or ():
        yield from ast.walk(item.expression)


def _concerns_its_own_events(node: ast.Node) -> bool:
    """Whether a node says nothing of events that are not in the complex event."""
    match node:
        case ast.Sequence() | ast.Iteration():
            return not node.contiguous
        case ast.Unless() | ast.NotBetween() | ast.NotAfter() | ast.Select() | ast.EventCount():
            return False
        case ast.Call():
            return node.function != "prev"
    return True


def _equality(e: ast.Expression) -> Equality | None:
    match e:
        case ast.Binary("=", ast.Attribute(x, a), ast.Attribute(y, b)) if a == b and x != y:
            return a, frozenset({x, y})
    return None


def _ties_all(core: ast.Pattern, attribute: str, equalities: list[Equality]) -> bool:
    """Whether chains of equalities of the attribute reach every event of the pattern."""
    pairs = [variables for a, variables in equalities if a == attribute]
    reached = set(pairs[0])
    for _ in pairs:
        for pair in pairs:
            if pair & reached:
                reached |= pair
    return _covered(core, frozenset(reached))


def _covered(p: ast.Pattern, variables: frozenset[str]) -> bool:
    """Whether every event that a complex event of `p` has is marked by one of the variables."""
    match p:
        case ast.Type():
            return p.name in variables
        case ast.As():
            # AS marks what its pattern marks: an ANY inside a longer pattern is not among that.
            marks_all = is_atom(p.body) or not any(ast.find(p.body, ast.Any))
            return (p.variable in variables and marks_all) or _covered(p.body, variables)
        case ast.Filter() | ast.Within() | ast.Iteration() | ast.Optional():
            return _covered(p.body, variables)
        case ast.Sequence() | ast.Or() | ast.And() | ast.All():
            return _covered(p.left, variables) and _covered(p.right, variables)
    return False


def _without(p: ast.Pattern, equalities: frozenset[Equality]) -> ast.Pattern:
    """The spine with each of the equalities replaced by what it says of one event: that it has such a value."""
    if isinstance(p, ast.Within):
        return dataclasses.replace(p, body=_without(p.body, equalities))
    if not isinstance(p, ast.Filter):
        return p
    kept: list[ast.Expression] = []
    for c in conjuncts_of(p.condition):
        equality = _equality(c)
        if equality in equalities and isinstance(c, ast.Binary):
            # TRUE but for NULL and NaN, which equal nothing: in a partition they would equal each other.
            c = ast.Binary("=", c.left, c.left, span=c.span)
        if c not in kept:
            kept.append(c)
    condition = kept[0]
    for c in kept[1:]:
        condition = ast.Binary("AND", condition, c, span=p.condition.span)
    return dataclasses.replace(p, body=_without(p.body, equalities), condition=condition)
