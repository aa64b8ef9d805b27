"""What a pattern says of several events at once, taken out of it where it can be judged on a whole complex event.

    A AS x ; (B AS y FILTER y.v > x.v)+      is      A AS x ; (B AS y)+     of which   y.v > x.v   holds
    A ;[<= 1 s] B                            is      A AS p ; B AS q        of which   q comes a second after p, at most

Conditions hold for every choice of an event from each set, which is what a filter over sets means. What is left of the
pattern speaks of one event at a time, so the automaton engine evaluates it; the conditions are then judged over
columns of matches, and the variables that were put in for them are left out again.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ensue.language import ast
from ensue.language.printer import print_expression, print_interval, print_pattern
from ensue.logic.classify import conjuncts_of
from ensue.logic.scope import always_marked, bindings, chosen_of, is_atom, nullable, singles, variables_of

#: Names that no user's variable has, for the ends of what an interval of time is measured between.
_HIDDEN = "\0"


@dataclass(frozen=True)
class Apart:
    """The time from one event to another lies in the interval: from the last of `earlier` to the first of `later`,
    or, where they are the same variable, from its first event to its last. Without events it holds."""

    earlier: str
    later: str
    interval: ast.Interval
    where: str  # the part of the pattern that it was written in

    def __str__(self) -> str:
        return f"{print_interval(self.interval)} in {self.where}"


Condition = ast.Expression | Apart
Conditions = tuple[Condition, ...]
_NONE: Conditions = ()


def variables_in(c: Condition) -> frozenset[str]:
    """The variables that a condition speaks of."""
    return frozenset({c.earlier, c.later}) if isinstance(c, Apart) else variables_of(c)


def print_condition(c: Condition) -> str:
    return str(c) if isinstance(c, Apart) else print_expression(c)


def take_out(p: ast.Pattern) -> tuple[ast.Pattern, Conditions]:
    """The pattern without the conditions that relate events, and those; some may have to stay where they are.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_expression, print_pattern
    >>> pattern, taken = take_out(parse_pattern("A AS x ; (B AS y FILTER y.v > x.v AND y.w = 1)+"))
    >>> print_pattern(pattern), [print_expression(c) for c in taken]
    ('A AS x ; (B AS y FILTER y.w = 1)+', ['y.v > x.v'])
    """
    pattern, taken = _Taker().around(p)
    known = bindings(pattern).keys()
    return (pattern, taken) if all(variables_in(c) <= known for c in taken) else (p, _NONE)


class _Taker:
    """Takes conditions out of one pattern: `around` for the pattern itself, `take` for what is in it."""

    def __init__(self) -> None:
        self._names = 0

    def _new_name(self) -> str:
        self._names += 1
        return f"{_HIDDEN}{self._names}"

    def around(self, p: ast.Pattern) -> tuple[ast.Pattern, Conditions]:
        """As `take`, where `p` is the whole pattern: the longest that it may be stays there, to end runs by."""
        if isinstance(p, ast.Filter):
            return _from_filter(p, *self.around(p.body))
        if isinstance(p, ast.Within) and (isinstance(p.window, ast.EventCount) or p.window.high is not None):
            body, taken = self.around(p.body)
            if isinstance(p.window, ast.EventCount) or p.window.low is None:
                return dataclasses.replace(p, body=body), taken
            timed = self._timed_window(body, p)
            if timed is not None:
                longest = ast.Interval(None, p.window.high, span=p.window.span)
                return dataclasses.replace(p, body=timed[0], window=longest), taken + timed[1]
        return self.take(p)

    def take(self, p: ast.Pattern) -> tuple[ast.Pattern, Conditions]:
        """As `take_out`; conditions may speak of variables that a pattern around `p` binds."""
        match p:
            case ast.Filter():
                return _from_filter(p, *self.take(p.body))
            case ast.Within(window=ast.Interval()):
                body, taken = self.take(p.body)
                timed = self._timed_window(body, p)
                return (p, _NONE) if timed is None else (timed[0], taken + timed[1])
            case ast.Sequence(gap=ast.Interval()):
                return self._from_gap(p)
            case ast.Within() | ast.As() | ast.Unless() | ast.Iteration() | ast.Optional():
                body, taken = self.take(p.body)
                return (
                    (dataclasses.replace(p, body=body), taken) if all(_may_leave(c, p) for c in taken) else (p, _NONE)
                )
            case ast.Sequence() | ast.NotBetween() | ast.All() | ast.Or():
                changes, found = {}, _NONE
                for side, other in (("left", "right"), ("right", "left")):
                    part, taken = self.take(getattr(p, side))
                    elsewhere = bindings(getattr(p, other)).keys()
                    if taken and all(_own(c, part).isdisjoint(elsewhere) for c in taken):
                        changes[side], found = part, found + taken
                return dataclasses.replace(p, **changes), found  # type: ignore[arg-type]
        return p, _NONE

    def _timed_window(self, body: ast.Pattern, p: ast.Within) -> tuple[ast.Pattern, Conditions] | None:
        """The body of a window with a variable over all of it; None where its first or last event may be unmarked."""
        assert isinstance(p.window, ast.Interval)
        name = self._new_name()
        marked = _marked(body, name)
        if marked is None or not (_end_is_marked(body, first=True) and _end_is_marked(body, first=False)):
            return None
        return marked, (Apart(name, name, p.window, print_pattern(p)),)

    def _from_gap(self, p: ast.Sequence) -> tuple[ast.Pattern, Conditions]:
        """`p ;[I] q` with a variable over each side."""
        assert p.gap is not None
        untimed, taken = self.take(dataclasses.replace(p, gap=None))
        assert isinstance(untimed, ast.Sequence)
        earlier, later = self._new_name(), self._new_name()
        left, right = _marked(untimed.left, earlier), _marked(untimed.right, later)
        if left is None or right is None:
            return p, _NONE
        if not (_end_is_marked(untimed.left, first=False) and _end_is_marked(untimed.right, first=True)):
            return p, _NONE
        between = Apart(earlier, later, p.gap, print_pattern(p))
        return dataclasses.replace(untimed, left=left, right=right), (*taken, between)


def _marked(p: ast.Pattern, name: str) -> ast.Pattern | None:
    """The pattern with a variable over all that it marks; None where that would keep it from being left out."""
    if isinstance(p, ast.Optional):
        return dataclasses.replace(p, body=ast.As(p.body, name, span=p.span))
    return None if nullable(p) else ast.As(p, name, span=p.span)


def _end_is_marked(p: ast.Pattern, *, first: bool) -> bool:
    """Whether the first (or the last) event of every complex event of `p` is one that it marks."""
    match p:
        case ast.Type():
            return True
        case ast.As():
            return is_atom(p.body) or _end_is_marked(p.body, first=first)
        case ast.Filter() | ast.Within() | ast.Iteration() | ast.Optional() | ast.Unless() | ast.Select():
            return _end_is_marked(p.body, first=first)
        case ast.Sequence() | ast.NotBetween():
            near, far = (p.left, p.right) if first else (p.right, p.left)
            return _end_is_marked(near, first=first) and (not nullable(near) or _end_is_marked(far, first=first))
        case ast.Or() | ast.All():
            return _end_is_marked(p.left, first=first) and _end_is_marked(p.right, first=first)
    return False


def _from_filter(p: ast.Filter, body: ast.Pattern, taken: Conditions) -> tuple[ast.Pattern, Conditions]:
    """`body` is that of the filter without what was taken out of it."""
    whole = not chosen_of(p.condition) & bindings(p.body).keys() <= always_marked(p.body)
    conjuncts = [p.condition] if whole else conjuncts_of(p.condition)
    related = tuple(c for c in conjuncts if len(variables_of(c)) > 1 and _is_plain(c) and _own(c, p.body))
    kept = [c for c in conjuncts if c not in related]
    if not kept:
        # Without its filter a pattern of optional steps could be left out of a sequence.
        return (p, _NONE) if nullable(body) else (body, taken + related)
    condition = kept[0]
    for c in kept[1:]:
        condition = ast.Binary("AND", condition, c, span=p.condition.span)
    return ast.Filter(body, condition, span=p.span), taken + related


def _is_plain(e: ast.Expression) -> bool:
    """Without look-back, and without `x[g]`, which speaks of all events of a set at once."""
    return not any(ast.find(e, ast.Each)) and not any(c.function == "prev" for c in ast.find(e, ast.Call))


def _own(c: Condition, p: ast.Pattern) -> frozenset[str]:
    """The variables of the condition that the pattern binds."""
    return variables_in(c) & bindings(p).keys()


def _may_leave(c: Condition, p: ast.Within | ast.As | ast.Unless | ast.Iteration | ast.Optional) -> bool:
    """Whether the condition means the same outside of `p` as in its body."""
    own = variables_in(c) if isinstance(c, Apart) else _own(c, p.body)
    match p:
        case ast.As():
            return p.variable not in own
        case ast.Iteration():
            # Of one round's event, or of every event of all rounds: the same, unless it relates two of one round.
            return not isinstance(c, Apart) and len(own) == 1 and own <= singles(p.body)
        case ast.Optional():
            return isinstance(c, Apart) or own <= always_marked(
                p.body
            )  # left out, its sets are empty, and the condition holds
    return True
