"""A pattern without one of its constraints: those that its last step decides, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from ensue.language import ast
from ensue.language.printer import print_expression, print_interval, print_pattern, print_window
from ensue.logic.classify import conjuncts_of
from ensue.logic.scope import aggregates_of, bindings, names_in
from ensue.why.pattern_steps import filtered, length

#: A window, and the longest time between two steps, are made so many times as wide: what is far beyond is no near miss.
WIDER = 10


class Constraint(StrEnum):
    """What can end a partial match."""

    FILTER = "filter"
    WINDOW = "window"
    GAP = "gap"
    ORDER = "order"
    PARTITION = "partition"
    ABSENCE = "absence"
    SELECTOR = "selector"


@dataclass(frozen=True)
class Lifted:
    """A pattern without one of its constraints."""

    kind: Constraint
    text: str  # the constraint as the query says it
    pattern: ast.Pattern
    part: ast.Node | None = None  # where it stands: a condition, a window, an absent pattern


def lifted(p: ast.Pattern) -> Iterator[Lifted]:
    """The pattern without each of the constraints that its last step decides."""
    match p:
        case ast.Filter():
            yield from _conditions(p)
        case ast.Within():
            text = f"WITHIN {print_window(p.window)}"
            wider = _wider_window(p.window)
            without = p.body if wider is None else replace(p, window=wider)
            yield Lifted(Constraint.WINDOW, text, without, p.window)
        case ast.Sequence() if length(p.right) == 1:
            yield from _between(p)
        case ast.NotBetween() if length(p.right) == 1:
            without = ast.Sequence(p.left, p.right, gap=p.gap)
            yield Lifted(Constraint.ABSENCE, f"NOT {print_pattern(p.absent)}", without, p.absent)
            yield from _gap(p)
        case ast.Iteration():
            yield from _gap(p)
            if p.link is not ast.Link.THEN:
                yield Lifted(Constraint.ORDER, _LINKS[p.link], replace(p, link=ast.Link.THEN))
        case ast.Unless():
            yield Lifted(Constraint.ABSENCE, f"UNLESS {print_pattern(p.absent)}", p.body, p.absent)
        case ast.NotAfter() | ast.NotBefore():
            text = f"NOT {print_pattern(p.absent)} WITHIN {print_window(p.deadline)}"
            yield Lifted(Constraint.ABSENCE, text, p.body, p)
        case ast.Select():
            yield Lifted(Constraint.SELECTOR, str(p.selector), p.body)
        case ast.After():
            yield Lifted(Constraint.ORDER, "AFTER", p.body)
    yield from _inside(p)


def _inside(p: ast.Pattern) -> Iterator[Lifted]:
    """What the last step decides further in."""
    if isinstance(p, ast.Sequence | ast.NotBetween | ast.All):
        for found in lifted(p.right):
            yield replace(found, pattern=replace(p, right=found.pattern))
    elif not isinstance(p, ast.Or | ast.And | ast.Satisfying):
        body = getattr(p, "body", None)
        if isinstance(body, ast.Pattern):
            for found in lifted(body):
                yield replace(found, pattern=replace(p, body=found.pattern))  # type: ignore[call-arg]


_LINKS = {
    ast.Link.DIRECTLY: "directly after the step before",
    ast.Link.NEXT: "the next one after the step before",
}


def _conditions(p: ast.Filter) -> Iterator[Lifted]:
    said = conjuncts_of(p.condition)
    last = last_variables(p.body)
    for k, c in enumerate(said):
        names = names_in(c)
        if not names or names & last or aggregates_of(c):
            others = filtered(p.body, said[:k] + said[k + 1 :])
            yield Lifted(Constraint.FILTER, print_expression(c), others, c)


def _between(p: ast.Sequence) -> Iterator[Lifted]:
    yield from _gap(p)
    if p.link is not ast.Link.THEN:
        yield Lifted(Constraint.ORDER, _LINKS[p.link], replace(p, link=ast.Link.THEN))
    step = p.right.body if isinstance(p.right, ast.Optional) else p.right
    if not isinstance(p.left, ast.Optional) and step != p.left:
        yield Lifted(Constraint.ORDER, "after the step before", ast.Sequence(step, p.left))


def _gap(p: ast.Sequence | ast.NotBetween | ast.Iteration) -> Iterator[Lifted]:
    if p.gap is not None:
        yield Lifted(Constraint.GAP, print_interval(p.gap), replace(p, gap=_wider(p.gap)), p.gap)


def last_variables(p: ast.Pattern) -> frozenset[str]:
    """The variables of the last step."""
    while length(p) > 1:
        p = p.right if isinstance(p, ast.Sequence | ast.NotBetween | ast.All) else p.body  # type: ignore[attr-defined]
    return frozenset(bindings(p))


def _wider_window(window: ast.Interval | ast.EventCount) -> ast.Interval | ast.EventCount | None:
    return replace(window, count=window.count * WIDER) if isinstance(window, ast.EventCount) else _wider(window)


def _wider(interval: ast.Interval) -> ast.Interval | None:
    """The same, and wider on both sides; None for what has no bound above, or allows no time at all."""
    high = interval.high
    if high is None or not high.duration.amount:
        return None
    longer = replace(high.duration, amount=high.duration.amount * Decimal(WIDER))
    return replace(interval, low=None, high=ast.Bound(longer, inclusive=True))
