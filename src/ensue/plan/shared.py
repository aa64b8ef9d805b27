"""Several queries as one plan, so that what they begin with is evaluated once.

Their automata stand side by side. The engine determinises on the way (`automata/determinize.py`): runs that have marked
and stored alike are one partial match, whichever queries they belong to. So the steps that queries have in common, from
the first one on, need nothing more than that: an event is marked in one structure, and where a run ends, one more mark
on its last event tells whose match it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ensue.automata.build import Unsupported, or_, told_apart
from ensue.automata.liveness import pruned
from ensue.automata.model import Automaton, Builder, Label, Marks, TooLarge
from ensue.data.complex_events import ComplexEvents
from ensue.language import ast
from ensue.plan.automaton_spec import AutomatonSpec
from ensue.plan.choice import Choice
from ensue.plan.from_automaton import plan_automaton
from ensue.plan.plan import Plan


def is_shareable(choice: Choice) -> bool:
    """Whether its automaton alone decides about its matches: nothing is chosen, judged, closed or counted later."""
    plan, query = choice.plan, choice.checked.query
    if plan is None or choice.expectation is not None or query.limit is not None or query.aggregation is not None:
        return False
    decided_later = plan.waits or plan.decided_last or plan.chooses_judged is not None or plan.absence is not None
    consumes = plan.consume is not ast.Consume.NONE
    with_spans = choice.for_table.plan is None or choice.for_table.plan.spans is not None
    return not (decided_later or consumes or with_spans or plan.rankings)


def kind_of_stream(choice: Choice) -> object:
    """Queries that can share have the same: the keys, and the window, which lets partial matches go."""
    plan = _plan(choice)
    return choice.checked.query.partition, plan.keys, plan.window, plan.own_window, plan.counts_all


def shared_plan(choices: Sequence[Choice]) -> Plan | None:
    """One plan for these queries, which can share; None if it would be too large."""
    try:
        tagged = [_tagged(_whole(_plan(c)), _tag(n)) for n, c in enumerate(choices)]
        together = reduce(lambda p, q: or_.construct(*told_apart(p, q)), tagged)
        first = _plan(choices[0])
        spec = AutomatonSpec(
            pruned(together),
            first.schema,
            first.window,
            first.keys,
            own_window=first.own_window,
            counts_all=first.counts_all,
        )
        return plan_automaton(spec)
    except (Unsupported, TooLarge):
        return None


def matches_of(found: ComplexEvents, number: int, choice: Choice) -> ComplexEvents:
    """Those of one of the queries, with its own marks."""
    ours = np.array([_tag(number) in marks for marks in found.sets], dtype=np.bool_)
    last = found.mark[found.offset[1:] - 1] if len(found) else np.zeros(0, dtype=np.uint16)
    variables: Marks = frozenset().union(*_plan(choice).marks)
    return found.in_order(np.flatnonzero(ours[last])).only(variables)


def _plan(choice: Choice) -> Plan:
    assert choice.plan is not None, "only queries with an automaton share it"
    return choice.plan


def _whole(plan: Plan) -> Automaton:
    """The automaton as it was built, before its clocks were put on one or its checks were split."""
    return plan.as_built or plan.whole_checks or plan.automaton


def _tag(number: int) -> str:
    return f"\0query {number}"


def _tagged(p: Automaton, tag: str) -> Automaton:
    """The automaton with one more mark on the last event of each match."""
    made = Builder(0)
    for t in p.transitions:
        if t.target in p.finals:
            made.add(t.source, t.guard, Label(t.marks | {tag}, t.actions), "end", final=True)
        if t.target in p.outgoing:
            made.add(t.source, t.guard, t.label, t.target)
    return made.build()
