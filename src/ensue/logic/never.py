"""Finds what can never match: a query, or a part of one, with the reason. Only what is certain is said.

The patterns are looked at from the inside out. Of each, what is true of all its matches is gathered: how long they
are, which types their events have, what is TRUE of these events. Where two such statements contradict each other, the
pattern is dead. A branch of OR, an optional step and what must not occur may be dead while the query can match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ensue.errors import Problem, ProblemKind, listed
from ensue.language import ast
from ensue.language.printer import print_expression, print_name, print_pattern, print_window
from ensue.logic.always_there import always_there
from ensue.logic.classify import conjuncts_of
from ensue.logic.contradictions import contradiction
from ensue.logic.extents import AT_ONCE, ONE_EVENT, Extent, Times
from ensue.logic.scope import (
    aggregates_of,
    always_marked,
    attribute_variables,
    bindings,
    chosen_variables,
    free,
    has_rounds,
    is_atom,
    joined,
    last_of_names,
    nullable,
    running_of,
    singles,
)


def warnings_of(query: ast.Query, text: str) -> tuple[str, ...]:
    """What can never match, each with its place in the text, as people read it."""
    return tuple(p.render(text, "warning") for p in never_matching(query))


def never_matching(query: ast.Query) -> list[Problem]:
    """A problem for each reason why the query, or a part of it, never matches; its message says which.

    >>> from ensue.language.parser import parse_query
    >>> [p.message for p in never_matching(parse_query("SELECT * FROM S WHERE A ; (B FILTER B.v = NULL)?"))]
    ['this part never matches: B.v = NULL is never TRUE']
    """
    search = _Search(query)
    found = search.of(query.pattern)
    if isinstance(found, _Live) and query.selector is ast.Selector.STRICT:
        found = search.strict(query.pattern, found)
    reasons = found.reasons if isinstance(found, _Dead) else ()
    parts = [p for p in search.parts if p not in reasons]
    told = [
        *(replace(p, message=f"this query never matches: {p.message}") for p in reasons),
        *(replace(p, message=f"this part never matches: {p.message}") for p in parts),
        *_expected_in_vain(query),
    ]
    return list(dict.fromkeys(told))


def _expected_in_vain(query: ast.Query) -> list[Problem]:
    """Why no stream is as EXPECT says."""
    if query.expect is None or nullable(query.expect):
        return []
    found = _Search(replace(query, pattern=query.expect)).of(query.expect)
    reasons = found.reasons if isinstance(found, _Dead) else ()
    return [replace(p, message=f"no stream is as EXPECT says: {p.message}") for p in reasons]


@dataclass(frozen=True)
class _Live:
    """What is true of every match of a pattern."""

    extent: Extent = field(default_factory=Extent)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)  # that the event of a single variable may have
    own: frozenset[str] | None = None  # the types that the one event of an atom may have; None: any
    needed: frozenset[str] = frozenset()  # the types of which it has an event
    facts: tuple[ast.Expression, ...] = ()  # TRUE of some choice of an event from each set that the pattern binds


@dataclass(frozen=True)
class _Dead:
    reasons: tuple[Problem, ...]


_Found = _Live | _Dead


def _dead(where: ast.Node, why: str, hint: str | None = None) -> _Dead:
    return _Dead((Problem(ProblemKind.NEVER, why, where.span, hint),))


class _Search:
    def __init__(self, query: ast.Query) -> None:
        self.keys = frozenset(k.attribute for k in query.partition)
        self.parts: list[Problem] = []  # why parts are dead that the query can do without
        self.found: dict[int, _Found] = {}
        patterns = [node for node in ast.walk(query.pattern) if isinstance(node, ast.Pattern)]
        for p in reversed(patterns):  # from the inside out, and not by recursion: patterns may be deep
            found = self._operator(p)
            self.found[id(p)] = found if isinstance(found, _Dead) else self._exported(p, found)

    def of(self, p: ast.Pattern) -> _Found:
        return self.found[id(p)]

    @staticmethod
    def _exported(p: ast.Pattern, found: _Live) -> _Live:
        """Without what a filter says of an event outside of the pattern: names may mean something else there."""
        own = bindings(p).keys()
        return replace(found, facts=tuple(f for f in found.facts if attribute_variables(f) <= own))

    def _operator(self, p: ast.Pattern) -> _Found:
        match p:
            case ast.Type():
                own = frozenset({p.name})
                return _Live(ONE_EVENT, {p.name: own}, own, own)
            case ast.Any():
                return _Live(ONE_EVENT)
            case ast.Satisfying():
                return self._satisfying(p)
            case ast.Sequence() | ast.NotBetween():
                return self._sequence(p)
            case ast.Or():
                return self._or(p)
            case ast.And():
                return self._and(p)
            case ast.All():
                return self._all(p)
            case ast.Unless():
                return self._unless(p)
            case ast.NotAfter() | ast.NotBefore():
                self._part(p.absent)
            case ast.After(past=ast.Pattern() as past):
                found = self.of(past)
                if isinstance(found, _Dead) and not nullable(past):
                    return found
            case ast.Until(closing=ast.Pattern() as closing):
                found = self.of(closing)
                if isinstance(found, _Dead) and not p.or_end:
                    return found
        body = getattr(p, "body", None)
        found = self.of(body) if isinstance(body, ast.Pattern) else _Live()
        return found if isinstance(found, _Dead) else self._around(p, found)

    def _around(self, p: ast.Pattern, body: _Live) -> _Found:
        """Of a pattern around one other, of which this is known."""
        match p:
            case ast.Filter():
                return self._filter(p, body)
            case ast.Within():
                return self._within(p, body)
            case ast.As() if is_atom(p.body) and body.own is not None:
                return replace(body, types={**body.types, p.variable: body.own})
            case ast.Iteration():
                extent = body.extent.iterated(p)
                return replace(body, extent=extent, types={} if has_rounds(p) else body.types)
            case ast.Project():
                types = {x: t for x, t in body.types.items() if x in p.variables}
                return replace(body, types=types)
            case ast.Select(selector=ast.Selector.STRICT):
                return self.strict(p.body, body)
            case ast.SpanOf():  # the variables inside do not stand for the window's events
                return replace(body, types={}, own=None, facts=())
            case ast.As() | ast.Select() | ast.Optional() | ast.NotAfter() | ast.NotBefore() | ast.After():
                return body
            case ast.Until():
                return body
        return _Live()

    def _part(self, p: ast.Pattern) -> _Live | None:
        """Of a part that the whole can do without; None if it is dead, which is noted."""
        found = self.of(p)
        if isinstance(found, _Dead):
            self.parts += found.reasons
            return None
        return found

    # -- sequences

    def _sequence(self, p: ast.Sequence | ast.NotBetween) -> _Found:
        if isinstance(p, ast.NotBetween):
            self._part(p.absent)
        left, right = self._step(p.left), self._step(p.right)
        dead = [r for side in (left, right) if isinstance(side, _Dead) for r in side.reasons]
        if dead:
            return _Dead(tuple(dead))
        if left is None or right is None:  # a dead step is left out
            return left or right or _Live()
        assert isinstance(left, _Live)
        assert isinstance(right, _Live)
        directly = isinstance(p, ast.Sequence) and p.link is ast.Link.DIRECTLY
        extent = left.extent.then(right.extent, directly=directly, gap=p.gap)
        for step, other in ((p.left, right), (p.right, left)):
            if nullable(step):
                extent = extent.or_(other.extent)
        needed = [side.needed for step, side in ((p.left, left), (p.right, right)) if not nullable(step)]
        facts = _apart(left.facts, p.right) + _apart(right.facts, p.left)
        types = {**left.types, **right.types}
        shared = left.types.keys() & bindings(p.right).keys() | right.types.keys() & bindings(p.left).keys()
        optional = {x for step in (p.left, p.right) if nullable(step) for x in bindings(step)}
        types = {x: t for x, t in types.items() if x not in shared | optional}
        return _Live(extent, types, None, frozenset().union(*needed), facts)

    def _step(self, p: ast.Pattern) -> _Found | None:
        """Of a side of a sequence; None if it is dead and can be left out."""
        if not nullable(p):
            return self.of(p)
        found = self._part(p)
        return None if found is None else replace(found, facts=(), needed=frozenset())

    # -- two patterns

    def _or(self, p: ast.Or) -> _Found:
        left, right = self.of(p.left), self.of(p.right)
        if isinstance(left, _Dead) and isinstance(right, _Dead):
            return _Dead(left.reasons + right.reasons)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, _Dead):
                self.parts += one.reasons
                return replace(other, types={}, facts=())  # type: ignore[arg-type]
        assert isinstance(left, _Live)
        assert isinstance(right, _Live)
        types = {x: left.types[x] | right.types[x] for x in left.types.keys() & right.types.keys()}
        own = None if left.own is None or right.own is None else left.own | right.own
        return _Live(left.extent.or_(right.extent), types, own, left.needed & right.needed)

    def _both(self, p: ast.And | ast.All) -> tuple[_Live, _Live] | _Dead:
        left, right = self.of(p.left), self.of(p.right)
        if isinstance(left, _Live) and isinstance(right, _Live):
            return left, right
        return _Dead(tuple(r for side in (left, right) if isinstance(side, _Dead) for r in side.reasons))

    def _and(self, p: ast.And) -> _Found:
        sides = self._both(p)
        if isinstance(sides, _Dead):
            return sides
        left, right = sides
        return self._and_marks(p, left, right) or self._and_facts(p, left, right)

    def _and_marks(self, p: ast.And, left: _Live, right: _Live) -> _Dead | None:
        either = f"write {_with(p, ast.Or)} for either one, {_with(p, ast.All)} for both, in any order"
        if is_atom(p.left) and is_atom(p.right) and left.own and right.own and not left.own & right.own:
            one, other = listed(sorted(left.own)), listed(sorted(right.own))
            return _dead(p, f"an event has one type, so it cannot be {one} and {other}", either)
        for side, other_side in ((p.left, p.right), (p.right, p.left)):
            only = sorted(always_marked(side) - bindings(other_side).keys())
            if only:
                why = f"both sides of AND mark the same events with the same names, but only one side marks {only[0]}"
                return _dead(p, why, either)
        return _disagreeing(p, left, right, singles(p.left) & singles(p.right), "AND")

    def _and_facts(self, p: ast.And, left: _Live, right: _Live) -> _Found:
        extent = left.extent.and_(right.extent)
        if extent.time.is_empty() or (extent.most is not None and extent.least > extent.most):
            return _dead(p, "both sides of AND span the same events, but one is always longer than the other")
        both = singles(p.left) & singles(p.right)
        facts = tuple(f for f in left.facts + right.facts if attribute_variables(f) <= both)
        dead = self._contradicting((), facts, p)
        own = left.own if right.own is None else right.own if left.own is None else left.own & right.own
        return dead or _Live(extent, {**left.types, **right.types}, own, left.needed | right.needed, facts)

    def _all(self, p: ast.All) -> _Found:
        sides = self._both(p)
        if isinstance(sides, _Dead):
            return sides
        left, right = sides
        dead = _disagreeing(p, left, right, joined(p), "ALL")
        if dead is not None:
            return dead
        needed = left.needed | right.needed
        least = max(left.extent.least, right.extent.least, len(needed))
        low = max((t.low, t.low_open) for t in (left.extent.time, right.extent.time))
        facts = _apart(left.facts, p.right) + _apart(right.facts, p.left)
        shared = bindings(p.left).keys() & bindings(p.right).keys()
        types = {x: t for x, t in {**left.types, **right.types}.items() if x not in shared}
        return _Live(Extent(least, None, Times(*low)), types, None, needed, facts)

    # -- absence

    def _unless(self, p: ast.Unless) -> _Found:
        absent, body = self._part(p.absent), self.of(p.body)
        if isinstance(body, _Dead) or absent is None:
            return body
        forbidden = always_there(p.absent, p.body, body.needed)
        if forbidden is not None:
            text = print_pattern(forbidden)
            why = f"UNLESS forbids {text}, but every match of what stands before it has such an event"
            if not is_atom(forbidden):
                why = f"UNLESS forbids {text}, which is a part of every match of what stands before it"
            return _dead(p, why, "UNLESS looks from the first event of a match to its last, both included")
        return body

    # -- windows, filters, STRICT

    def _within(self, p: ast.Within, body: _Live) -> _Found:
        extent, window = body.extent.within(p.window), print_window(p.window)
        if isinstance(p.window, ast.EventCount) and extent.most is not None and extent.least > extent.most:
            why = f"a match has at least {body.extent.least:,} events, so none fits WITHIN {window}"
            return _dead(p.window, why, f"write WITHIN {body.extent.least} EVENTS or more")
        if extent.time.is_empty():
            asked = Times.of(p.window) if isinstance(p.window, ast.Interval) else AT_ONCE
            too_long = body.extent.time.and_(Times(high=asked.high, high_open=asked.high_open)).is_empty()
            takes = body.extent.time.at_least() if too_long else body.extent.time.at_most()
            why = f"a match takes {takes}, so none fits WITHIN {window}"
            hint = "a wider window, or shorter intervals between the steps" if too_long else None
            if body.extent.time == AT_ONCE:
                why, hint = f"one event takes no time, so none fits WITHIN {window}", None
            return _dead(p.window, why, hint)
        return replace(body, extent=extent)

    def _filter(self, p: ast.Filter, body: _Live) -> _Found:
        own, marked = bindings(p.body).keys(), always_marked(p.body)
        # A conjunct about a set without events holds, and so does one about LASTOF in a first round.
        said = conjuncts_of(p.condition)
        sure = [c for c in said if not last_of_names(c) and _chosen(c) & own <= marked]
        dead = self._contradicting(body.facts, sure, p)
        # The same set may have more events further out, or in another round.
        kept = (c for c in sure if not aggregates_of(c) and not running_of(c))
        return dead or replace(body, facts=(*body.facts, *kept))

    def _satisfying(self, p: ast.Satisfying) -> _Found:
        """`T[g]`: g is judged as a whole, as in `x[g]`."""
        said = ast.Each(print_pattern(p.body), p.condition, span=p.condition.span)
        if contradiction((), [said], self.keys) is not None:
            return _dead(p, f"{print_expression(p.condition)} is never TRUE", _in_place_of(p.condition))
        return self.of(p.body)

    def _contradicting(
        self, known: tuple[ast.Expression, ...], new: Sequence[ast.Expression], where: ast.Pattern
    ) -> _Dead | None:
        found = contradiction(known, new, self.keys)
        if found is None:
            return None
        texts = [print_expression(c) for c in found]
        if len(found) == 1:
            return _dead(found[0], f"{texts[0]} is never TRUE", _in_place_of(found[0]))
        both = "both" if len(found) == 2 else "all"
        why = f"{', '.join(texts[:-1])} and {texts[-1]} cannot {both} be TRUE"
        return _dead(found[-1] if found[-1].span.end else where, why)

    def strict(self, p: ast.Pattern, body: _Live) -> _Found:
        """Of STRICT around a pattern: an event that nothing marks is a gap between those that are marked."""
        steps = _steps(p)
        marked = [bool(always_marked(s)) for s in steps]
        for k, step in enumerate(steps):
            if any(marked[:k]) and any(marked[k + 1 :]) and not nullable(step) and not bindings(step):
                why = "STRICT asks that every event from the first to the last is marked, but "
                return _dead(step, f"{why}{print_pattern(step)} marks none", "give the event a name: ANY AS x")
        return body


def _chosen(c: ast.Expression) -> frozenset[str]:
    """The variables that say nothing of an event where they have none."""
    return chosen_variables(c) | {e.variable for e in ast.find(c, ast.Each)}


def _apart(facts: tuple[ast.Expression, ...], other: ast.Pattern) -> tuple[ast.Expression, ...]:
    """The facts about variables that the other pattern does not bind: there they are the same events."""
    elsewhere = bindings(other).keys() | free(other)
    return tuple(f for f in facts if attribute_variables(f).isdisjoint(elsewhere))


def _disagreeing(
    p: ast.And | ast.All, left: _Live, right: _Live, shared: frozenset[str], operator: str
) -> _Dead | None:
    """Why the same event has different types on both sides, if it is so."""
    for x in sorted(shared & left.types.keys() & right.types.keys()):
        if not left.types[x] & right.types[x]:
            one, other = listed(sorted(left.types[x])), listed(sorted(right.types[x]))
            why = f"{print_name(x)} is one event on both sides of {operator}, and it cannot be {one} and {other}"
            return _dead(p, why, "give the two events different names")
    return None


def _with(p: ast.And, operator: type[ast.Or | ast.All]) -> str:
    """The pattern with another operator, or the operator alone if the pattern is long."""
    text = print_pattern(operator(p.left, p.right))
    return text if len(text) <= 30 else operator.__name__.upper()


def _steps(p: ast.Pattern) -> list[ast.Pattern]:
    """The steps of a sequence, inside filters and windows around it."""
    while isinstance(p, ast.Filter | ast.Within):
        p = p.body
    if isinstance(p, ast.Sequence | ast.NotBetween):
        return [*_steps(p.left), *_steps(p.right)]
    return [p]


def _in_place_of(c: ast.Expression) -> str | None:
    """What was probably meant by a condition that is never TRUE."""
    match c:
        case ast.Binary(operator="=" | "<>", right=ast.Literal(value=None)):
            return f"write {print_expression(ast.IsNull(c.left, c.operator == '<>'))}"
        case ast.Binary(operator="=" | "<>", left=ast.Literal(value=None)):
            return f"write {print_expression(ast.IsNull(c.right, c.operator == '<>'))}"
        case ast.InList(negated=False) if any(_is_null(o) for o in c.options):
            return f"NULL is equal to nothing: write {print_expression(ast.IsNull(c.operand, negated=False))}"
        case ast.InList() if any(_is_null(o) for o in c.options):
            return "leave NULL out of the list: nothing is known to differ from it"
        case ast.Between(negated=False, low=ast.Literal(value=low), high=ast.Literal(value=high)) if low and high:
            return "the lower bound comes first: BETWEEN 1 AND 5"
    nulls = (e for e in ast.find(c, ast.Literal) if _is_null(e))
    return "nothing compares with NULL: IS NULL and IS NOT NULL ask for it" if any(nulls) else None


def _is_null(e: ast.Expression) -> bool:
    return isinstance(e, ast.Literal) and e.value is None
