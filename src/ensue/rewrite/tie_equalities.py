"""Equality that ties all events of a pattern together is a partition by itself.

    A AS x ; B AS y ; C AS z FILTER x.id = y.id AND y.id = z.id

finds what `PARTITION BY id` finds without the filter, as long as nothing in the pattern speaks of events of other ids:
no neighbours, no count of events; and what must not come between or after is of that id too. The partition costs the
same whatever the number of ids.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from functools import reduce

from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.classify import conjuncts_of
from ensue.logic.scope import always_marked, bindings, is_atom, singles, variables_of
from ensue.rewrite.query_parts import QueryParts

#: An equality `x.a = y.a`: its attribute and its two variables.
Equality = tuple[str, frozenset[str]]


def tie_equalities(parts: QueryParts) -> QueryParts:
    """The query with the partitions that its equalities are; a window in events still counts those of all of them."""
    own_keys = bool(parts.query.partition)
    checked = tied(parts.checked, counting=not own_keys)
    return dataclasses.replace(parts, checked=checked, counts_all=bool(checked.query.partition) and not own_keys)


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
    attributes = _tying(dataclasses.replace(query, pattern=lifted(query.pattern)), checked, counting)
    if not attributes:
        return checked
    return _with_keys(dataclasses.replace(query, pattern=lifted(query.pattern, attributes)), checked, attributes)


def _tying(query: ast.Query, checked: Checked, counting: bool) -> list[str]:
    """The attributes that are equal in all events of a match, by the filters around the whole."""
    core, filters = _spine(query.pattern)
    if query.consume is not ast.Consume.NONE or query.selector is ast.Selector.STRICT:
        return []
    counted = any(isinstance(w.window, ast.EventCount) for w in _windows(query.pattern))
    if (counted and not counting) or not all(map(_concerns_its_own_events, _all_nodes(query, core, filters))):
        return []
    equalities, absent = _of_match(core, filters), _of_absences(core)
    named = dict.fromkeys(a for a, _ in [*equalities, *(e for es in absent for e in es)])
    attributes = [a for a in named if _ties_all(core, a, equalities, absent)]
    if checked.schema is not None:  # nested values can be compared, but are no keys
        attributes = [a for a in attributes if not checked.schema.attributes[a].kind.nested]
    return attributes


def _with_keys(query: ast.Query, checked: Checked, attributes: list[str]) -> Checked:
    """The query with these attributes as keys, and without what they settle."""
    core, filters = _spine(query.pattern)
    old = {k.attribute for k in query.partition}
    keys = tuple(ast.PartitionKey(a) for a in attributes if a not in old)
    settled = frozenset((a, v) for a, v in _of_match(core, filters) if a in attributes)
    pattern = _in_absent(_without(query.pattern, settled), frozenset(attributes), always_marked(core))
    return dataclasses.replace(
        checked, query=dataclasses.replace(query, pattern=pattern, partition=(*query.partition, *keys))
    )


def _of_match(core: ast.Pattern, filters: list[ast.Filter]) -> list[Equality]:
    """The equalities between events that every match has."""
    return [e for e in _equalities(filters) if e[1] <= always_marked(core)]


def _of_absences(core: ast.Pattern) -> list[dict[Equality, str]]:
    return [_with_others(q, always_marked(core)) for q in _absent_in(core)]


def lifted(p: ast.Pattern, attributes: Collection[str] | None = None) -> ast.Pattern:
    """The pattern with the equalities of its steps, those of these attributes, in filters around all steps.

    An equality of each round of an iteration with an event outside is one of all rounds.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(lifted(parse_pattern("A AS x ; (B AS y FILTER y.id = x.id AND y.v > 1) WITHIN 5 s")))
    'A AS x ; (B AS y FILTER y.v > 1) FILTER y.id = x.id WITHIN 5 s'
    >>> print_pattern(lifted(parse_pattern("A AS x ; (B AS y FILTER y.id = x.id)+")))
    'A AS x ; (B AS y)+ FILTER y.id = x.id'
    """
    if isinstance(p, ast.Filter | ast.Within):
        return dataclasses.replace(p, body=lifted(p.body, attributes))
    lifting = _Lifting(attributes)
    rest = lifting.rest_of(p, _Inside(known=always_marked(p) & singles(p)))
    return reduce(_filtered, lifting.moved, rest) if lifting.moved else p


@dataclasses.dataclass(frozen=True)
class _Inside:
    """What is known where a step stands: the events that the match has once, and those that only its round has."""

    known: frozenset[str]
    of_round: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()  # what other steps bind

    def beside(self, other: ast.Pattern) -> _Inside:
        return dataclasses.replace(self, elsewhere=self.elsewhere | bindings(other).keys())

    def round_of(self, body: ast.Pattern) -> _Inside:
        own = (always_marked(body) & singles(body)) - self.elsewhere
        return dataclasses.replace(self, of_round=self.of_round | own)

    def ties(self, variables: frozenset[str]) -> bool:
        """Whether an equality of these means the same around all steps: two of one round are equal in that one only."""
        return variables <= self.known | self.of_round and len(variables & self.of_round) <= 1


class _Lifting:
    def __init__(self, attributes: Collection[str] | None) -> None:
        self._attributes = attributes
        self.moved: list[ast.Expression] = []

    def rest_of(self, p: ast.Pattern, inside: _Inside) -> ast.Pattern:
        """The pattern without the equalities that mean the same around all steps: these are `moved`."""
        match p:
            case ast.Sequence() | ast.NotBetween():
                left, right = self.rest_of(p.left, inside.beside(p.right)), self.rest_of(p.right, inside.beside(p.left))
                return dataclasses.replace(p, left=left, right=right)
            case ast.Iteration():
                return dataclasses.replace(p, body=self.rest_of(p.body, inside.round_of(p.body)))
            case ast.Within() | ast.NotAfter() | ast.NotBefore():
                return dataclasses.replace(p, body=self.rest_of(p.body, inside))
            case ast.Filter():
                return self._rest_of_filter(p, inside)
        return p

    def _rest_of_filter(self, p: ast.Filter, inside: _Inside) -> ast.Pattern:
        kept: list[ast.Expression] = []
        conditions = conjuncts_of(p.condition)
        for c in conditions:
            equality = _equality(c)
            named = equality is not None and (self._attributes is None or equality[0] in self._attributes)
            (self.moved if equality is not None and named and inside.ties(equality[1]) else kept).append(c)
        body = self.rest_of(p.body, inside)
        return dataclasses.replace(p, body=body) if len(kept) == len(conditions) else reduce(_filtered, kept, body)


def _filtered(p: ast.Pattern, condition: ast.Expression) -> ast.Pattern:
    return ast.Filter(p, condition, span=condition.span)


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
            return node.link is ast.Link.THEN
        case ast.Select() | ast.EventCount() | ast.SpanOf() | ast.After() | ast.Until():
            return False
        case ast.Call():
            return node.function != "prev"
    return True


def _absent_in(core: ast.Pattern) -> list[ast.Pattern]:
    """What must not come between, after or before."""
    absences = ast.Absence | ast.Iteration
    return [p.absent for p in ast.walk(core) if isinstance(p, absences) and p.absent is not None]


def _equalities(filters: list[ast.Filter]) -> list[Equality]:
    return [e for f in filters for c in conjuncts_of(f.condition) if (e := _equality(c))]


def _with_others(absent: ast.Pattern, known: frozenset[str]) -> dict[Equality, str]:
    """The equalities of an event that must not come with one of the match, and that one's variable.

    Its own variables may have the names of others in the pattern, which they hide.
    """
    own = bindings(absent).keys()
    found = {}
    for attribute, variables in _equalities(_spine(absent)[1]):
        others = variables - own
        if len(others) == 1 and others <= known and is_atom(absent) and _covered(absent, variables & own):
            (found[attribute, variables],) = others
    return found


def _equality(e: ast.Expression) -> Equality | None:
    match e:
        case ast.Binary("=", ast.Attribute(x, a), ast.Attribute(y, b)) if a == b and x != y:
            return a, frozenset({x, y})
    return None


def _ties_all(core: ast.Pattern, attribute: str, equalities: list[Equality], absent: list[dict[Equality, str]]) -> bool:
    """Whether chains of equalities of the attribute reach every event of the pattern, and all that must not come.

    What must not come is reached, and reaches nothing: it says nothing of a match that it does not end.
    """
    pairs = [variables for a, variables in equalities if a == attribute]
    compared = [{x for (a, _), x in es.items() if a == attribute} for es in absent]
    # Without an equality in the match itself, it can only be one event.
    reached = set(pairs[0]) if pairs else set.union(set(), *compared) & singles(core)
    if not pairs and len(reached) != 1:
        return False
    for _ in pairs:
        for pair in pairs:
            if pair & reached:
                reached |= pair
    return _covered(core, frozenset(reached)) and all(variables & reached for variables in compared)


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
        case ast.Unless() | ast.NotAfter() | ast.NotBefore():
            return _covered(p.body, variables)
        case ast.Sequence() | ast.Or() | ast.And() | ast.All() | ast.NotBetween():
            return _covered(p.left, variables) and _covered(p.right, variables)
    return False


def _in_absent(p: ast.Pattern, attributes: frozenset[str], known: frozenset[str]) -> ast.Pattern:
    """The pattern with the equalities of all that must not come replaced in the same way."""
    parts = {
        f.name: _in_absent(value, attributes, known)
        for f in dataclasses.fields(p)
        if isinstance(value := getattr(p, f.name), ast.Pattern)
    }
    if isinstance(p, ast.Absence | ast.Iteration) and p.absent is not None:
        tying = frozenset(e for e in _with_others(p.absent, known) if e[0] in attributes)
        parts["absent"] = _without(p.absent, tying)
    return dataclasses.replace(p, **parts) if parts else p  # type: ignore[arg-type]


def _without(p: ast.Pattern, equalities: frozenset[Equality]) -> ast.Pattern:
    """The spine with each of the equalities replaced by what it says of one event: that it has such a value."""
    if isinstance(p, ast.Within):
        return dataclasses.replace(p, body=_without(p.body, equalities))
    if not isinstance(p, ast.Filter):
        return p
    kept: list[ast.Expression] = []
    own = bindings(p.body).keys()
    for c in conjuncts_of(p.condition):
        if isinstance(c, ast.Binary) and _equality(c) in equalities:
            # TRUE but for NULL and NaN, which equal nothing: in a partition they would equal each other.
            side = c.left if variables_of(c.left) <= own else c.right
            c = ast.Binary("=", side, side, span=c.span)
        if c not in kept:
            kept.append(c)
    condition = kept[0]
    for c in kept[1:]:
        condition = ast.Binary("AND", condition, c, span=p.condition.span)
    return dataclasses.replace(p, body=_without(p.body, equalities), condition=condition)
