"""An oracle that checks instead of producing: does this pattern have this complex event?

It was written from sections 3 to 6 of the language page and from nothing else: it shares only the AST with the
project. `Membership.holds` takes a pattern and a complete complex event and splits both, from the top down. Where
a definition says "there is", it tries everything. The meaning of a pattern is the set of candidates that hold,
so the oracle can be used for a few events only.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterator
from typing import Any

from positions import windows_of

from ensue.language import ast
from ensue.language.ast import COUNT_DISTINCT
from ensue.language.position_logic import FromTo

#: What a complex event marks: pairs of a variable and a position.
Mu = frozenset[tuple[str, int]]
ComplexEvent = tuple[int, int, Mu]
#: The events of the single variables of outer patterns, and those of earlier rounds.
Env = tuple[tuple[str, Any], ...]
Event = dict[str, Any]

SECOND = 10**9


class Membership:
    """The meanings of patterns over one stream. Its events have a `time` in seconds.

    `now` is the time that has passed. If the stream is part of another stream, the last event may be in the other one.
    """

    def __init__(self, events: list[Event], now: int | None = None) -> None:
        self.events = events
        self.now = events[-1]["time"] if now is None and events else now
        self._known: dict[Any, Any] = {}
        # By the id of a pattern: the pattern (to keep the id in use), its single variables, the names in its filters.
        self._scopes: dict[int, tuple[ast.Pattern, set[str], set[str]]] = {}

    # ------------------------------------------------------------ meanings, by trying every candidate

    def meaning(self, p: ast.Pattern) -> set[ComplexEvent]:
        """Every complex event of a pattern."""
        n = len(self.events)
        return {(i, j, mu) for j in range(n) for i in range(j + 1) for mu in self._members(p, i, j, ())}

    def work(self, p: ast.Pattern) -> int:
        """About how many candidates `meaning` must try, multiplied by those of hidden and absent patterns."""
        count = 1
        for q in ast.find(p, ast.Pattern):
            absences = dict.fromkeys((ast.Unless, ast.NotBetween, ast.NotAfter, ast.NotBefore), "absent")
            guesses = {ast.Project: "body", ast.SpanOf: "body", ast.After: "past", **absences}.get(type(q))
            inner = getattr(q, guesses) if guesses else q
            if inner is None:
                continue
            if guesses or q is p or isinstance(q, ast.All):
                one = singles(inner)
                for x, where in self._may_mark(inner).items():
                    count *= max(len(where), 1) if x in one else 2 ** len(where)
        return count

    def _members(self, p: ast.Pattern, i: int, j: int, env: Env) -> Iterator[Mu]:
        one = singles(p)
        choices = []
        for x, where in self._may_mark(p).items():
            inside = [k for k in where if i <= k <= j]
            sizes = [1] if x in one else range(len(inside) + 1)
            choices.append([[(x, k) for k in ks] for size in sizes for ks in itertools.combinations(inside, size)])
        for marks in itertools.product(*choices):
            mu = frozenset(itertools.chain(*marks))
            if self.holds(p, i, j, mu, env):
                yield mu

    def _may_mark(self, p: ast.Pattern) -> dict[str, set[int]]:
        """For each variable that `p` shows: the positions that it may mark."""
        match p:
            case ast.Type():
                return {p.name: {k for k, e in enumerate(self.events) if e["type"] == p.name}}
            case ast.Any() | FromTo():
                return {}
            case ast.SpanOf():
                return {p.variable: set(range(len(self.events)))}
            case ast.As():
                may = self._may_mark(p.body)
                marked = set(range(len(self.events))) if one_event(p.body) else set().union(*may.values())
                if one_event(p.body) and isinstance(p.body, ast.Type):
                    marked = may[p.body.name]
                return {**may, p.variable: may.get(p.variable, set()) | marked}
            case ast.Project():
                return {x: where for x, where in self._may_mark(p.body).items() if x in p.variables}
        both: dict[str, set[int]] = {}
        for part in shown_parts(p):
            for x, where in self._may_mark(part).items():
                both[x] = both.get(x, set()) | where
        return both

    # ------------------------------------------------------------ section 3, row by row

    def holds(self, p: ast.Pattern, i: int, j: int, mu: Mu, env: Env = ()) -> bool:
        """Whether `(i, j, mu)` is a complex event of `p`. Filters inside `p` may use the events in `env`."""
        if not all(i <= k <= j for _, k in mu):
            return False
        if id(p) not in self._scopes:
            self._scopes[id(p)] = p, singles(p), spoken_of(p)
        _, one, spoken = self._scopes[id(p)]
        given = dict(env)
        for x in one:
            where = positions(mu, x)
            if len(where) != 1:
                return False
            (given[x],) = where
        env = tuple(sorted((x, k) for x, k in given.items() if x in spoken))
        key = (id(p), i, j, mu, env)
        if key not in self._known:
            self._known[key] = self._holds(p, i, j, mu, env)
        known: bool = self._known[key]
        return known

    def _holds(self, p: ast.Pattern, i: int, j: int, mu: Mu, env: Env) -> bool:
        match p:
            case ast.Type():
                return i == j and self.events[i]["type"] == p.name and mu == {(p.name, i)}
            case ast.Any():
                return i == j and not mu
            case ast.Satisfying():
                return self.holds(p.body, i, j, mu, env) and self._value(p.condition, {}, {}, i) is True
            case ast.SpanOf():
                return mu == {(p.variable, k) for k in range(i, j + 1)} and self._spans(p.body, i, j, env)
            case FromTo():
                return not mu and (i, j) in self._formula(p)
            case ast.After():
                return self.holds(p.body, i, j, mu, env) and self._stood_before(p.past, i)
            case ast.As():
                return self._named(p, i, j, mu, env)
            case ast.Filter():
                return self.holds(p.body, i, j, mu, env) and self._satisfied(p, mu, dict(env))
            case ast.Optional():
                return self.holds(p.body, i, j, mu, env)
            case ast.Sequence() | ast.NotBetween():
                if skippable(p.left) and self.holds(p.right, i, j, mu, env):
                    return True
                if skippable(p.right) and self.holds(p.left, i, j, mu, env):
                    return True
                return self._in_sequence(p, i, j, mu, env)
            case ast.Iteration():
                return self._rounds(p, p.low, p.high, i, j, mu, env, {})
            case ast.Within():
                return self._fits(p.window, i, j) and self.holds(p.body, i, j, mu, env)
            case ast.Or():
                return self.holds(p.left, i, j, mu, env) or self.holds(p.right, i, j, mu, env)
            case ast.And():
                return self.holds(p.left, i, j, mu, env) and self.holds(p.right, i, j, mu, env)
            case ast.All():
                return self._together(p, i, j, mu, env)
            case ast.Unless():
                return self.holds(p.body, i, j, mu, env) and not self._occurs(p.absent, i, j, env)
            case ast.NotAfter():
                return self.holds(p.body, i, j, mu, env) and self._stayed_away(p, j, env)
            case ast.NotBefore():
                return self.holds(p.body, i, j, mu, env) and not self._was_there(p, i, env)
            case ast.Select():
                return self.holds(p.body, i, j, mu, env) and self._selected(p, j, support(mu), env)
            case ast.Project():
                return self._projected(p, i, j, mu, env)
        raise AssertionError(p)

    def _spans(self, p: ast.Pattern, i: int, j: int, env: Env) -> bool:
        """Whether some complex event of `p` begins and ends so."""
        return any(True for _ in self._members(p, i, j, env))

    def _formula(self, p: FromTo) -> set[tuple[int, int]]:
        """The windows of a formula."""

        def event(pattern: ast.Pattern, k: int) -> bool:
            return any(True for _ in self._members(pattern, k, k, ()))

        if id(p) not in self._known:
            self._known[id(p)] = windows_of(p, len(self.events), event)
        found: set[tuple[int, int]] = self._known[id(p)]
        return found

    def _stood_before(self, past: ast.Pattern | None, i: int) -> bool:
        """Whether all events before `i` are a complex event of `past`; there may be none if it may be left out."""
        if i == 0:
            return past is None or skippable(past)
        return past is not None and self._spans(past, 0, i - 1, ())

    def _named(self, p: ast.As, i: int, j: int, mu: Mu, env: Env) -> bool:
        """`p AS x`: the rest is a complex event of `p`, and `AS x` adds just the remaining marks."""
        rest = frozenset(m for m in mu if m[0] != p.variable)
        named = positions(mu, p.variable)
        for own in subsets(named) if p.variable in shown(p.body) else [()]:
            inner = rest | {(p.variable, k) for k in own}
            added = {i} if one_event(p.body) else support(inner)
            if named == set(own) | added and self.holds(p.body, i, j, inner, env):
                return True
        return False

    def _splits(self, contiguous: bool, gap: ast.Interval | None, i: int, j: int, mu: Mu) -> Iterator[Any]:
        """Every way to cut `(i, j, mu)` in two: the end of the first part, the start of the second, both marks."""
        for end in range(i, j):
            for start in range(end + 1, end + 2 if contiguous else j + 1):
                before = frozenset(m for m in mu if m[1] <= end)
                after = frozenset(m for m in mu if m[1] >= start)
                if before | after == mu and (gap is None or self._apart(end, start, gap)):
                    yield end, start, before, after

    def _in_sequence(self, p: ast.Sequence | ast.NotBetween, i: int, j: int, mu: Mu, env: Env) -> bool:
        directly = isinstance(p, ast.Sequence) and p.link is ast.Link.DIRECTLY
        for end, start, before, after in self._splits(directly, p.gap, i, j, mu):
            if not (self.holds(p.left, i, end, before, env) and self.holds(p.right, start, j, after, env)):
                continue
            if isinstance(p, ast.NotBetween):
                disturbed = self._occurs(p.absent, end + 1, start - 1, env)
            else:
                right = without_optional(p.right)
                marked = {x: k for x, k in after if x in singles(right)}
                given = tuple(sorted({**dict(env), **marked}.items()))
                disturbed = p.link is ast.Link.NEXT and self._passed_over(right, end, start, given)
            if not disturbed:
                return True
        return False

    def _passed_over(self, q: ast.Pattern, end: int, start: int, env: Env) -> bool:
        """Whether `q` could have started with an event between the end and the start."""
        return any(self._may_start(q, k, env) for k in range(end + 1, start))

    def _may_start(self, q: ast.Pattern, k: int, env: Env) -> bool:
        match q:
            case ast.Type() | ast.Any() | ast.Satisfying():
                return any(True for _ in self._members(q, k, k, env))
            case ast.As() if one_event(q.body):
                return self._may_start(q.body, k, tuple(sorted({**dict(env), q.variable: k}.items())))
            case ast.Filter() if one_event(q.body):
                # The names that it binds are of this event, whatever they stand for in the step that was found.
                own = tuple((x, n) for x, n in env if x not in shown(q.body))
                return any(True for _ in self._members(without_windows(q), k, k, own))
            case ast.Or():
                return self._may_start(q.left, k, env) or self._may_start(q.right, k, env)
            case ast.Sequence() | ast.NotBetween():
                return self._may_start(q.left, k, env) or (skippable(q.left) and self._may_start(q.right, k, env))
            case ast.Iteration() if not once(q):
                told = {
                    told(y) for y in shown(q.body) for told in (previous, rounds)
                }  # a first round has none before it
                env = tuple((x, n) for x, n in env if x not in told)
        around = ast.As | ast.Filter | ast.Within | ast.Iteration | ast.Optional | ast.Project
        assert isinstance(q, around | ast.Select | ast.SpanOf)
        return self._may_start(q.body, k, env)

    def _rounds(
        self,
        p: ast.Iteration,
        low: int,
        high: int | None,
        i: int,
        j: int,
        mu: Mu,
        env: Env,
        last: dict[str, Any],
        ended: int | None = None,
    ) -> bool:
        """`last` are the events of the rounds before, of which a filter in this one may speak with LASTOF and RUNNING.

        `ended` is where that round has ended; None where there was none.
        """
        here = env
        if not once(p):
            mine = {told(y) for y in shown(p.body) for told in (previous, rounds)}
            here = tuple(sorted({**{x: k for x, k in env if x not in mine}, **last}.items()))

        def is_round(end: int, own: Mu) -> bool:
            if not self.holds(p.body, i, end, own, here):
                return False
            if p.link is not ast.Link.NEXT or ended is None:
                return True
            marked = {x: k for x, k in own if x in singles(p.body)}
            return not self._passed_over(p.body, ended, i, tuple(sorted({**dict(here), **marked}.items())))

        if low <= 1 and is_round(j, mu):
            return True
        if high == 1:
            return False
        fewer = None if high is None else high - 1
        return any(
            is_round(end, before)
            and self._rounds(p, low - 1, fewer, start, j, after, env, events_of(p.body, before, last), end)
            for end, start, before, after in self._splits(p.link is ast.Link.DIRECTLY, p.gap, i, j, mu)
        )

    def _stayed_away(self, p: ast.NotAfter, end: int, env: Env) -> bool:
        """Whether the deadline has passed, and no absent match started after the end and ended by the deadline."""
        bound = p.deadline.high
        assert bound is not None
        inclusive = bound.inclusive
        length = bound.duration.amount * ast.NANOSECONDS[bound.duration.unit]

        def in_time(time: int) -> bool:
            distance: int = (time - self.events[end]["time"]) * SECOND
            return distance <= length if inclusive else distance < length

        due = [k for k in range(end + 1, len(self.events)) if in_time(self.events[k]["time"])]
        assert self.now is not None
        return not in_time(self.now) and not (due and self._occurs(p.absent, end + 1, due[-1], env))

    def _was_there(self, p: ast.NotBefore, start: int, env: Env) -> bool:
        """Whether something absent was over before the start, and began no longer before it than is said."""
        bound = p.deadline.high
        assert bound is not None
        length = bound.duration.amount * ast.NANOSECONDS[bound.duration.unit]
        distances = [(self.events[start]["time"] - self.events[k]["time"]) * SECOND for k in range(start)]
        recent = [k for k, d in enumerate(distances) if (d <= length if bound.inclusive else d < length)]
        return bool(recent) and self._occurs(p.absent, recent[0], start - 1, env)

    def _together(self, p: ast.All, i: int, j: int, mu: Mu, env: Env) -> bool:
        left, right = shown(p.left), shown(p.right)
        same = agreeing(p)
        only_left = frozenset(m for m in mu if m[0] not in right)
        only_right = frozenset(m for m in mu if m[0] not in left)
        shared = frozenset(m for m in mu if m[0] in left and m[0] in right)
        spans = [(a, b) for a in range(i, j + 1) for b in range(a, j + 1)]
        for marks1 in map(frozenset, subsets(shared)):
            mu1 = only_left | marks1
            of_left = [s for s in spans if self.holds(p.left, *s, mu1, env)]
            for again in subsets(marks1) if of_left else ():
                mu2 = only_right | (shared - marks1) | set(again)
                if any(positions(mu1, x) != positions(mu2, x) for x in same):
                    continue
                of_right = [s for s in spans if self.holds(p.right, *s, mu2, env)]
                if any((min(a, c), max(b, d)) == (i, j) for a, b in of_left for c, d in of_right):
                    return True
        return False

    def _occurs(self, p: ast.Pattern, first: int, last: int, env: Env) -> bool:
        """Whether some complex event of `p` lies between `first` and `last`, inclusive."""
        return any(
            True for i in range(first, last + 1) for j in range(i, last + 1) for _ in self._members(p, i, j, env)
        )

    def _selected(self, p: ast.Select, j: int, mine: set[int], env: Env) -> bool:
        if p.selector is ast.Selector.STRICT:
            return best(p.selector, mine, [])
        key = ("supports", id(p), j, env)
        if key not in self._known:
            self._known[key] = [support(mu) for i in range(j + 1) for mu in self._members(p.body, i, j, env)]
        return best(p.selector, mine, self._known[key])

    def _projected(self, p: ast.Project, i: int, j: int, mu: Mu, env: Env) -> bool:
        if any(x not in p.variables for x, _ in mu):
            return False
        return any(
            frozenset(m for m in whole if m[0] in p.variables) == mu for whole in self._members(p.body, i, j, env)
        )

    def _fits(self, window: ast.Interval | ast.EventCount, i: int, j: int) -> bool:
        return j - i < window.count if isinstance(window, ast.EventCount) else self._apart(i, j, window)

    def _apart(self, i: int, j: int, interval: ast.Interval) -> bool:
        distance = (self.events[j]["time"] - self.events[i]["time"]) * SECOND
        low, high = interval.low, interval.high
        if low is not None:
            length = low.duration.amount * ast.NANOSECONDS[low.duration.unit]
            if not (distance >= length if low.inclusive else distance > length):
                return False
        if high is not None:
            length = high.duration.amount * ast.NANOSECONDS[high.duration.unit]
            if not (distance <= length if high.inclusive else distance < length):
                return False
        return True

    # ------------------------------------------------------------ section 4: filters

    def _satisfied(self, p: ast.Filter, mu: Mu, env: dict[str, Any]) -> bool:
        """Whether a filter holds. In the first round, operands of AND that use the previous round are left out."""
        parts = [c for c in anded(p.condition) if all(previous(n.variable) in env for n in ast.find(c, ast.LastOf))]
        sets = {x: list(k) if isinstance(k, tuple) else [k] for x, k in env.items()} | {
            x: sorted(positions(mu, x)) for x in shown(p.body)
        }
        return all(
            self._value(c, dict(zip(chosen, choice, strict=True)), sets, None) is True
            for c in parts
            for chosen in [sorted(taken_one_by_one(c))]
            for choice in itertools.product(*(sets[x] for x in chosen))
        )

    def _value(self, e: ast.Expression, one: dict[str, int], sets: dict[str, list[int]], here: int | None) -> Any:
        """The value of an expression; None for NULL. Bare names are attributes of the event `here`."""

        def value(part: ast.Expression) -> Any:
            return self._value(part, one, sets, here)

        match e:
            case ast.Literal():
                return e.value
            case ast.Name():
                return self._attribute(here, e.name)
            case ast.Attribute():
                return self._attribute(one[e.variable], e.name)
            case ast.LastOf():
                return self._attribute(one[previous(e.variable)], e.name)
            case ast.Running():
                x = running_variable(e)
                return self._value(e.aggregate, one, {x: sorted({*sets.get(rounds(x), []), *sets[x]})}, here)
            case ast.Call(function="count", arguments=(ast.Name(name=x),)):
                return len(sets[x])
            case ast.Call(function=function, arguments=(ast.Attribute(variable=x, name=name),)) if function in OF_SETS:
                return OF_SETS[function]([self._attribute(k, name) for k in sets[x]])
            case ast.Call(function="abs" | "sqrt" | "power" as function):
                numbers = list(map(value, e.arguments))
                if None in numbers or (function == "sqrt" and numbers[0] < 0):
                    return None
                computed: dict[str, Any] = {"abs": abs, "sqrt": math.sqrt, "power": math.pow}
                return computed[function](*numbers)
            case ast.Call(function="prev"):
                term, *steps = e.arguments
                assert isinstance(term, ast.Name | ast.Attribute)
                position = here if isinstance(term, ast.Name) else one[term.variable]
                assert position is not None
                return self._attribute(position - (value(steps[0]) if steps else 1), term.name)
            case ast.Each():
                return conjunction([self._value(e.condition, one, sets, k) for k in sets[e.variable]])
            case ast.Unary(operator="NOT"):
                return negation(value(e.operand))
            case ast.Unary():
                operand = value(e.operand)
                return None if operand is None else -operand
            case ast.Binary(operator="AND"):
                return conjunction([value(e.left), value(e.right)])
            case ast.Binary(operator="OR"):
                return disjunction([value(e.left), value(e.right)])
            case ast.Binary():
                left, right = value(e.left), value(e.right)
                return None if left is None or right is None else OPERATORS[e.operator](left, right)
            case ast.IsNull():
                return (value(e.operand) is None) != e.negated
            case ast.InList():
                found = disjunction([value(ast.Binary("=", e.operand, option)) for option in e.options])
                return negation(found) if e.negated else found
            case ast.Between():
                above, below = ast.Binary(">=", e.operand, e.low), ast.Binary("<=", e.operand, e.high)
                found = conjunction([value(above), value(below)])
                return negation(found) if e.negated else found
            case ast.Case():
                asked = [c if e.operand is None else ast.Binary("=", e.operand, c) for c in e.parts[::2]]
                first = next((k for k, c in enumerate(asked) if value(c) is True), None)
                if first is not None:
                    return value(e.parts[2 * first + 1])
                return None if e.otherwise is None else value(e.otherwise)
        raise AssertionError(e)

    def _attribute(self, position: int | None, name: str) -> Any:
        assert position is not None
        return self.events[position][name] if position >= 0 else None


# ---------------------------------------------------------------- aggregates, LASTOF and RUNNING


def known(aggregate: Any) -> Any:
    """The aggregate of the values that are not NULL; NULL if there are none."""

    def of(values: list[Any]) -> Any:
        there = [v for v in values if v is not None]
        return aggregate(there) if there else None

    return of


OF_SETS = {
    "count": lambda values: sum(v is not None for v in values),
    "sum": known(sum),
    "median": known(statistics.median),
    "stddev": known(lambda values: statistics.stdev(values) if len(values) > 1 else None),
    COUNT_DISTINCT: lambda values: len({v for v in values if v is not None}),
    "avg": known(lambda values: sum(values) / len(values)),
    "min": known(min),
    "max": known(max),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
}


def previous(y: str) -> str:
    """The name of `LASTOF(y)` among the events of single variables."""
    return f"before {y}"


def rounds(y: str) -> str:
    """The name of the events of `y` in earlier rounds, for RUNNING."""
    return f"rounds of {y}"


def running_variable(e: ast.Running) -> str:
    """The variable whose events the aggregate is over; the oracle takes no others inside it."""
    (x,) = {n.variable for n in ast.find(e, ast.Attribute)} | {n.name for n in ast.find(e, ast.Name)}
    return x


def events_of(p: ast.Pattern, mu: Mu, earlier: dict[str, Any]) -> dict[str, Any]:
    """What LASTOF and RUNNING mean in the round after a round of `p` with these marks."""
    last = {previous(y): k for y in singles(p) for k in positions(mu, y)}
    return last | {rounds(y): (*earlier.get(rounds(y), ()), *sorted(positions(mu, y))) for y in shown(p)}


def taken_one_by_one(e: ast.Expression) -> set[str]:
    """The variables that a filter uses one event at a time, as `x.a` outside an aggregate, or with LASTOF."""
    match e:
        case ast.Running():
            return set()
        case ast.Attribute():
            return {e.variable}
        case ast.LastOf():
            return {previous(e.variable)}
        case ast.Call() if e.function in OF_SETS:
            return set()
    return set().union(*(taken_one_by_one(part) for part in ast.children(e) if isinstance(part, ast.Expression)))


def anded(e: ast.Expression) -> list[ast.Expression]:
    return anded(e.left) + anded(e.right) if isinstance(e, ast.Binary) and e.operator == "AND" else [e]


# ---------------------------------------------------------------- SQL's three truth values

OPERATORS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def conjunction(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def disjunction(values: list[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def negation(value: bool | None) -> bool | None:
    return None if value is None else not value


# ---------------------------------------------------------------- variables of a pattern


def positions(mu: Mu, x: str) -> set[int]:
    return {k for y, k in mu if y == x}


def support(mu: Mu) -> set[int]:
    return {k for _, k in mu}


def subsets(of: Any) -> list[tuple[Any, ...]]:
    items = list(of)
    return [s for size in range(len(items) + 1) for s in itertools.combinations(items, size)]


def body_of(p: ast.Pattern) -> ast.Pattern:
    """The operand with marks, of an operator that has one such operand."""
    around = ast.As | ast.Filter | ast.Iteration | ast.NotAfter | ast.Optional | ast.Project | ast.Select
    assert isinstance(p, around | ast.NotBefore | ast.Unless | ast.Within | ast.After | ast.Satisfying)
    return p.body


def shown_parts(p: ast.Pattern) -> list[ast.Pattern]:
    """The parts of `p` whose marks are in its complex events."""
    match p:
        case ast.Sequence() | ast.NotBetween() | ast.Or() | ast.And() | ast.All():
            return [p.left, p.right]
        case ast.Type() | ast.Any() | ast.SpanOf() | FromTo():
            return []
    return [body_of(p)]


def shown(p: ast.Pattern) -> set[str]:
    """The variables that can have marks in a complex event of `p`."""
    match p:
        case ast.Type():
            return {p.name}
        case ast.SpanOf():
            return {p.variable}
        case ast.As():
            return shown(p.body) | {p.variable}
        case ast.Project():
            return shown(p.body) & set(p.variables)
    return set().union(*map(shown, shown_parts(p)))


def spoken_of(p: ast.Pattern) -> set[str]:
    """The variables that the filters in `p` use."""
    return (
        {e.variable for e in ast.walk(p) if isinstance(e, ast.Attribute | ast.Each)}
        | {previous(e.variable) for e in ast.find(p, ast.LastOf)}
        | {name for e in ast.find(p, ast.Running) for x in [running_variable(e)] for name in (x, rounds(x))}
    )


def once(p: ast.Pattern) -> bool:
    """Whether the iteration is `p{1}`, which the language page defines as `p`."""
    return isinstance(p, ast.Iteration) and p.low == p.high == 1


def one_event(p: ast.Pattern) -> bool:
    """Whether `p AS x` marks the one event of `p`; otherwise it marks what `p` marks."""
    match p:
        case ast.Type() | ast.Any() | ast.Satisfying():
            return True
        case ast.As() | ast.Filter() | ast.Within() | ast.Unless() | ast.NotBefore() | ast.Select() | ast.After():
            return one_event(p.body)
        case ast.SpanOf() | FromTo():
            return False
        case ast.Or() | ast.And():
            return one_event(p.left) and one_event(p.right)
    return once(p) and one_event(body_of(p))


def singles(p: ast.Pattern) -> set[str]:
    """The variables that stand for exactly one event in `p` (section 4)."""
    match p:
        case ast.Type():
            return {p.name}
        case ast.Any() | ast.Optional() | ast.SpanOf() | FromTo():
            return set()
        case ast.As():
            inside = singles(p.body)
            repeated = p.variable in shown(p.body) and p.variable not in inside
            return inside | {p.variable} if one_event(p.body) and not repeated else inside - {p.variable}
        case ast.Iteration():
            return singles(p.body) if once(p) else set()
        case ast.Sequence() | ast.NotBetween():
            return (singles(p.left) - shown(p.right)) | (singles(p.right) - shown(p.left))
        case ast.Or():
            return singles(p.left) & singles(p.right)
        case ast.And():
            return singles(p.left) | singles(p.right)
        case ast.All():
            return (singles(p.left) - shown(p.right)) | (singles(p.right) - shown(p.left)) | agreeing(p)
        case ast.Project():
            return singles(p.body) & set(p.variables)
    return singles(body_of(p))


def agreeing(p: ast.All) -> set[str]:
    """The variables that must be one and the same event on both sides: type names are not among them."""
    both = singles(p.left) & singles(p.right)
    return {x for x in both if all(x in given_by_as(side) for side in (p.left, p.right))}


def given_by_as(p: ast.Pattern) -> set[str]:
    """The names that the complex events of `p` can have from an AS."""
    own = {p.variable} if isinstance(p, ast.As | ast.SpanOf) else set()
    found = own.union(*map(given_by_as, shown_parts(p)))
    return found & set(p.variables) if isinstance(p, ast.Project) else found


def without_optional(p: ast.Pattern) -> ast.Pattern:
    """The step as it is where a sequence does not leave it out."""
    return without_optional(p.body) if isinstance(p, ast.Optional) else p


def without_windows(p: ast.Pattern) -> ast.Pattern:
    """The pattern of one event without what is asked of its length: `->` asks what it could start with."""
    match p:
        case ast.Within():
            return without_windows(p.body)
        case ast.Or():
            return ast.Or(without_windows(p.left), without_windows(p.right))
        case ast.As() | ast.Filter() | ast.Project() | ast.Iteration() | ast.Select():
            return dataclasses.replace(p, body=without_windows(p.body))
    return p


def skippable(p: ast.Pattern) -> bool:
    """Whether a sequence may leave `p` out."""
    if isinstance(p, ast.Sequence | ast.NotBetween):
        return skippable(p.left) and skippable(p.right)
    return isinstance(p, ast.Optional)


# ---------------------------------------------------------------- section 5: selection


def best(selector: ast.Selector, mine: set[int], supports: list[set[int]]) -> bool:
    """Whether the selector keeps a complex event with this support among others with the other supports."""
    match selector:
        case ast.Selector.NEXT:
            return not any(min(mine ^ other) in other for other in supports if other != mine)
        case ast.Selector.LAST:
            return not any(max(mine ^ other) in other for other in supports if other != mine)
        case ast.Selector.MAX:
            return not any(mine < other for other in supports)
        case ast.Selector.STRICT:
            return not mine or max(mine) - min(mine) == len(mine) - 1
    return True


# ---------------------------------------------------------------- section 6: queries


def answers(query: ast.Query, events: list[Event]) -> set[ComplexEvent]:
    """The complex events of a query without its LIMIT."""
    keys = [k.attribute for k in query.partition]
    parts: dict[Any, list[int]] = {}
    for k, event in enumerate(events):
        parts.setdefault(tuple(event[a] for a in keys), []).append(k)
    candidates = []
    for key, where in parts.items():
        found = Membership([events[k] for k in where], events[-1]["time"]).meaning(query.pattern)
        candidates += [(key, where, i, j, mu) for i, j, mu in found]
    consumed: dict[Any, int] = {}
    used = items_use(query)
    reported = set()
    for end in range(len(events)):
        here = [c for c in candidates if c[1][c[3]] == end and c[1][c[2]] > consumed.get(c[0], -1)]
        supports = [support(mu) for *_, mu in here]
        kept = [c for c in here if best(query.selector, support(c[-1]), supports)]
        for _, where, i, _, mu in kept:
            reported.add((where[i], end, frozenset((x, where[k]) for x, k in mu if x in used)))
        if kept and query.consume is not ast.Consume.NONE:
            consumed |= dict.fromkeys(parts if query.consume is ast.Consume.ANY else [kept[0][0]], end)
    return reported


def items_use(query: ast.Query) -> set[str]:
    if query.items is None:
        return shown(query.pattern)
    nodes = [n for item in query.items for n in ast.walk(item.expression)]
    return {n.name for n in nodes if isinstance(n, ast.Name)} | {
        n.variable for n in nodes if isinstance(n, ast.Attribute | ast.Each)
    }
