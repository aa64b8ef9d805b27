"""Sections 2, 3 and 5 of the language page: the complex events of a pattern, operator by operator.

A filter may speak of a variable that a pattern around it binds, also one that comes later in the stream. So a
pattern is evaluated under an *environment*: a position for each variable that it takes from outside. The pattern
that binds such a variable to one event tries every position for it, and keeps the complex events that indeed
mark that position: the valuations of CEPL (Grez, section 3.2), guessed and checked. What a round of an iteration
is told of the rounds before, by `LASTOF(y)` and RUNNING aggregates, is in the environment too, under names of its own.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ensue.data.budget import Budget
from ensue.engines.reference.assignments import Assignments
from ensue.engines.reference.expressions import Events, Expressions, Rounds
from ensue.engines.reference.own_runs import Runs
from ensue.engines.reference.remembered import Remembered
from ensue.engines.reference.tally import Tally
from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.logic.classify import conjuncts_of
from ensue.logic.first import first, when_there
from ensue.logic.own_automata import own_automaton_of
from ensue.logic.scope import (
    Bindings,
    bindings,
    captured,
    free,
    is_atom,
    joined,
    last_of,
    last_of_names,
    names_in,
    nullable,
    passed_to_next_round,
    running_in_rounds,
    singles,
)

#: What a name from outside stands for: an event, or the rounds so far for a RUNNING aggregate. In the first round of an
#: iteration, `LASTOF(y)` is None.
Outer = int | Rounds | None
Environment = Mapping[str, Outer]
#: What the next round is told of those before, under internal names: the events of `LASTOF`, and the rounds so far.
Told = tuple[tuple[str, Outer], ...]


@dataclass(frozen=True)
class ComplexEvent:
    """`(i, j, mu)`: start, end, and the marks as pairs of a variable and a position."""

    start: int
    end: int
    marks: frozenset[tuple[str, int]]
    register: tuple[tuple[str, Any], ...] = ()  # what the fields of an automaton's register hold in the end

    def of(self, variable: str) -> list[int]:
        """`mu(x)`, in stream order."""
        return sorted(k for x, k in self.marks if x == variable)

    @cached_property
    def support(self) -> frozenset[int]:
        return frozenset(k for _, k in self.marks)

    def union(self, other: ComplexEvent) -> ComplexEvent:
        return ComplexEvent(min(self.start, other.start), max(self.end, other.end), self.marks | other.marks)

    def project(self, variables: Iterable[str]) -> ComplexEvent:
        kept = frozenset(variables)
        register = tuple(f for f in self.register if f[0] in kept)
        return ComplexEvent(self.start, self.end, frozenset(m for m in self.marks if m[0] in kept), register)


ComplexEvents = frozenset[ComplexEvent]
#: The complex events of these are some of their parts', or were kept before.
_SOME_OF_BODY = (
    ast.Filter,
    ast.Satisfying,
    ast.After,
    ast.Within,
    ast.Or,
    ast.And,
    ast.Optional,
    ast.Unless,
    ast.NotAfter,
    ast.Until,
    ast.Select,
    ast.Iteration,
)


class _Conjunct(NamedTuple):
    """A conjunct of a filter, with what it speaks of."""

    condition: ast.Expression
    names: frozenset[str]
    last_of: frozenset[str]


def _conjuncts_in(p: ast.Filter) -> list[_Conjunct]:
    return [_Conjunct(f, names_in(f), last_of_names(f)) for f in conjuncts_of(p.condition)]


class Patterns:
    """The meaning of patterns over one substream: `Patterns(events, substream).of(p)`."""

    def __init__(self, events: Events, substream: Sequence[int], tally: Tally | None = None) -> None:
        self.events = events
        self.positions = substream
        self._tally = tally or Tally(Budget())
        self.expressions = Expressions(events)
        self._conjuncts = Remembered(_conjuncts_in)
        self._bindings: Remembered[ast.Pattern, Bindings] = Remembered(bindings)
        self._known: dict[tuple[ast.Pattern, tuple[tuple[str, Outer], ...]], ComplexEvents] = {}

    def of(self, p: ast.Pattern, outside: Environment | None = None) -> ComplexEvents:
        """The complex events of `p` where the variables it takes from outside stand for these positions."""
        needed = {x: (outside or {})[x] for x in free(p)}
        key = (p, tuple(sorted(needed.items())))
        if key not in self._known:
            self._known[key] = self._tally.kept(self._with_valuations(p, needed), new=not isinstance(p, _SOME_OF_BODY))
        return self._known[key]

    def _with_valuations(self, p: ast.Pattern, outside: Environment) -> Iterator[ComplexEvent]:
        names = sorted(captured(p))
        for positions in itertools.product(self.positions, repeat=len(names)):
            valuation = dict(zip(names, positions, strict=True))
            for c in self._operator(p, {**outside, **valuation}):
                if all(c.of(x) == [k] for x, k in valuation.items()):
                    yield c

    # -- section 3, row by row

    def _operator(self, p: ast.Pattern, env: Environment) -> Iterable[ComplexEvent]:
        match p:
            case ast.Type():
                return (ComplexEvent(k, k, frozenset({(p.name, k)})) for k in self._typed(p.name))
            case ast.Any():
                return (ComplexEvent(k, k, frozenset()) for k in self.positions)
            case ast.Matches():
                return self._matches(p)
            case ast.Satisfying():
                holds = self.expressions.holds_at
                return (c for c in self.of(p.body, env) if holds(p.condition, c.start))
            case ast.As():
                return self._as(p, env)
            case ast.SpanOf():
                return self._span(p, env)
            case ast.After():
                return self._after(p, env)
            case ast.Until():
                return self._until(p, env)
            case FromTo():
                return self._from_to(p)
            case ast.Filter():
                return self._filter(p, env)
            case ast.Sequence(link=ast.Link.NEXT):
                left, right = self.of(p.left, env), self.of(p.right, env)
                pairs = self._join_without(first(p.right), left, right, when_there(p.right), p.gap, env)
                return itertools.chain(pairs, self._without_optional(p, env))
            case ast.Sequence():
                pairs = self._join(self.of(p.left, env), self.of(p.right, env), p.link, p.gap)
                return itertools.chain(pairs, self._without_optional(p, env))
            case ast.NotBetween():
                return itertools.chain(self._not_between(p, env), self._without_optional(p, env))
            case ast.Iteration():
                return self._iteration(p, env)
            case ast.Optional():
                return self.of(p.body, env)  # that it may be left out is the sequence's to say
            case ast.Within():
                return (c for c in self.of(p.body, env) if self._inside(c, p.window))
            case ast.Or():
                return self.of(p.left, env) | self.of(p.right, env)
            case ast.And():
                return self.of(p.left, env) & self.of(p.right, env)
            case ast.All():
                return self._all(p, env)
            case ast.Unless():
                return self._unless(p, env)
            case ast.NotAfter():
                return self._not_after(p, env)
            case ast.NotBefore():
                return self._not_before(p, env)
            case ast.Select():
                return select(p.selector, self.of(p.body, env), self.events.rank)
            case ast.Project():
                return (c.project(p.variables) for c in self.of(p.body, env))
        raise AssertionError(p)

    def _typed(self, name: str) -> list[int]:
        return [k for k in self.positions if self.events.types[k] == name]

    def _matches(self, p: ast.Matches) -> Iterator[ComplexEvent]:
        """What the runs of an automaton of the user's own find."""
        own = own_automaton_of(p)
        assert own is not None, "a query is checked with what its names stand for"
        for run, end in Runs(own, self.events, self.expressions).matches(self.positions):
            yield ComplexEvent(run.start, end, run.marks, tuple(zip(own.fields, run.register, strict=True)))

    def _as(self, p: ast.As, env: Environment) -> Iterator[ComplexEvent]:
        for c in self.of(p.body, env):
            marked = {c.start} if is_atom(p.body) else c.support
            yield ComplexEvent(c.start, c.end, c.marks | {(p.variable, k) for k in marked})

    def _span(self, p: ast.SpanOf, env: Environment) -> Iterator[ComplexEvent]:
        """A window: all events of the substream from the first to the last, whatever is marked inside."""
        rank = self.events.rank
        for c in self.of(p.body, env):
            window = self.positions[rank[c.start] : rank[c.end] + 1]
            yield ComplexEvent(c.start, c.end, frozenset((p.variable, k) for k in window))

    def _after(self, p: ast.After, env: Environment) -> Iterator[ComplexEvent]:
        """All that stands before is a complex event of the past, or nothing, if the past may be left out."""
        rank = self.events.rank
        found = () if p.past is None else self.of(p.past, env)
        over = {rank[d.end] for d in found if rank[d.start] == 0}
        if p.past is None or nullable(p.past):
            over.add(-1)
        return (c for c in self.of(p.body, env) if rank[c.start] - 1 in over)

    def _until(self, p: ast.Until, env: Environment) -> Iterator[ComplexEvent]:
        """What closes it starts directly behind it; the end of a closed stream is behind the last event."""
        rank = self.events.rank
        closed = set() if p.closing is None else {rank[d.start] for d in self.of(p.closing, env)}
        if p.or_end and self.events.closed:
            closed.add(len(self.positions))
        return (c for c in self.of(p.body, env) if rank[c.end] + 1 in closed)

    def _from_to(self, p: FromTo) -> Iterator[ComplexEvent]:
        """The pairs of positions for which the formula holds."""
        kept: dict[tuple[ast.Pattern, int], bool] = {}

        def event_is(event: ast.Pattern, place: int) -> bool:
            if (event, place) not in kept:
                position = self.positions[place]
                kept[event, place] = any(c.start == position for c in self.of(event))
            return kept[event, place]

        for begin, end in Assignments(len(self.positions), event_is).windows(p):
            yield ComplexEvent(self.positions[begin], self.positions[end], frozenset())

    def _filter(self, p: ast.Filter, env: Environment) -> Iterator[ComplexEvent]:
        """A variable that the filter's own pattern binds means its marks; any other comes from outside."""
        outside = {x: [k] for x, k in env.items() if isinstance(k, int)}
        # The first round of an iteration has no LASTOF(y): conjuncts that speak of it hold there.
        conjuncts = [said for said in self._conjuncts(p) if said.last_of <= outside.keys()]
        own = self._bindings(p.body)
        spoken_of = frozenset[str]().union(*(said.names for said in conjuncts))
        for c in self.of(p.body, env):
            sets = {**outside, **{x: c.of(x) for x in own if x in spoken_of}}
            single = {x: positions[0] for x, positions in sets.items() if own.get(x, True)}
            rounds = {
                name: _with_this_round(so_far, sets) for name, so_far in env.items() if isinstance(so_far, Rounds)
            }
            if all(self.expressions.holds_for_every_choice(f.condition, sets, single, rounds) for f in conjuncts):
                yield c

    def _join(
        self, left: Set[ComplexEvent], right: Set[ComplexEvent], link: ast.Link, gap: ast.Interval | None
    ) -> Iterator[ComplexEvent]:
        """`p ; q`, `p : q` and their timed forms."""
        by_start = defaultdict(list)
        for c in right:
            by_start[c.start].append(c)
        for start, after in by_start.items():
            for c1 in left:
                if self._follows(c1.end, start, link) and self._apart(c1.end, start, gap):
                    yield from (c1.union(c2) for c2 in after)

    def _follows(self, end: int, start: int, link: ast.Link) -> bool:
        rank = self.events.rank
        return rank[end] + 1 == rank[start] if link is ast.Link.DIRECTLY else end < start

    def _apart(self, end: int, start: int, gap: ast.Interval | None) -> bool:
        times = self.events.nanoseconds
        return gap is None or gap.contains(times[start] - times[end])

    def _without_optional(self, p: ast.Sequence | ast.NotBetween, env: Environment) -> Iterator[ComplexEvent]:
        if nullable(p.left):
            yield from self.of(p.right, env)
        if nullable(p.right):
            yield from self.of(p.left, env)

    def _iteration(self, p: ast.Iteration, env: Environment) -> Iterator[ComplexEvent]:
        """`p+` is `p` or `p+ ; p`: the complex events of one round, of two, and so on while there are any.

        They are kept by what the next round is told of the last.
        """
        untold: Told = tuple((last_of(y), None) for y in sorted(passed_to_next_round(p)))
        untold += tuple((name, Rounds(y, ())) for name, y in running_in_rounds(p).items())
        rounds, many = 1, self._round(p, env, untold)
        while many and (p.high is None or rounds <= p.high):
            if rounds >= p.low:
                yield from itertools.chain(*many.values())
            longer: dict[Told, set[ComplexEvent]] = defaultdict(set)
            for told, so_far in many.items():
                for tells, once in self._round(p, env, told).items():
                    pairs = self._join(so_far, once, p.link, p.gap)
                    absent = first(p.body) if p.link is ast.Link.NEXT else p.absent
                    if absent is not None:
                        pairs = self._join_without(absent, so_far, once, p.body, p.gap, {**env, **dict(told)})
                    longer[tells] |= self._tally.kept(pairs, new=True)
            many = {told: found for told, found in longer.items() if found}
            rounds += 1

    def _round(self, p: ast.Iteration, env: Environment, told: Told) -> dict[Told, set[ComplexEvent]]:
        """The complex events of a round that is told so of the round before, by what it tells the next."""
        found: dict[Told, set[ComplexEvent]] = defaultdict(set)
        for c in self.of(p.body, {**env, **dict(told)}):
            tells: Told = tuple((last_of(y), k) for y in sorted(passed_to_next_round(p)) for k in c.of(y))
            before = ((name, rounds) for name, rounds in told if isinstance(rounds, Rounds))
            tells += tuple((name, r._replace(positions=(*r.positions, *c.of(r.variable)))) for name, r in before)
            found[tells].add(c)
        return found

    def _join_without(
        self,
        absent: ast.Pattern,
        left: Set[ComplexEvent],
        right: Set[ComplexEvent],
        following: ast.Pattern,
        gap: ast.Interval | None,
        env: Environment,
    ) -> Iterator[ComplexEvent]:
        """`p ; q` with nothing absent between, which may use the single variables of `following`, the pattern `q`."""
        for c2 in right:
            found = self.of(absent, self._seen_from(following, c2, env))
            for c1 in left:
                between = any(c1.end < d.start and d.end < c2.start for d in found)
                if c1.end < c2.start and self._apart(c1.end, c2.start, gap) and not between:
                    yield c1.union(c2)

    def _inside(self, c: ComplexEvent, window: ast.Interval | ast.EventCount) -> bool:
        if isinstance(window, ast.EventCount):
            return self.events.rank[c.end] - self.events.rank[c.start] < window.count
        return self._apart(c.start, c.end, window)

    def _all(self, p: ast.All, env: Environment) -> Iterator[ComplexEvent]:
        for c1 in self.of(p.left, env):
            for c2 in self.of(p.right, env):
                if all(c1.of(x) == c2.of(x) for x in joined(p)):
                    yield c1.union(c2)

    def _unless(self, p: ast.Unless, env: Environment) -> Iterator[ComplexEvent]:
        for c in self.of(p.body, env):
            absent = self.of(p.absent, self._seen_from(p, c, env))
            if not any(c.start <= d.start and d.end <= c.end for d in absent):
                yield c

    def _not_after(self, p: ast.NotAfter, env: Environment) -> Iterator[ComplexEvent]:
        """Nothing absent may end by the deadline, and it is known that nothing does when the deadline has passed."""
        times = self.events.nanoseconds
        for c in self.of(p.body, env):
            if not p.deadline.contains(self.events.now - times[c.end]):
                absent = self.of(p.absent, self._seen_from(p, c, env))
                if not any(c.end < d.start and p.deadline.contains(times[d.end] - times[c.end]) for d in absent):
                    yield c

    def _not_before(self, p: ast.NotBefore, env: Environment) -> Iterator[ComplexEvent]:
        """Nothing absent has ended before the start that started at most so long before it."""
        times = self.events.nanoseconds
        for c in self.of(p.body, env):
            absent = self.of(p.absent, self._seen_from(p, c, env))
            if not any(d.end < c.start and p.deadline.contains(times[c.start] - times[d.start]) for d in absent):
                yield c

    def _not_between(self, p: ast.NotBetween, env: Environment) -> Iterator[ComplexEvent]:
        for c1 in self.of(p.left, env):
            for c2 in self.of(p.right, env):
                if c1.end < c2.start and self._apart(c1.end, c2.start, p.gap):
                    c = c1.union(c2)
                    absent = self.of(p.absent, self._seen_from(p, c, env))
                    if not any(c1.end < d.start and d.end < c2.start for d in absent):
                        yield c

    @staticmethod
    def _seen_from(p: ast.Pattern, c: ComplexEvent, env: Environment) -> Environment:
        """What an absent pattern sees: the single variables of the complex event it must be absent from."""
        return {**env, **{x: k for x in singles(p) for k in c.of(x)}}


def _with_this_round(so_far: Rounds, sets: Mapping[str, Sequence[int]]) -> Rounds:
    """The rounds so far with the events that the variable stands for in a filter of this round."""
    return so_far._replace(positions=tuple(sorted({*so_far.positions, *sets.get(so_far.variable, ())})))


# ---------------------------------------------------------------- section 5


def select(
    selector: ast.Selector, candidates: Iterable[ComplexEvent], rank: Mapping[int, int]
) -> Iterator[ComplexEvent]:
    """Those that the selector keeps, among the complex events with the same end."""
    by_end = defaultdict(list)
    for c in candidates:
        by_end[c.end].append(c)
    for group in by_end.values():
        supports = {c.support for c in group}
        match selector:
            case ast.Selector.ALL:
                best = supports
            case ast.Selector.NEXT:
                best = {m for m in supports if not any(_less(m, other, min) for other in supports)}
            case ast.Selector.LAST:
                best = {m for m in supports if not any(_less(m, other, max) for other in supports)}
            case ast.Selector.MAX:
                best = {m for m in supports if not any(m < other for other in supports)}
            case ast.Selector.STRICT:
                best = {m for m in supports if _without_gaps(sorted(rank[k] for k in m))}
        yield from (c for c in group if c.support in best)


def _less(m1: frozenset[int], m2: frozenset[int], first: Callable[[frozenset[int]], int]) -> bool:
    """`M1 < M2 iff min (or max) of their symmetric difference is in M2`."""
    difference = m1 ^ m2
    return bool(difference) and first(difference) in m2


def _without_gaps(ranks: list[int]) -> bool:
    return all(b - a == 1 for a, b in itertools.pairwise(ranks))
