"""The window of a whole query: the maximum distance between the start and end of a match, and what can exceed it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.logic.own_automata import automata_of
from ensue.logic.scope import is_atom

_FARTHEST = 2**63 - 1  # a window of this many ticks or more is no bound


@dataclass(frozen=True)
class Window:
    """How far apart the start and end of a complex event may be, in events and in time; None means no bound."""

    events: int | None = None
    time: ast.Bound | None = None

    def and_(self, other: Window) -> Window:
        """The intersection of both windows."""
        events = min((n for n in (self.events, other.events) if n is not None), default=None)
        if self.time is None or (other.time is not None and _tighter(other.time, self.time)):
            return Window(events, other.time)
        return Window(events, self.time)

    def ticks(self, tick: int | None) -> int | None:
        """The largest whole number of ticks within the window's time, or None if the time has no bound."""
        if self.time is None:
            return None
        assert tick is not None, "a query that compares times runs over a stream whose unit is known"
        length = self.time.duration.nanoseconds() / tick
        whole = length.numerator // length.denominator
        whole = whole - 1 if whole == length and not self.time.inclusive else whole
        return whole if whole < _FARTHEST else None


_ONE_EVENT = Window(1, ast.Bound(ast.Duration(Decimal(0), "s"), inclusive=True))


def peel_windows(p: ast.Pattern) -> tuple[ast.Pattern, Window]:
    """Separates a pattern into the pattern without upper bounds on its whole length, and these bounds as a window.

    The match structure enforces the window.
    """
    whole = Window()
    while isinstance(p, ast.Within):
        if isinstance(p.window, ast.EventCount):
            whole = whole.and_(Window(events=p.window.count))
        elif p.window.high is None or not _from_zero(p.window.low):
            break
        else:
            whole = whole.and_(Window(time=p.window.high))
        p = p.body
    if isinstance(p, ast.NotAfter | ast.NotBefore):  # its complex events are those of its body
        whole = whole.and_(_ONE_EVENT if is_atom(p.body) else peel_windows(p.body)[1])
    return p, whole


def _from_zero(low: ast.Bound | None) -> bool:
    return low is None or (low.inclusive and low.duration.nanoseconds() == 0)


def _tighter(a: ast.Bound, b: ast.Bound) -> bool:
    length, other = a.duration.nanoseconds(), b.duration.nanoseconds()
    return length < other or (length == other and not a.inclusive)


def bounded(window: Window, p: ast.Pattern) -> Window:
    """The window, or the bound that the intervals inside the pattern imply if that is shorter.

    >>> from ensue.language.parser import parse_pattern
    >>> bounded(Window(), parse_pattern("A ;[<= 1 s] B ;[<= 2 s] C")).ticks(1_000_000_000)
    3
    """
    longest = _longest(p) if any(ast.find(p, ast.Interval)) else None
    if longest is None or (window.time is not None and window.time.duration.nanoseconds() <= longest):
        return window
    return Window(window.events, ast.Bound(ast.Duration(Decimal(math.ceil(longest)), "ns"), inclusive=True))


def _longest(p: ast.Pattern) -> Fraction | None:
    """The longest time that a complex event of the pattern can take, in nanoseconds; None if there is no bound."""
    match p:
        case ast.Type() | ast.Any() | ast.Satisfying():
            return Fraction(0)
        case ast.Within(window=ast.Interval() as interval) if interval.high is not None:
            inner, own = _longest(p.body), interval.high.duration.nanoseconds()
            return own if inner is None else min(inner, own)
        case ast.Sequence() | ast.NotBetween():
            return _sum(_longest(p.left), _longest_gap(p.gap), _longest(p.right))
        case ast.Iteration() if p.high is not None:
            body, gap = _longest(p.body), _longest_gap(p.gap)
            if p.high == 1:
                return body
            return None if body is None or gap is None else p.high * body + (p.high - 1) * gap
        case ast.Or():
            left, right = _longest(p.left), _longest(p.right)
            return None if left is None or right is None else max(left, right)
        case ast.And():
            return min((x for x in (_longest(p.left), _longest(p.right)) if x is not None), default=None)
        case ast.As() | ast.Filter() | ast.Within() | ast.Optional() | ast.Select() | ast.Project():
            return _longest(p.body)
        case ast.Unless() | ast.NotBefore() | ast.SpanOf() | ast.After() | ast.Until():
            return _longest(p.body)
    return None


def time_before(p: ast.Pattern, tick: int | None) -> int | None:
    """How long before a match an absence at the front of the pattern looks, in ticks; None means without bound.

    >>> from ensue.language.parser import parse_pattern
    >>> time_before(parse_pattern("NOT A WITHIN [< 2 s] ; B"), 1_000_000_000), time_before(parse_pattern("B"), 1)
    (1, 0)
    """
    absence = next(ast.find(p, ast.NotBefore), None)
    return 0 if absence is None else Window(time=absence.deadline.high).ticks(tick)


def _longest_gap(gap: ast.Interval | None) -> Fraction | None:
    return None if gap is None or gap.high is None else gap.high.duration.nanoseconds()


def _sum(*lengths: Fraction | None) -> Fraction | None:
    known = [x for x in lengths if x is not None]
    return sum(known, Fraction(0)) if len(known) == len(lengths) else None


def reaches_back(query: ast.Query) -> str:
    """Why a match may depend on events before its window, as a text; empty if no match does."""
    if query.consume is not ast.Consume.NONE:
        return f"CONSUME BY {query.consume} depends on all earlier matches"
    if any(ast.find(query.pattern, ast.After)):
        return "AFTER reads all events from the first one on"
    if any(ast.find(query.pattern, ast.Until)):
        return "UNTIL waits for what closes a window, however late it comes"
    if any(ast.find(query.pattern, FromTo)):
        return "a formula may speak of all events from the first one on"
    for selected in ast.find(query.pattern, ast.Select):
        if selected.selector is not ast.Selector.STRICT:
            return f"{selected.selector} inside the pattern compares with events before the window"
    look_back = looks_back(query.pattern) or any(own.looks_back for own in automata_of(query))
    return "PREV looks back to events before the window" if look_back else ""


def looks_back(*nodes: ast.Node) -> bool:
    """Whether one of the nodes contains a `PREV`."""
    return any(call.function == "prev" for node in nodes for call in ast.find(node, ast.Call))


def steps_back(look_back: ast.Call) -> int:
    """The number of events that a `PREV` looks back.

    >>> from ensue.language.parser import parse_expression
    >>> steps_back(parse_expression("PREV(x.v, 3)")), steps_back(parse_expression("PREV(x.v)"))
    (3, 1)
    """
    _, *steps = look_back.arguments
    found = steps[0].value if steps and isinstance(steps[0], ast.Literal) else 1
    assert isinstance(found, int)
    return found
