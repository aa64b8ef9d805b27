"""Random streams and well-formed random queries, to compare the engines with each other and with the oracle.

There are two ways to make each thing. `random_*(rng)` draws from any `random.Random`, so a seed always gives the same
queries. The Hypothesis strategy calls the same function with Hypothesis' own generator, which can shrink. Choices list
the simplest first, because shrinking goes there.

A pattern is made in two steps: first its skeleton without filters, then the filters. The skeleton shows which variables
are in scope for a filter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from positions import random_from_to

from ensue.language import ast
from ensue.language.ast import COUNT_DISTINCT
from ensue.language.parser import parse_interval
from ensue.logic.classify import conjunction
from ensue.logic.first import NoFirst, first
from ensue.logic.functions import AGGREGATES, OF_NUMBERS
from ensue.logic.scope import bindings, has_rounds, singles
from ensue.rewrite.bottom_up import bottom_up

Event = dict[str, Any]
EVENT_SCHEMA = pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", pa.int64()), ("k", pa.int64())])
TYPES = ("A", "B", "C")
VARIABLES = ("x", "y", "z")
INTERVALS = tuple(
    map(
        parse_interval,
        (
            "[<= 1 s]",
            "[<= 2 s]",
            "[> 0 s]",
            "[= 1 s]",
            "[= 0 s]",
            "[< 2 s]",
            "[>= 2 s]",
            "[1 s .. 2 s]",
            "[> 0 s, <= 3 s]",
            "[> 500 ms, < 1.5 s]",
        ),
    )
)
DEADLINES = tuple(i for i in INTERVALS if i.low is None)
COMPARISONS = ("<", "=", "<=", "<>", ">", ">=")


def chance(rng: Random, one_in: int) -> bool:
    """True once in `one_in` calls on average. False is the simpler outcome."""
    return rng.randrange(one_in) == one_in - 1


def _type(rng: Random) -> str:
    """Some types are more frequent than others, so that patterns often match."""
    return rng.choice("AAABBC")


# ---------------------------------------------------------------- streams


def random_stream(rng: Random, most: int = 5) -> list[Event]:
    """Events in the order of time, with ties, and with attributes `v` and `k` that may be NULL.

    >>> random_stream(Random(1), 2)
    [{'time': 1, 'type': 'B', 'v': None, 'k': 0}, {'time': 3, 'type': 'C', 'v': 2, 'k': None}]
    """
    time = 0
    events = []
    for _ in range(max(rng.randrange(most + 1) for _ in range(3))):
        time += rng.choice((0, 1, 1, 2))
        k = rng.choice((0, 0, 1, None))
        events.append({"time": time, "type": _type(rng), "v": rng.choice((0, 1, 1, 2, 2, 3, None)), "k": k})
    return events


def events_table(events: list[Event]) -> pa.Table:
    """The events with the types of their columns: if all values are NULL, no value shows the type."""
    return pa.Table.from_pylist(events, schema=EVENT_SCHEMA)


# ---------------------------------------------------------------- patterns


def random_pattern(rng: Random, depth: int = 3) -> ast.Pattern:
    """A well-formed pattern, closed: no filter speaks of a variable outside it."""
    made = _with_filters(rng, _skeleton(rng, min(depth, rng.choice((0, 1, 1, 2, 2, 2, 3, 3)))), _Around())
    return bottom_up(bottom_up(made, _can_come_next), _in_few_rounds)


def _in_few_rounds(p: ast.Pattern) -> ast.Pattern:
    """With few rounds where RUNNING asks of all of them: each sequence of rounds is one for the reference."""
    if not isinstance(p, ast.Iteration) or not any(ast.find(p.body, ast.Running)):
        return p
    most = max(p.low, 2)
    return p if p.high is not None and p.high <= most else dataclasses.replace(p, high=most)


def _skeleton(rng: Random, depth: int) -> ast.Pattern:
    """A pattern of every operator but FILTER."""
    if depth == 0:
        return _atom(rng)
    make = rng.choice(_OPERATORS)
    return make(rng, depth - 1)


def _atom(rng: Random) -> ast.Pattern:
    event: ast.Pattern = ast.Any() if chance(rng, 6) else ast.Type(_type(rng))
    if chance(rng, 6):
        event = ast.Satisfying(event, _bare_condition(rng))
    return event if chance(rng, 3) else ast.As(event, _variable(rng))


def _variable(rng: Random) -> str:
    return rng.choice(TYPES) if chance(rng, 30) else rng.choice(VARIABLES)


def _interval(rng: Random) -> ast.Interval | None:
    return rng.choice(INTERVALS) if chance(rng, 4) else None


def _named(rng: Random, depth: int) -> ast.Pattern:
    return ast.As(_skeleton(rng, depth), _variable(rng))


def _step(rng: Random, depth: int) -> ast.Pattern:
    """One side of a sequence. Only there may a pattern be optional."""
    p = _skeleton(rng, rng.randrange(depth + 1))
    if chance(rng, 12):
        p = ast.Iteration(p, link=rng.choice((ast.Link.THEN, ast.Link.DIRECTLY)))
        return ast.Optional(p)
    return ast.Optional(p) if chance(rng, 7) else p


def _sequence(rng: Random, depth: int) -> ast.Pattern:
    p = _step(rng, depth)
    for _ in range(rng.choice((1, 1, 2))):
        after = _step(rng, depth)
        p = ast.Sequence(p, after, _link(rng), _interval(rng))
    return p


def _link(rng: Random) -> ast.Link:
    return rng.choice((ast.Link.THEN, ast.Link.THEN, ast.Link.THEN, ast.Link.DIRECTLY, ast.Link.NEXT))


def _can_come_next(p: ast.Pattern) -> ast.Pattern:
    """With `;` where what stands behind `->` has no first events."""
    if isinstance(p, ast.Sequence | ast.Iteration) and p.link is ast.Link.NEXT:
        try:
            first(p.right if isinstance(p, ast.Sequence) else p.body)
        except NoFirst:
            return dataclasses.replace(p, link=ast.Link.THEN)
    return p


def _not_between(rng: Random, depth: int) -> ast.Pattern:
    absent = _skeleton(rng, rng.randrange(depth + 1))
    return ast.NotBetween(_step(rng, depth), absent, _step(rng, depth), _interval(rng))


def _iteration(rng: Random, depth: int) -> ast.Pattern:
    low, high = rng.choice(((1, None), (1, None), (1, None), (1, 1), (2, 2), (1, 2), (2, None), (2, 3)))
    body = _skeleton(rng, depth)
    return ast.Iteration(body, low, high, _link(rng), _interval(rng))


def _or(rng: Random, depth: int) -> ast.Pattern:
    left = _skeleton(rng, depth)
    return ast.Or(left, _like(rng, left) if chance(rng, 3) else _skeleton(rng, rng.randrange(depth + 1)))


def _and(rng: Random, depth: int) -> ast.Pattern:
    """A conjunction. Both sides must have equal marks. This is rare by chance, so the right varies the left."""
    left = _skeleton(rng, depth)
    right = _like(rng, left)
    if chance(rng, 4):
        other = _skeleton(rng, rng.randrange(depth + 1))
        kept = tuple(x for x in bindings(left) if x in bindings(other))
        return ast.And(ast.Project(kept, left), ast.Project(kept, other))
    return ast.And(left, right)


def _like(rng: Random, p: ast.Pattern) -> ast.Pattern:
    """A pattern that can have the same marks as `p`: the same steps, connected in another way."""
    if isinstance(p, ast.Satisfying):
        return p
    changes: dict[str, Any] = {
        f.name: _like(rng, part) for f in dataclasses.fields(p) if isinstance(part := getattr(p, f.name), ast.Pattern)
    }
    if isinstance(p, ast.Sequence | ast.Iteration) and chance(rng, 2):
        changes |= {"link": _link(rng), "gap": _interval(rng)}
    if isinstance(p, ast.Optional):
        return ast.Optional(changes["body"])
    p = dataclasses.replace(p, **changes)
    return ast.Within(p, _window(rng)) if chance(rng, 6) else p


def _all(rng: Random, depth: int) -> ast.Pattern:
    return ast.All(_skeleton(rng, depth), _skeleton(rng, rng.randrange(depth + 1)))


def _unless(rng: Random, depth: int) -> ast.Pattern:
    return ast.Unless(_skeleton(rng, depth), _skeleton(rng, rng.randrange(depth + 1)))


def _window(rng: Random) -> ast.Interval | ast.EventCount:
    return rng.choice(INTERVALS) if chance(rng, 2) else ast.EventCount(rng.choice((2, 1, 3)))


def _within(rng: Random, depth: int) -> ast.Pattern:
    return ast.Within(_skeleton(rng, depth), _window(rng))


def _select(rng: Random, depth: int) -> ast.Pattern:
    return ast.Select(rng.choice(_SELECTORS), _skeleton(rng, depth))


def _project(rng: Random, depth: int) -> ast.Pattern:
    body = _skeleton(rng, depth)
    return ast.Project(tuple(x for x in bindings(body) if chance(rng, 2)), body)


def _span(rng: Random, depth: int) -> ast.Pattern:
    """A window, often of contiguous events that may be none, which is no window."""
    p = _skeleton(rng, depth)
    if chance(rng, 4):
        return ast.SpanOf(ast.Optional(ast.Iteration(p, link=ast.Link.DIRECTLY)), _variable(rng))
    return ast.SpanOf(p, _variable(rng))


def _from_to(rng: Random, depth: int) -> ast.Pattern:
    """The windows of a formula, mostly as a window of its own."""
    p = random_from_to(rng, min(depth + 1, 2), _bare_condition)
    return ast.SpanOf(p, _variable(rng)) if not chance(rng, 4) else p


def _after(rng: Random, depth: int) -> ast.Pattern:
    body, past = _skeleton(rng, depth), _skeleton(rng, rng.randrange(depth + 1))
    match rng.randrange(4):
        case 0:
            return ast.After(
                body, ast.Optional(ast.Iteration(past, link=rng.choice((ast.Link.THEN, ast.Link.DIRECTLY))))
            )
        case 1:
            anything = ast.Optional(ast.Iteration(ast.Any(), link=ast.Link.DIRECTLY))
            return ast.After(body, ast.Sequence(anything, past, ast.Link.DIRECTLY))
        case 2:
            return ast.After(body, past)
    return ast.After(body, None if chance(rng, 3) else ast.Optional(past))


_SELECTORS = (ast.Selector.STRICT, ast.Selector.NEXT, ast.Selector.LAST, ast.Selector.MAX)
_OPERATORS = (
    *(_sequence,) * 6,
    *(_iteration,) * 4,
    *(_or, _and, _all, _unless, _not_between, _within) * 2,
    _select,
    _select,
    _project,
    _named,
    _span,
    _span,
    _after,
    _from_to,
)


@dataclasses.dataclass(frozen=True)
class _Around:
    """The variables that filters may use from outside: single ones, and those of rounds, for LASTOF and RUNNING."""

    single: frozenset[str] = frozenset()
    lasts: frozenset[str] = frozenset()
    rounds: frozenset[str] = frozenset()

    def inside(self, p: ast.Pattern, part: str) -> _Around:
        """The variables that filters inside a part of a pattern may use from outside."""
        if isinstance(p, ast.Select) and p.selector is not ast.Selector.STRICT:
            return _Around()  # the pattern of a selector must be closed
        if isinstance(p, ast.After):
            return _Around()  # so must be what stands around AFTER
        lasts = self.lasts if part != "absent" else frozenset()
        rounds = self.rounds if part != "absent" else frozenset()
        if isinstance(p, ast.Iteration) and has_rounds(p):
            lasts = (lasts - bindings(p.body).keys()) | singles(p.body)
            rounds |= bindings(p.body).keys()
        return _Around(self.single | singles(p), lasts, rounds)


def _with_filters(rng: Random, p: ast.Pattern, around: _Around) -> ast.Pattern:
    """The same pattern with filters here and there."""
    parts: dict[str, Any] = {
        f.name: _with_filters(rng, part, around.inside(p, f.name))
        for f in dataclasses.fields(p)
        if isinstance(part := getattr(p, f.name), ast.Pattern) and not isinstance(p, ast.Satisfying)
    }
    made = dataclasses.replace(p, **parts)
    own = bindings(p)
    names = list(dict.fromkeys([*own, *sorted(around.single)]))
    if isinstance(p, ast.Optional) or not names or not chance(rng, 3 if around.rounds else 5):
        return made
    sets = [x for x, single in own.items() if not single]
    rounds = [x for x in names if x in around.rounds]
    return ast.Filter(made, random_condition(rng, names, sets=sets, lasts=sorted(around.lasts), rounds=rounds))


# ---------------------------------------------------------------- filters


def random_condition(
    rng: Random,
    names: list[str],
    depth: int = 2,
    *,
    sets: Sequence[str] = (),
    lasts: Sequence[str] = (),
    rounds: Sequence[str] = (),
) -> ast.Expression:
    """A boolean expression over the attributes `v` and `k` of these variables.

    It may have aggregates of the variables in `sets`, LASTOF of those in `lasts`, and RUNNING of those in `rounds`.
    """

    def term() -> ast.Expression:
        return _special_term(rng, sets, lasts, rounds) or _term(rng, names)

    def some() -> ast.Expression:
        return random_condition(rng, names, depth - 1, sets=sets, lasts=lasts, rounds=rounds)

    match rng.randrange(10) if depth else 0:
        case 0 | 1 | 2 | 3:
            return ast.Binary(rng.choice(COMPARISONS), term(), _operand(rng, term))
        case 9:
            return _near(rng, term)
        case 4:
            return ast.Each(rng.choice(names), _bare_condition(rng))
        case 5:
            return ast.IsNull(term(), chance(rng, 2))
        case 6:
            return ast.Unary("NOT", some())
        case 7:
            return ast.Binary(rng.choice(("AND", "OR")), some(), some())
        case _ if chance(rng, 2):
            return ast.Between(term(), _number(rng), _number(rng), chance(rng, 3))
    return ast.InList(term(), (_number(rng), _operand(rng, term)), chance(rng, 3))


def _special_term(
    rng: Random, sets: Sequence[str], lasts: Sequence[str], rounds: Sequence[str]
) -> ast.Expression | None:
    """An aggregate, LASTOF or RUNNING, sometimes, if there is a variable for it."""
    if rounds and chance(rng, 3):
        return ast.Running(_aggregate(rng, rng.choice(rounds)))
    if lasts and chance(rng, 3):
        return ast.LastOf(rng.choice(lasts), _attribute(rng))
    if not sets or not chance(rng, 5):
        return None
    return _aggregate(rng, rng.choice(sets))


def _aggregate(rng: Random, x: str) -> ast.Call:
    function = rng.choice((*OF_NUMBERS, "count", COUNT_DISTINCT, "min", "max", "first", "last"))
    whole = function == "count" and chance(rng, 2)
    return ast.Call(function, (ast.Name(x) if whole else ast.Attribute(x, _attribute(rng)),))


def _bare_condition(rng: Random) -> ast.Expression:
    name: ast.Expression = ast.Name(_attribute(rng))
    if chance(rng, 4):
        name = ast.Call("prev", (name,))
    if chance(rng, 4):
        return ast.IsNull(name, chance(rng, 2))
    return ast.Binary(rng.choice(COMPARISONS), name, _number(rng))


def _attribute(rng: Random) -> str:
    return "k" if chance(rng, 4) else "v"


def _number(rng: Random) -> ast.Expression:
    return ast.Literal(rng.randrange(4), ast.LiteralType.INTEGER)


def _term(rng: Random, names: list[str]) -> ast.Expression:
    term = ast.Attribute(rng.choice(names), _attribute(rng))
    if not chance(rng, 7):
        return term
    steps = (ast.Literal(rng.choice((1, 2)), ast.LiteralType.INTEGER),) if chance(rng, 2) else ()
    return ast.Call("prev", (term, *steps))


def _operand(rng: Random, term: Callable[[], ast.Expression]) -> ast.Expression:
    match rng.randrange(7):
        case 0 | 1:
            return _number(rng)
        case 2 | 3:
            return term()
        case 6:
            return _case(rng, term)
        case 4:
            return ast.Binary(rng.choice(("+", "-", "*")), term(), _number(rng))
    return ast.Unary("-", term())


def _near(rng: Random, term: Callable[[], ast.Expression]) -> ast.Expression:
    """Two values that are near each other, or by so much apart."""
    apart = ast.Binary("-", term(), term())
    match rng.randrange(4):
        case 0:
            return ast.Between(
                term(), ast.Binary("-", term(), _number(rng)), ast.Binary("+", term(), _number(rng)), False
            )
        case 1:
            return ast.Binary(rng.choice(COMPARISONS), apart, _number(rng))
        case 2:
            squares = ast.Binary("+", ast.Binary("*", apart, apart), ast.Call("power", (term(), _number(rng))))
            return ast.Binary("<=", ast.Call("sqrt", (squares,)), _number(rng))
    return ast.Binary(rng.choice(("<", "<=")), ast.Call("abs", (apart,)), _number(rng))


def _case(rng: Random, term: Callable[[], ast.Expression]) -> ast.Expression:
    """A CASE of one or two branches, with an operand or without one."""
    operand = term() if chance(rng, 2) else None
    parts = []
    for _ in range(1 + chance(rng, 2)):
        asked = _number(rng) if operand else ast.Binary(rng.choice(COMPARISONS), term(), _number(rng))
        parts += [asked, term() if chance(rng, 2) else _number(rng)]
    return ast.Case(operand, tuple(parts), term() if chance(rng, 2) else None)


# ---------------------------------------------------------------- queries


def random_query(rng: Random, depth: int = 3) -> ast.Query:
    """A well-formed query over the stream `S` with every clause that a query may have."""
    pattern = _with_deadlines(rng, depth) if chance(rng, 10) else random_pattern(rng, depth)
    limit = rng.choice((1, 2, 3)) if chance(rng, 6) else None
    return ast.Query(
        items=_items(rng, pattern) if chance(rng, 2) else None,
        streams=("S",),
        pattern=pattern,
        selector=rng.choice((ast.Selector.ALL, ast.Selector.ALL, ast.Selector.ALL, *_SELECTORS)),
        partition=rng.choice(((), (), (), (ast.PartitionKey("k"),), (ast.PartitionKey("k"), ast.PartitionKey("v")))),
        consume=rng.choice((ast.Consume.NONE, ast.Consume.NONE, ast.Consume.PARTITION, ast.Consume.ANY)),
        limit=limit,
        per=ast.Per.RESULT if limit is None else ast.Per.END,
    )


def _with_deadlines(rng: Random, depth: int) -> ast.Pattern:
    """A pattern that ends in an absence with a deadline, starts with one, or both."""
    p, before, after = (_skeleton(rng, rng.randrange(min(depth, 2) + 1)) for _ in range(3))
    which = rng.choice(("after", "before", "both"))
    if which != "before":
        p = ast.NotAfter(p, after, rng.choice(DEADLINES))
    if which != "after":
        p = ast.NotBefore(before, rng.choice(DEADLINES), p)
    if chance(rng, 4):
        p = ast.SpanOf(p, _variable(rng))
    made = _with_filters(rng, ast.Within(p, _window(rng)) if chance(rng, 3) else p, _Around())
    return bottom_up(made, _can_come_next)


def random_selecting_query(rng: Random) -> ast.Query:
    """A query with selectors at any depth, but without times and related events: there, only the reference has them."""

    def select(p: ast.Pattern) -> ast.Pattern:
        if isinstance(p, ast.Sequence | ast.Iteration):
            p = dataclasses.replace(p, gap=None)
        if isinstance(p, ast.Within) and isinstance(p.window, ast.Interval):
            p = dataclasses.replace(p, window=ast.EventCount(rng.choice((2, 3, 5))))
        if isinstance(p, ast.Optional) or not chance(rng, 4):
            return p
        p = ast.Select(rng.choice(_SELECTORS[1:]), p)
        names = list(bindings(p))
        return ast.Filter(p, random_condition(rng, [rng.choice(names)])) if names and chance(rng, 4) else p

    pattern = bottom_up(bottom_up(_skeleton(rng, rng.choice((1, 2, 2, 3))), select), _can_come_next)
    items = _items(rng, pattern) if chance(rng, 2) else None
    return dataclasses.replace(random_query(rng, 0), items=items, pattern=pattern)


def random_following_query(rng: Random) -> ast.Query:
    """A query in which most steps and rounds are the next ones, with absences in time before and after it."""

    def follow(p: ast.Pattern) -> ast.Pattern:
        if isinstance(p, ast.Sequence | ast.Iteration) and not chance(rng, 3):
            return dataclasses.replace(p, link=ast.Link.NEXT)
        return p

    def absent() -> ast.Pattern:
        return ast.As(_atom(rng), _variable(rng)) if chance(rng, 2) else _skeleton(rng, rng.choice((0, 1)))

    p = bottom_up(_skeleton(rng, rng.choice((1, 2, 2, 3))), follow)
    if chance(rng, 4):
        p = ast.NotAfter(p, absent(), rng.choice(DEADLINES))
    if chance(rng, 2):
        p = ast.NotBefore(absent(), rng.choice(DEADLINES), p)
    p = ast.Within(p, _window(rng)) if chance(rng, 4) else p
    p = _with_filters(rng, p, _Around())
    equalities = _same_k(p)
    p = bottom_up(ast.Filter(p, equalities) if equalities is not None and chance(rng, 3) else p, _can_come_next)
    made = random_query(rng, 0)
    return dataclasses.replace(made, items=_items(rng, p) if chance(rng, 3) else None, pattern=p)


def _same_k(p: ast.Pattern) -> ast.Expression | None:
    """That all variables have the same `k`, where there are several."""
    names = list(bindings(p))
    pairs: list[ast.Expression] = [
        ast.Binary("=", ast.Attribute(names[0], "k"), ast.Attribute(x, "k")) for x in names[1:]
    ]
    return conjunction(pairs) if pairs else None


def _items(rng: Random, pattern: ast.Pattern) -> tuple[ast.Item, ...] | None:
    """Items: whole variables, values of single ones, aggregates of sets. Without any variables, None, which is `*`."""
    items = []
    for i, (x, single) in enumerate(bindings(pattern).items()):
        value = ast.Attribute(x, _attribute(rng))
        match rng.randrange(4):
            case 1:
                items.append(ast.Item(ast.Name(x)))
            case 2 if single:
                items.append(ast.Item(value))
            case 2:
                items.append(ast.Item(ast.Call("count", (ast.Name(x),)), f"count_{i}"))
            case 3 if single:
                items.append(ast.Item(ast.Binary("+", value, _number(rng)), f"sum_{i}"))
            case 3:
                function = rng.choice(AGGREGATES)
                items.append(ast.Item(ast.Call(function, (value,)), f"{function.replace(' ', '_')}_{i}"))
    return tuple(items) or None


# ---------------------------------------------------------------- the same for Hypothesis

_generators = st.randoms(use_true_random=False)


def streams(most: int = 5) -> st.SearchStrategy[list[Event]]:
    return _generators.map(lambda rng: random_stream(rng, most))


def patterns(depth: int = 3) -> st.SearchStrategy[ast.Pattern]:
    return _generators.map(lambda rng: random_pattern(rng, depth))


def conditions(names: list[str]) -> st.SearchStrategy[ast.Expression]:
    return _generators.map(lambda rng: random_condition(rng, names))


def queries(depth: int = 3) -> st.SearchStrategy[ast.Query]:
    return _generators.map(lambda rng: random_query(rng, depth))
