"""From what an engine has found to what the query reports: the one way that all complex events go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.columns.match_totals import folded_by_end
from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Positions, merged_by_end
from ensue.data.events import EventStream, integers, one_chunk
from ensue.engines.judging import satisfying
from ensue.language import ast
from ensue.logic.aggregation import parts_asked
from ensue.plan import Plan
from ensue.plan.choice import Choice
from ensue.plan.mode import Mode

#: What is left of matches is copied, and the columns that conditions are judged over are made meanwhile.
_COPIES = 3


def finished(
    found: ComplexEvents,
    choice: Choice,
    events: EventStream,
    mode: Mode = Mode.ENUMERATE,
    budget: Budget | None = None,
) -> ComplexEvents:
    """What a query reports of the complex events that its engine has found; positions are those of `events`.

    All complex events of one end come together: the selector chooses among them, and LIMIT counts them.
    """
    plan = choice.plan
    if plan is not None and (plan.walks(mode) or plan.lanes is not None):
        return found  # the match structure itself has told which events took part, or the matches were folded
    judged = plan is not None and plan.judged
    budget = budget or Budget()
    if judged or mode is Mode.UNION:
        budget.check(Large.JUDGED, _COPIES * found.nbytes, len(found))
    if plan is not None and plan.waits and (judged or mode is not Mode.ENUMERATE):
        found = found.in_order(np.argsort(found.end, kind="stable"))  # they came as they became known
    if plan is not None and judged:
        found = _judged(found, plan, events, budget)
    if mode is Mode.TOTALS:
        return totals_of_ends(found, choice, events)
    return merged_by_end(found) if mode is Mode.UNION else found


def totals_of_ends(found: ComplexEvents, choice: Choice, events: EventStream) -> ComplexEvents:
    """What AGGREGATE asks of the matches of each end."""
    query = choice.checked.query

    def values_at(attribute: str, positions: Positions) -> pa.Array:
        return one_chunk(events.table.column(attribute).take(integers(positions)))

    parts = parts_asked(query, choice.checked.schema)
    return folded_by_end(found, parts, values_at, one_chunk(events.time_column))


def _judged(found: ComplexEvents, plan: Plan, events: EventStream, budget: Budget) -> ComplexEvents:
    """Those for which the conditions between events hold, as far as the selector and LIMIT take them.

    The variables that only the conditions spoke of are then left out, and complex events that are the same without them
    are one.
    """
    if plan.related:
        found = chosen_of_ends(satisfying(found, plan.related, events, budget), plan.chooses_judged).only(plan.shown)
    return each_once(found).first_of_each_end(plan.limit)


def chosen_of_ends(found: ComplexEvents, selector: ast.Selector | None) -> ComplexEvents:
    """What a selector chooses among the matches of each end."""
    if selector is None or not len(found):
        return found
    from ensue.kernels.select import CHOOSE, find_best  # numba is loaded where it is used

    best = np.empty(len(found), dtype=np.bool_)
    find_best(found.end, found.offset, found.position, CHOOSE[selector], best)
    return found.in_order(np.flatnonzero(best))


def each_once(found: ComplexEvents) -> ComplexEvents:
    """The matches without those that are the same as an earlier one."""
    from ensue.kernels.select import find_distinct  # numba is loaded where it is used
    from ensue.kernels.stepping import Output

    first = np.empty(len(found), dtype=np.bool_)
    find_distinct(Output(found.start, found.end, found.offset, found.position, found.mark), first)
    return found if bool(first.all()) else found.in_order(np.flatnonzero(first))
