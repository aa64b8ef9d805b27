"""Windows by their ends: what a window is needs no mark on each of its events, if only aggregates of it are asked for.

Where every event of a match carries the same mark, the match is its first and its last event. So the marks between
are left out of the automaton, and what the query asks of the window is folded while the stream goes by
(`kernels/segments.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from ensue.automata.merging import merged
from ensue.automata.model import NO_MARKS, Automaton
from ensue.automata.predicates import predicates_of
from ensue.data.schema import Kind, Schema
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.aggregate_bounds import is_bounded
from ensue.logic.check import Checked
from ensue.logic.own_aggregates import OwnAggregate
from ensue.logic.scope import aggregates_of, attribute_variables, last_of_names, running_of, without_aggregates
from ensue.logic.types import Typing
from ensue.logic.window import looks_back
from ensue.plan.automaton_spec import NO_WINDOW
from ensue.plan.plan import Plan
from ensue.plan.spans import Folded, Spans

#: Aggregates of the event at one end of a window: nothing is folded for them.
OF_ENDS = ("first", "last")
#: Aggregates that are folded, where the types allow it.
FOLDED = ("count", "sum", "avg", "min", "max")
_ORDERED = (Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION)


#: Windows of fewer events are faster found as matches, where a bound says which of them cannot pass (measured: those of
#: 5 events 3 times, of 20 as fast).
_SHORT = 16


def by_spans(plan: Plan, checked: Checked, *, at_hand: bool = False) -> Plan | None:
    """The plan that finds the same windows by their ends; None where the query needs their events.

    With `at_hand`, all events will still be there in the end: then windows whose events are shown are found in this
    way, too, if aggregates of them are judged first.
    """
    if plan.alternatives:
        whole = by_spans(replace(plan, alternatives=()), checked, at_hand=at_hand)
        each = [found for p in plan.alternatives if (found := by_spans(p, checked, at_hand=at_hand)) is not None]
        alike = whole is not None and len(each) == len(plan.alternatives)
        return replace(whole, alternatives=tuple(each)) if whole is not None and alike else None
    marks = {t.marks for t in plan.automaton.transitions}
    plain = not (plan.automaton.registers or plan.absence) and plan.schema is not None
    # Equalities that became keys would part the events of a window otherwise than the query does.
    if len(marks) != 1 or not plain or plan.keys != tuple(k.attribute for k in checked.query.partition):
        return None
    names = next(iter(marks))
    spans = _spans_of(next(iter(names)), plan, checked, at_hand) if len(names) == 1 else None
    if spans is None:
        return None
    # Of windows with one end, each holds the shorter ones: every selector chooses the longest, which starts first.
    chooses, judged = (s and ast.Selector.NEXT for s in (plan.chooses, plan.chooses_judged))
    spans = replace(spans, count=_count(plan))
    if spans.shown and (spans.count or _SHORT) < _SHORT and all(map(is_bounded, plan.related)):
        return None  # matches that cannot pass are left out while they are listed
    automaton = _by_first_events(plan.automaton)
    return replace(plan, automaton=automaton, chooses=chooses, chooses_judged=judged, spans=spans)


def _by_first_events(automaton: Automaton) -> Automaton:
    """The automaton that marks only the event with which a run starts."""
    steps = tuple(t if t.source == 0 else t.marked(NO_MARKS) for t in automaton.transitions)
    plain = replace(automaton, transitions=steps)
    small = merged(plain)
    # Events may come with the conditions evaluated, by their numbers in the plan (`EventStream.predicate_bits`).
    alike = predicates_of(t.guard for t in small.transitions) == predicates_of(t.guard for t in plain.transitions)
    return small if alike else plain


def _count(plan: Plan) -> int | None:
    """Of how many events all windows are, if a ring can count them; windows of one event need none."""
    consumes = plan.consume is ast.Consume.ANY or (plan.consume is not ast.Consume.NONE and plan.related)
    if plan.window != NO_WINDOW or consumes:
        return None
    state, guards = 0, []
    while len(steps := plan.automaton.outgoing.get(state, [])) == 1 and state not in plan.automaton.finals:
        guards.append(steps[0].guard)
        state = steps[0].target
    alike = len(guards) > 1 and len(set(guards[1:])) == 1
    return len(guards) if alike and not steps and plan.automaton.finals == {state} else None


def _spans_of(variable: str, plan: Plan, checked: Checked, at_hand: bool) -> Spans | None:
    items = [o.expression for o in checked.outputs]
    folded = _folded_of([*items, *plan.related], variable, plan.schema)
    if folded is not None:
        return Spans(variable, folded)
    judged = _folded_of(plan.related, variable, plan.schema) if at_hand and plan.related else None
    return None if judged is None else Spans(variable, judged, shown=True)


def _folded_of(asked: Sequence[ast.Expression], variable: str, schema: Schema | None) -> tuple[Folded, ...] | None:
    """What is folded for some expressions; None where one of them needs the events."""
    if any(isinstance(e, ast.Name) for e in asked):
        return None  # its events are shown
    if any(attribute_variables(without_aggregates(e)) or running_of(e) or last_of_names(e) for e in asked):
        return None  # a condition on each of its events that no automaton checks
    folded: dict[str, Folded] = {}
    for call in _aggregates(asked):
        (argument,) = call.arguments
        if looks_back(argument):
            return None
        if call.function not in OF_ENDS:
            made = _folded(call, variable, schema)
            if made is None:
                return None
            folded[made.text] = made
    return tuple(folded.values())


def _aggregates(asked: Iterable[ast.Expression]) -> list[ast.Call]:
    return [call for e in asked for call in aggregates_of(e)]


def _folded(call: ast.Call, variable: str, schema: Schema | None) -> Folded | None:
    """How the aggregate is folded; None where no segment holds it."""
    (argument,) = call.arguments
    text = print_expression(call)
    if isinstance(argument, ast.Name):
        return Folded(text, "count", None, Kind.INTEGER)
    own = call.own if isinstance(call.own, OwnAggregate) else None
    found, used = Typing(schema).infer(argument), _types(argument, schema)
    if found is not None and own is not None:
        return Folded(text, call.function, _of_event(argument, variable), found.kind, own)
    if found is None or call.function not in FOLDED or any(map(pa.types.is_uint64, used)):
        return None  # integers in segments are of 64 bits with a sign
    if call.function in ("min", "max") and (found.kind not in _ORDERED or any(map(pa.types.is_decimal, used))):
        return None  # no integer stands for the value in its order
    return Folded(text, call.function, _of_event(argument, variable), found.kind)


def _types(argument: ast.Expression, schema: Schema | None) -> list[pa.DataType]:
    """The types of the attributes of an expression."""
    known = {} if schema is None else schema.attributes
    return [known[a.name].arrow for a in ast.find(argument, ast.Attribute) if a.name in known]


def _of_event(argument: ast.Expression, variable: str) -> ast.Expression:
    """The expression over the attributes of one event."""
    return ast.replaced(
        argument, lambda e: ast.Name(e.name) if isinstance(e, ast.Attribute) and e.variable == variable else None
    )
