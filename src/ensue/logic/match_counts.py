"""How many matches can have one end: a bound that holds for every stream, as a number or as growth with the window.

A pattern is counted by spans: the coefficient of `k` says how many of its complex events at most start `k` events
before their common end. Sequences multiply such series, `;` by any distance of 1 or more, `:` by 1. Only what the query
shows makes matches differ: variables, and the start of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.logic.scope import bindings

#: In windows with more events than this, growth is told and no number.
MOST_EVENTS = 300


@dataclass(frozen=True)
class Spans:
    """At most so many complex events for each distance from start to end.

    Coefficients grow like the distance to the power of `degree`; -1 means that the distance has a bound. None means
    that they grow like a power of 2 or more.
    """

    series: tuple[int, ...]
    degree: int | None = -1

    def then(self, other: Spans) -> Spans:
        """One after the other, where the end of one is the start of the other."""
        n = len(self.series)
        found = [0] * n
        for i, a in enumerate(self.series):
            for j in range(n - i) if a else ():
                found[i + j] += a * other.series[j]
        unknown = self.degree is None or other.degree is None
        return Spans(tuple(found), None if unknown else (self.degree or 0) + (other.degree or 0) + 1)

    def either(self, other: Spans) -> Spans:
        return self._with(other, lambda a, b: a + b)

    def larger(self, other: Spans) -> Spans:
        """Of two kinds of complex events of which a stream has one at a place."""
        return self._with(other, max)

    def once(self) -> Spans:
        """At most one for each distance: nothing but start and end tells them apart."""
        degree = 0 if self.degree is None else min(self.degree, 0)
        return Spans(tuple(min(a, 1) for a in self.series), degree)

    def shorter(self) -> Spans:
        """Those that start anywhere from the distance on: the sums of the coefficients."""
        sums = [sum(self.series[: k + 1]) for k in range(len(self.series))]
        return Spans(tuple(sums), None if self.degree is None else self.degree + 1)

    def times(self, other: Spans) -> Spans:
        """Pairs of the same distance."""
        degree: int | None = -1
        if -1 not in (self.degree, other.degree):
            degree = None if self.degree is None or other.degree is None else self.degree + other.degree
        return Spans(tuple(a * b for a, b in zip(self.series, other.series, strict=True)), degree)

    def _with(self, other: Spans, join: Callable[[int, int], int]) -> Spans:
        degree = None if self.degree is None or other.degree is None else max(self.degree, other.degree)
        return Spans(tuple(map(join, self.series, other.series)), degree)


@dataclass(frozen=True)
class MatchCount:
    """The most matches with one end: a number if the window has few events, and how they grow with its events."""

    most: int | None
    degree: int | None  # the power of the number of events; None means exponential


def matches_of_one_end(pattern: ast.Pattern, shown: Iterable[str], events: int | None) -> MatchCount:
    """The bound for a pattern of which these variables are shown, in a window of so many events; None if unknown.

    >>> from ensue.language.parser import parse_pattern
    >>> for text in ("A ; B ; C", "A+", "A:+ : B", "(A ; B){2}"):
    ...     print(matches_of_one_end(parse_pattern(text), "ABC", 10))
    MatchCount(most=36, degree=2)
    MatchCount(most=512, degree=None)
    MatchCount(most=9, degree=1)
    MatchCount(most=84, degree=3)
    """
    known = events is not None and events <= MOST_EVENTS
    found = _Counting(frozenset(shown), (events or 0) if known else 0).of(pattern)
    return MatchCount(sum(found.series) if known else None, None if found.degree is None else found.degree + 1)


class _Counting:
    def __init__(self, shown: frozenset[str], length: int, *, strict: bool = False) -> None:
        self._shown = shown
        self._length = length
        self._strict = strict
        self._one = self._series(1)
        self._directly = self._series(0, 1)

    def of(self, p: ast.Pattern) -> Spans:
        found = self._of(p)
        return found if self._is_shown(p) else found.once()

    def _of(self, p: ast.Pattern) -> Spans:
        match p:
            case ast.Type() | ast.Any() | ast.Satisfying():
                return self._one
            case FromTo() | ast.SpanOf() | ast.Matches():
                return self._anywhere(0)
            case ast.Sequence() | ast.NotBetween():
                return self._sequence(_steps(p))
            case ast.Iteration():
                return self._iteration(p)
            case ast.Or():
                left, right = self.of(p.left), self.of(p.right)
                return left.larger(right) if _exclude(p.left, p.right) else left.either(right)
            case ast.And():
                left, right = self.of(p.left), self.of(p.right)
                return left if sum(left.series) <= sum(right.series) else right
            case ast.All():
                return self._all(self.of(p.left), self.of(p.right))
            case ast.Project():
                return _Counting(self._shown & set(p.variables), self._length, strict=self._strict).of(p.body)
            case ast.Select(selector=ast.Selector.STRICT):
                return _Counting(self._shown, self._length, strict=True).of(p.body)
            case ast.Optional() | ast.As() | ast.Filter() | ast.Within() | ast.Select() | ast.After() | ast.Until():
                return self.of(p.body)
            case ast.Unless() | ast.NotAfter() | ast.NotBefore():
                return self.of(p.body)
        raise AssertionError(p)

    # -- the parts

    def _is_shown(self, p: ast.Pattern) -> bool:
        return not self._shown.isdisjoint(bindings(p))

    def _series(self, *first: int) -> Spans:
        return Spans((*first, *(0 for _ in range(self._length)))[: self._length])

    def _anywhere(self, least: int) -> Spans:
        """Any distance of so many events or more."""
        return Spans(tuple(int(k >= least) for k in range(self._length)), 0)

    def _between(self, link: ast.Link) -> Spans:
        return self._directly if self._strict or link is ast.Link.DIRECTLY else self._anywhere(1)

    def _sequence(self, steps: list[tuple[ast.Link, ast.Pattern]]) -> Spans:
        """Steps that are not shown join what lies between those that are."""
        begun: list[tuple[Spans, Spans]] = []  # what is shown so far, and the distance to the end of what is not
        empty = True  # whether all steps so far may be left out
        for link, p in steps:
            step, shown = self.of(p), self._is_shown(p)
            gap = self._between(link)
            fresh = [(v, d.then(gap)) for v, d in begun]
            if shown:
                made = [(v.then(d.once()).then(step), self._one) for v, d in fresh]
                made += [(step, self._one)] if empty else []
            else:
                made = [(v, d.then(step).once()) for v, d in fresh]
                made += [(self._one, step.once())] if empty else []
            optional = isinstance(p, ast.Optional)
            begun = _joined([*made, *(begun if optional else [])])
            empty = empty and optional
        return reduce(Spans.either, (v.then(d) for v, d in begun))

    def _iteration(self, p: ast.Iteration) -> Spans:
        body = self.of(p.body)
        if p.link is ast.Link.NEXT and _is_atom(p.body):
            return self._anywhere(0)  # from the start on, each round is the next one
        again = self._between(p.link).then(body)
        low, high = max(p.low, 1), p.high
        if high is None:
            # Each round has one way and one length, or the number of ways doubles.
            single = again.degree == -1 and _is_rigid(p.body)
            degree: int | None = 0 if single else None
        elif body.degree is None or again.degree is None:
            degree = None
        else:
            degree = body.degree + (high - 1) * (again.degree + 1)
        rounds = min(self._length, high or self._length)
        made, found = body, self._series()
        for k in range(1, rounds + 1):
            found = found.either(made) if k >= low else found
            made = made.then(again)
        return Spans(found.series, degree)

    @staticmethod
    def _all(left: Spans, right: Spans) -> Spans:
        """Either side has the end; the other lies inside, or has the start."""
        inside = left.times(right.shorter().shorter()).either(right.times(left.shorter().shorter()))
        overlapping = left.shorter().times(right.shorter())
        return inside.either(overlapping).either(overlapping)


def _joined(begun: list[tuple[Spans, Spans]]) -> list[tuple[Spans, Spans]]:
    """The same, with few of them: optional steps would double them."""
    if len(begun) <= 4:
        return begun
    whole = reduce(Spans.either, (v.then(d) for v, d in begun))
    return [(whole, Spans((1, *(0 for _ in whole.series))[: len(whole.series)]))]


def _steps(p: ast.Pattern) -> list[tuple[ast.Link, ast.Pattern]]:
    """The steps of a sequence, each with how it follows the one before."""
    steps: list[tuple[ast.Link, ast.Pattern]] = []
    while isinstance(p, ast.Sequence | ast.NotBetween):
        steps.append((p.link if isinstance(p, ast.Sequence) else ast.Link.THEN, p.right))
        p = p.left
    return [(ast.Link.THEN, p), *reversed(steps)]


def _is_atom(p: ast.Pattern) -> bool:
    """Whether the pattern is one event, in one way."""
    while isinstance(p, ast.As | ast.Filter):
        p = p.body
    if isinstance(p, ast.Or):
        return _exclude(p.left, p.right) and _is_atom(p.left) and _is_atom(p.right)
    return isinstance(p, ast.Type | ast.Any | ast.Satisfying)


def _is_rigid(p: ast.Pattern) -> bool:
    """Whether all complex events of the pattern have one length, and there is one for each end."""
    while isinstance(p, ast.As | ast.Filter | ast.Within):
        p = p.body
    if isinstance(p, ast.Sequence):
        return p.link is ast.Link.DIRECTLY and _is_rigid(p.left) and _is_rigid(p.right)
    return _is_atom(p)


def _exclude(left: ast.Pattern, right: ast.Pattern) -> bool:
    """Whether both sides are single events, of different types: no event is one for both."""
    ours, theirs = _types(left), _types(right)
    return bool(ours) and bool(theirs) and not ours & theirs


def _types(p: ast.Pattern) -> frozenset[str]:
    """The types of a pattern of one event; empty for any other pattern."""
    while isinstance(p, ast.As | ast.Filter | ast.Satisfying):
        p = p.body
    if isinstance(p, ast.Or):
        left, right = _types(p.left), _types(p.right)
        return left | right if left and right else frozenset()
    return frozenset((p.name,)) if isinstance(p, ast.Type) else frozenset()
