"""What closes a window: the matches of a plan of its own, of which one must start directly behind the window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ensue.automata.build import Unsupported, build, project
from ensue.automata.liveness import pruned
from ensue.automata.model import NO_MARKS, Automaton, Builder
from ensue.automata.predicates import Test, conjunction
from ensue.language import ast
from ensue.logic.until import is_one_event
from ensue.plan.capacity import MAX_PREDICATES
from ensue.rewrite import rewrite_pattern

if TYPE_CHECKING:
    from ensue.plan.plan import Plan

#: A column that says of each event whether a window that ends there may be closed; no attribute has this name.
MAY_CLOSE = "\0may close"
_MAY_CLOSE = frozenset({(Test(ast.Name(MAY_CLOSE)), True)})


@dataclass(frozen=True)
class Closing:
    """A window is known once one of the followers that start directly behind it has ended; or, at the end of all."""

    followers: Plan | None  # None: only the end closes windows
    or_end: bool
    one_event: bool  # whether the next event decides
    consumes: bool = False  # whether a window that is told takes away those of its key that start before its end
    chooses: bool = False  # then also: whether only the longest of one end is told
    limit: int | None = None  # and how many of one end


def followers_of(closing: ast.Until) -> Automaton | None:
    """The automaton of what closes a window; raises Unsupported where it compares events with each other."""
    if closing.closing is None:
        return None
    built = pruned(build(rewrite_pattern(closing.closing)))
    if built.registers:
        raise Unsupported(closing.closing, "a comparison of events, or of their times, behind UNTIL")
    return project.construct(built, NO_MARKS)


def closing_of(closing: ast.Until, followers: Plan | None, query: ast.Query) -> Closing:
    """How windows of the query become known, and which of them are told where these take others away."""
    one_event = is_one_event(closing)
    if query.consume is ast.Consume.NONE:
        return Closing(followers, closing.or_end, one_event)
    chooses = query.selector not in (ast.Selector.ALL, ast.Selector.STRICT)
    limit = query.limit if query.per is ast.Per.END else None
    return Closing(followers, closing.or_end, one_event, True, chooses, limit)


def searched(plan: Plan) -> Plan:
    """The plan that finds the windows: where the next event decides, those that it does not close are left out.

    A ring that counts the events of windows knows no conditions on the last one: it finds all of them.
    """
    closing = plan.closing
    counted = plan.spans is not None and plan.spans.count is not None
    full = len(plan.predicates) == MAX_PREDICATES
    if closing is None or not closing.one_event or counted or plan.on_one_clock or full:
        return plan
    return replace(plan, automaton=_ending_where_closed(plan.automaton))


def _ending_where_closed(automaton: Automaton) -> Automaton:
    """The automaton with one final state more, into which the last step leads where the window may be closed."""
    made = Builder(0)
    for t in automaton.transitions:
        made.add(t.source, t.guard, t.label, t.target)
        if t.target in automaton.finals:
            made.add(t.source, conjunction(t.guard, _MAY_CLOSE), t.label, "closed", final=True)
    return made.build()
