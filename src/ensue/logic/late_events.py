"""What an event that comes late can do to the matches that were told before it came."""

from __future__ import annotations

import math
from fractions import Fraction

from ensue.language import ast
from ensue.logic.classify import deadline_of
from ensue.logic.window import bounded, looks_back, peel_windows, reaches_back

_ADDS = "a late event only adds matches"
_ANY = "a late event may take back any later match"


def only_adds(query: ast.Query) -> bool:
    """Whether one more event never makes a match that was there impossible, nor changes what it shows.

    It is so where nothing of the query speaks of what must not be there, of neighbours, or of the best of several: a
    match then depends on its own events alone.

    >>> from ensue.language.parser import parse_query
    >>> [only_adds(parse_query(f"SELECT * FROM S WHERE {p}")) for p in ("A ; B+ WITHIN 5 s", "A : B", "A ; NOT C ; B")]
    [True, False, False]
    """
    chosen = query.selector is not ast.Selector.ALL or query.consume is not ast.Consume.NONE or query.limit is not None
    return not chosen and not looks_back(query) and all(map(_adds, _patterns(query.pattern)))


def _adds(p: ast.Pattern) -> bool:
    match p:
        case ast.Sequence():
            return p.link is ast.Link.THEN
        case ast.Iteration():
            return p.link is ast.Link.THEN and p.absent is None
        case ast.Within():
            return isinstance(p.window, ast.Interval)
    plain = (ast.Type, ast.Any, ast.Satisfying, ast.As, ast.Filter, ast.Optional, ast.Or, ast.And, ast.All, ast.Project)
    return isinstance(p, plain)


def _patterns(p: ast.Pattern) -> list[ast.Pattern]:
    return [node for node in ast.walk(p) if isinstance(node, ast.Pattern)]


def told_of_late_events(query: ast.Query) -> str:
    """Which matches an event that comes late can take back, in words.

    >>> from ensue.language.parser import parse_query
    >>> told_of_late_events(parse_query("SELECT * FROM S WHERE A ; NOT B ; C WITHIN 15 s"))
    'a late event may take back matches that end within 15 s of it'
    """
    if only_adds(query):
        return _ADDS
    if reaches_back(query) or looks_back(*(query.items or ())):
        return _ANY
    window = bounded(peel_windows(query.pattern)[1], query.pattern)
    length = _length(query.pattern, window.time)
    if length is not None:
        return f"a late event may take back matches that end within {length} of it"
    if window.events is not None and not query.partition:
        return f"a late event may take back matches that end within {window.events} events of it"
    return _ANY


def _length(pattern: ast.Pattern, window: ast.Bound | None) -> str | None:
    """How far from an event the ends of the matches are that depend on it; None if that has no bound."""
    before = next((p.deadline for p in ast.find(pattern, ast.NotBefore)), None)
    after = deadline_of(pattern)
    if window is None or any(d is not None and d.high is None for d in (before, after)):
        return None
    return _shown(max(window.duration.nanoseconds() + _nanoseconds(before), _nanoseconds(after)))


def _nanoseconds(deadline: ast.Interval | None) -> Fraction:
    return Fraction(0) if deadline is None or deadline.high is None else deadline.high.duration.nanoseconds()


def _shown(nanoseconds: Fraction) -> str:
    """A length in the largest unit of which it has a whole number."""
    whole = math.ceil(nanoseconds)
    unit = max((u for u, n in ast.NANOSECONDS.items() if whole % n == 0), key=ast.NANOSECONDS.__getitem__)
    return f"{whole // ast.NANOSECONDS[unit]} {unit}" if whole else "0 s"
