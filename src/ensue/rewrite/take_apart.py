"""What must not be there, as a pattern of its own: the complex events for which it is.

    A AS x ; NOT (B AS b ; D AS d FILTER d.v > b.v) ; C AS z

has the complex events of `A AS x ; C AS z`, but for those whose `x` and `z` are also those of
`A AS x ; (B AS b ; D AS d FILTER d.v > b.v) ; C AS z`. So an absence that no automaton watches for is found like
anything else, with whatever its filters say of events before it and behind it, and is then left out.

Whether something absent lies in a complex event depends on where it may lie, and on the events that its filters take
from outside. If the variables that are compared say both, complex events that agree on them have it or have it not.
So the steps beside the absence get a variable, where they have none of their own.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from itertools import count

from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.comparisons import with_conjuncts
from ensue.logic.scope import aggregates_of, bindings, free, has_rounds, is_atom, names_in, nullable, running_of
from ensue.logic.window import bounded, peel_windows

#: Where a pattern stands inside another: the names of the fields that lead to it.
Path = tuple[str, ...]
#: What the names of variables begin with that only tell where something absent may lie.
_BESIDE = "\0beside "


class NotApart(Exception):
    """An absence that stands, or says something, where this does not take it out."""


class Alike(Enum):
    """Which ends a complex event has in common with those that leave it out."""

    BOTH = auto()
    START = auto()  # what must not follow ends later
    END = auto()  # what must not come before starts earlier
    MARKS = auto()  # neither: what was chosen is a part of the whole


@dataclass(frozen=True)
class Excluded:
    """The complex events with something that must not be there."""

    absent: ast.Pattern
    pattern: ast.Pattern
    first_only: ast.Pattern | None  # the same with the first of what is absent only, where that is one event
    compared: frozenset[str]
    alike: Alike
    one_of_end: bool  # whether all that end together say the same


@dataclass(frozen=True)
class Apart:
    """A pattern without some of its absences, and what these leave out."""

    pattern: ast.Pattern
    excluded: tuple[Excluded, ...]
    deadline: ast.Interval | None  # by which something must not follow


def marks_more(p: ast.Pattern) -> bool:
    """Whether a pattern made here marks an event that the query's own leaves unmarked."""
    made = (q for q in ast.find(p, ast.As) if q.variable.startswith(_BESIDE))
    return any(not bindings(q.body) for q in made)


def absences_in(p: ast.Pattern, path: Path = ()) -> Iterator[tuple[Path, ast.Pattern]]:
    """The patterns with something absent, each with its place; not those inside of what is absent."""
    if isinstance(p, ast.Absence) or (isinstance(p, ast.Iteration) and p.absent is not None):
        yield path, p
    for name, part in inner_parts(p):
        yield from absences_in(part, (*path, name))


def without(p: ast.Pattern, out: Collection[Path], path: Path = ()) -> ast.Pattern:
    """The pattern without the absences at these places."""
    parts = {name: without(part, out, (*path, name)) for name, part in inner_parts(p)}
    made = dataclasses.replace(p, **parts) if parts else p  # type: ignore[arg-type]
    return _lifted(made) if path in out else made


def taken_apart(p: ast.Pattern, out: Collection[Path]) -> Apart:
    """The pattern without the absences at these places, and what they leave out; raises NotApart.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> apart = taken_apart(parse_pattern("A AS x ; NOT (B AS b FILTER b.v > z.v) ; C AS z"), [()])
    >>> print_pattern(apart.pattern)
    'A AS x ; C AS z'
    >>> [(print_pattern(e.pattern), sorted(e.compared)) for e in apart.excluded]
    [('A AS x ; (B AS b FILTER b.v > z.v) ; C AS z', ['x', 'z'])]
    """
    names = (f"{_BESIDE}{n}" for n in count(1))
    told, pinned = {}, p
    for path in sorted(out):
        node, compared = _Pins(p, path, names).of(part_at(pinned, path))
        pinned = put_at(pinned, path, node)
        told[path] = compared
    excluded = tuple(_Present(pinned, out, path, told[path]).excluded() for path in sorted(out))
    deadlines = [node.deadline for path in out if isinstance(node := part_at(p, path), ast.NotAfter)]
    return Apart(without(pinned, out), excluded, next(iter(deadlines), None))


def inner_parts(p: ast.Pattern) -> list[tuple[str, ast.Pattern]]:
    """The patterns whose events are those of `p`."""
    fields = ((f.name, getattr(p, f.name)) for f in dataclasses.fields(p))
    return [(n, v) for n, v in fields if isinstance(v, ast.Pattern) and n not in ("absent", "closing", "past")]


def part_at(p: ast.Pattern, path: Path) -> ast.Pattern:
    for name in path:
        p = getattr(p, name)
    return p


def put_at(p: ast.Pattern, path: Path, node: ast.Pattern) -> ast.Pattern:
    if not path:
        return node
    part = put_at(getattr(p, path[0]), path[1:], node)
    return dataclasses.replace(p, **{path[0]: part})  # type: ignore[arg-type]


def _lifted(p: ast.Pattern) -> ast.Pattern:
    match p:
        case ast.NotBetween():
            return ast.Sequence(p.left, p.right, gap=p.gap, span=p.span)
        case ast.Unless() | ast.NotAfter() | ast.NotBefore():
            return p.body
        case ast.Iteration():
            return dataclasses.replace(p, absent=None)
    return p


# ---------------------------------------------------------------- what tells where something absent may lie


class _Pins:
    """Finds, or makes, variables for the events beside an absence."""

    def __init__(self, p: ast.Pattern, path: Path, names: Iterator[str]) -> None:
        self._once = {x for x, times in _bound(p, path).items() if times == 1}
        self._names = names

    def of(self, p: ast.Pattern) -> tuple[ast.Pattern, frozenset[str]]:
        """The pattern with these variables, and all that must be compared."""
        match p:
            case ast.NotBetween():
                if nullable(p.left) or nullable(p.right):
                    raise NotApart
                left, before = self._pinned(p.left, p.absent, last=True)
                right, behind = self._pinned(p.right, p.absent, last=False)
                made: ast.Pattern = dataclasses.replace(p, left=left, right=right)
                used = before | behind
            case ast.NotAfter() | ast.NotBefore():
                body, used = self._pinned(p.body, p.absent, last=isinstance(p, ast.NotAfter))
                made = dataclasses.replace(p, body=body)
            case ast.Unless():
                body, first = self._pinned(p.body, p.absent, last=False)
                body, last = self._pinned(body, p.absent, last=True)
                made, used = dataclasses.replace(p, body=body), first | last
            case _:
                raise NotApart
        outer = free(p.absent)
        if not outer <= self._once or outer & bindings(p.absent).keys():
            raise NotApart  # LASTOF, RUNNING, or a name that does not tell the event
        return made, used | outer

    def _pinned(self, p: ast.Pattern, absent: ast.Pattern, *, last: bool) -> tuple[ast.Pattern, frozenset[str]]:
        name = self._own(p, last=last)
        if name is not None and name not in (q.name for q in ast.find(absent, ast.Type)):
            return p, frozenset({name})
        name = next(self._names)
        made = _marked(p, name, last=last, under_as=False)
        return made, frozenset(bindings(made)) - bindings(p).keys()

    def _own(self, p: ast.Pattern, *, last: bool) -> str | None:
        """A variable that always is the last event, or the first, and nothing else."""
        match p:
            case ast.As() if is_atom(p.body) and p.variable in self._once:
                return p.variable
            case ast.Type() if p.name in self._once:
                return p.name
            case ast.As() if is_atom(p.body):
                return self._own(p.body, last=last)
            case ast.Filter() | ast.Within() | ast.Unless() | ast.NotAfter() | ast.NotBefore():
                return self._own(p.body, last=last)
            case ast.Sequence() | ast.NotBetween():
                side = p.right if last else p.left
                return None if nullable(side) else self._own(side, last=last)
        return None


def _marked(p: ast.Pattern, name: str, *, last: bool, under_as: bool) -> ast.Pattern:
    """The pattern with the variable at the event that may be its last, or its first; no other event is marked anew."""

    def inner(q: ast.Pattern) -> ast.Pattern:
        return _marked(q, name, last=last, under_as=under_as)

    match p:
        case ast.Type() | ast.Any() | ast.Satisfying():
            if under_as and not bindings(p):
                raise NotApart  # a variable around it would mark it then
            return ast.As(p, name, span=p.span)
        case ast.As():
            within = _marked(p.body, name, last=last, under_as=under_as or not is_atom(p.body))
            return dataclasses.replace(p, body=within)
        case ast.Filter() | ast.Within() | ast.Optional() | ast.Iteration():
            return dataclasses.replace(p, body=inner(p.body))
        case ast.Unless() | ast.NotAfter() | ast.NotBefore():
            return dataclasses.replace(p, body=inner(p.body))
        case ast.Sequence() | ast.NotBetween():
            near, far = (p.right, p.left) if last else (p.left, p.right)
            other = inner(far) if nullable(near) else far
            left, right = (other, inner(near)) if last else (inner(near), other)
            return dataclasses.replace(p, left=left, right=right)
        case ast.Or():
            return dataclasses.replace(p, left=inner(p.left), right=inner(p.right))
        case ast.All():  # one name on both sides would be one event
            left = _marked(p.left, f"{name} on the left", last=last, under_as=under_as)
            right = _marked(p.right, f"{name} on the right", last=last, under_as=under_as)
            return dataclasses.replace(p, left=left, right=right)
    raise NotApart


# ---------------------------------------------------------------- the pattern with what must not be there


class _Present:
    """Makes the pattern of the complex events that an absence leaves out; the other absences at `out` are left aside.

    What is not asked in it, since it is asked of the complex events themselves, only makes more of them.
    """

    def __init__(self, p: ast.Pattern, out: Collection[Path], path: Path, compared: frozenset[str]) -> None:
        self._whole, self._out, self._path, self._compared = p, out, path, compared
        node = part_at(p, path)
        assert isinstance(node, ast.Absence)
        self._node: ast.Unless | ast.NotBetween | ast.NotAfter | ast.NotBefore = node
        self._absent = _told_apart(self._node.absent, _bound(p).keys())
        self._new = set(bindings(self._absent))  # the variables that its events may get here

    def excluded(self) -> Excluded:
        first = self._first_only()
        pattern = self._around(self._whole, self._path, (), self._beside())
        made = None if first is None else self._around(self._whole, self._path, (), first)
        alike = {ast.NotAfter: Alike.START, ast.NotBefore: Alike.END}.get(type(self._node), Alike.BOTH)
        one = isinstance(self._node, ast.NotBefore) and is_atom(self._node.body)
        span = self._longest()
        if span is not None:
            pattern = ast.Within(pattern, span, span=pattern.span)
            made = None if made is None else ast.Within(made, span, span=made.span)
        return Excluded(self._node.absent, pattern, made, self._compared, alike, one)

    def _part(self, name: str) -> ast.Pattern:
        return without(getattr(self._node, name), self._out, (*self._path, name))

    def _beside(self) -> ast.Pattern:
        """What is absent, in its place."""
        node, absent = self._node, self._absent
        match node:
            case ast.NotBetween():
                before = ast.Sequence(self._part("left"), absent, span=absent.span)
                return ast.Sequence(before, self._part("right"), span=node.span)
            case ast.Unless():
                return ast.All(self._part("body"), absent, span=node.span)
            case ast.NotAfter():
                body = _core(self._part("body"))
                if is_atom(absent):
                    return ast.Sequence(body, absent, gap=node.deadline, span=node.span)
                return _with_end(body, absent, node.deadline)
            case ast.NotBefore():
                body = _core(self._part("body"))
                if is_atom(absent):
                    return ast.Sequence(absent, body, gap=node.deadline, span=node.span)
                return _with_start(body, absent, node.deadline)
        raise NotApart

    def _first_only(self) -> ast.Pattern | None:
        """The same with the first event of those that are absent: others say no more."""
        node, absent = self._node, self._absent
        if not is_atom(absent) or not isinstance(node, ast.NotBetween | ast.NotAfter):
            return None
        if isinstance(node, ast.NotAfter):
            body = _core(self._part("body"))
            return ast.NotBetween(body, absent, absent, node.deadline, span=node.span)
        before = ast.NotBetween(self._part("left"), absent, absent, span=absent.span)
        return ast.Sequence(before, self._part("right"), span=node.span)

    def _around(self, p: ast.Pattern, way: Path, path: Path, node: ast.Pattern) -> ast.Pattern:
        """The pattern at `path`, on the way to the absence, with `node` in its place."""
        if not way:
            return node
        name, rest = way[0], way[1:]
        beyond = not isinstance(self._node, ast.NotBetween)  # what is absent may lie before or behind `node`
        part = self._around(getattr(p, name), rest, (*path, name), node)
        match p:
            case ast.Or() | ast.Optional() | ast.NotAfter() | ast.NotBefore():
                return part
            case ast.Filter():
                return _filtered(p, part, self._new)
            case ast.Within():
                longer = isinstance(self._node, ast.NotAfter | ast.NotBefore)
                return part if longer else dataclasses.replace(p, body=part)
            case ast.Unless():
                return part if path in self._out or beyond else dataclasses.replace(p, body=part)
            case ast.As() if not beyond:
                self._new.add(p.variable)
                return dataclasses.replace(p, body=part)
            case ast.Sequence() | ast.NotBetween() | ast.All() if not beyond:
                behind = name == "left"
                side = without(p.right if behind else p.left, self._out, (*path, "right" if behind else "left"))
                left, right = (part, side) if behind else (side, part)
                made = dataclasses.replace(p, left=left, right=right)
                return _lifted(made) if path in self._out else made
            case ast.Iteration() if not has_rounds(p) and not beyond:
                return part
        raise NotApart

    def _longest(self) -> ast.Interval | None:
        """How long the whole takes at most, where what is absent lies before or behind it."""
        if not isinstance(self._node, ast.NotAfter | ast.NotBefore) or self._node.deadline.high is None:
            return None
        lengths = [w.window.high for w in _windows(self._whole) if isinstance(w.window, ast.Interval)]
        inner = bounded(peel_windows(self._node.body)[1], self._node.body).time
        known = [bound.duration.nanoseconds() for bound in (*lengths, inner) if bound is not None]
        if not known and not is_atom(self._node.body):
            return None
        longest = math.ceil(min(known, default=0) + self._node.deadline.high.duration.nanoseconds())
        unit = max((u for u, n in ast.NANOSECONDS.items() if longest % n == 0), key=ast.NANOSECONDS.__getitem__)
        length = ast.Duration(Decimal(longest // ast.NANOSECONDS[unit]), unit)
        return ast.Interval(None, ast.Bound(length, inclusive=True))


def _bound(p: ast.Pattern, path: Path | None = None) -> Counter[str]:
    """The variables that the pattern binds, but in what is absent, and in how many places.

    Places in different alternatives count as one, unless the absence at `path` is in one of these.
    """
    found = Counter[str]([p.name] if isinstance(p, ast.Type) else [p.variable] if isinstance(p, ast.As) else [])
    parts = [_bound(part, path[1:] if path and path[0] == name else None) for name, part in inner_parts(p)]
    if isinstance(p, ast.Or) and not path:
        return parts[0] | parts[1]
    for part in parts:
        found += part
    return found


def _told_apart(absent: ast.Pattern, taken: Collection[str]) -> ast.Pattern:
    """The pattern with names of its own for what it binds and compares; raises NotApart where that is not easy."""
    used = {a.variable for a in ast.find(absent, ast.Attribute)}
    named = {q.variable for q in ast.find(absent, ast.As)}
    types = {q.name for q in ast.find(absent, ast.Type)} & used
    clash = sorted((named | types).intersection(taken))
    if not clash:
        return absent
    conditions = [f.condition for f in ast.find(absent, ast.Filter)]
    if any(ast.find(absent, ast.Project)) or any(aggregates_of(c) or running_of(c) for c in conditions):
        raise NotApart
    if any(next(ast.find(c, kind), None) for c in conditions for kind in (ast.Each, ast.LastOf)):
        raise NotApart
    names = {x: f"\0absent {x}" for x in clash}

    def renamed(n: ast.Node) -> ast.Node | None:
        match n:
            case ast.Attribute() if n.variable in names:
                return dataclasses.replace(n, variable=names[n.variable])
            case ast.As() if n.variable in names:
                return dataclasses.replace(n, variable=names[n.variable], body=ast.rebuilt(n.body, renamed))
            case ast.Type() if n.name in names:
                return ast.As(n, names[n.name], span=n.span)
        return None

    return ast.rebuilt(absent, renamed)


def _filtered(p: ast.Filter, body: ast.Pattern, new: Collection[str]) -> ast.Pattern:
    """The filter with those of its conjuncts that speak of no event that came with what is absent."""
    gone = bindings(p.body).keys() - bindings(body).keys()
    kept = [c for c in conjuncts_of(p.condition) if not names_in(c) & (gone | set(new))]
    return with_conjuncts(dataclasses.replace(p, body=body), kept) or body


def _windows(p: ast.Pattern) -> Iterator[ast.Within]:
    """The windows around the whole."""
    while isinstance(p, ast.Within | ast.Filter | ast.NotAfter | ast.NotBefore):
        if isinstance(p, ast.Within):
            yield p
        p = p.body


def _core(p: ast.Pattern) -> ast.Pattern:
    """The pattern without windows in time around it, and without what must not follow or come before."""
    match p:
        case ast.Within(window=ast.Interval()) | ast.NotAfter() | ast.NotBefore():
            return _core(p.body)
        case ast.Filter() | ast.Within():
            return dataclasses.replace(p, body=_core(p.body))
    return p


def _with_end(p: ast.Pattern, absent: ast.Pattern, deadline: ast.Interval) -> ast.Pattern:
    """`p ; absent`, where what is absent ends in time after the last event of `p`."""
    if is_atom(p):
        return ast.Within(ast.Sequence(p, absent, span=p.span), deadline, span=p.span)
    match p:
        case ast.Filter():
            return _filtered(p, _with_end(p.body, absent, deadline), bindings(absent))
        case ast.Sequence() | ast.NotBetween() if not nullable(p.right):
            return dataclasses.replace(p, right=_with_end(p.right, absent, deadline))
        case ast.Iteration(low=1, high=None, absent=None) if not free(p.body):
            last = _with_end(p.body, absent, deadline)
            return ast.Sequence(ast.Optional(p, span=p.span), last, p.link, p.gap, span=p.span)
    raise NotApart


def _with_start(p: ast.Pattern, absent: ast.Pattern, deadline: ast.Interval) -> ast.Pattern:
    """`absent ; p`, where what is absent starts in time before the first event of `p`."""
    if is_atom(p):
        return ast.Within(ast.Sequence(absent, p, span=p.span), deadline, span=p.span)
    match p:
        case ast.Filter():
            return _filtered(p, _with_start(p.body, absent, deadline), bindings(absent))
        case ast.Sequence() | ast.NotBetween() if not nullable(p.left):
            return dataclasses.replace(p, left=_with_start(p.left, absent, deadline))
        case ast.Iteration(low=1, high=None, absent=None) if not free(p.body):
            first = _with_start(p.body, absent, deadline)
            return ast.Sequence(first, ast.Optional(p, span=p.span), p.link, p.gap, span=p.span)
    raise NotApart
