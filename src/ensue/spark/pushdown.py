"""Decides what the JVM evaluates: predicates of one event as Spark SQL, and which events can change anything at all.

Rows cross to Python slowly, so the JVM does all that it can do with exactly our meaning. Python evaluates the other
predicates, over columns that are then sent to it; the result is the same wherever a predicate is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from ensue.automata.model import UNMARKED, Transition
from ensue.automata.predicates import Guard, Predicate, Test, TypeIs, print_guard
from ensue.data.schema import Schema
from ensue.language import ast
from ensue.plan import Plan
from ensue.plan.capacity import WORD_BITS
from ensue.spark.conditions_in_sql import as_condition
from ensue.spark.frames import EventFrame


@dataclass(frozen=True)
class Pushdown:
    """What the JVM does for a plan; a column is None if the JVM does not do this for the plan."""

    bits: Mapping[Predicate, int]  # the bits of the predicates that the JVM evaluates
    word: Column | None  # the results of these predicates at an event, as one bit mask
    changing: list[Guard] | None  # at each event that can change something, one of these holds; None if any event can
    relevant: Column | None  # the same as a condition; other events need not be sent
    markable: Column | None  # whether a match can show the event; of other events, only the time is sent
    local: tuple[Predicate, ...]  # the predicates that Python evaluates
    remembered: frozenset[str]  # the columns whose values registers hold or are compared with

    @property
    def given(self) -> int:
        return sum(self.bits.values())

    @property
    def kept(self) -> str:
        """Which events are sent to Python, in words."""
        return "all" if self.changing is None else f"where {' or '.join(map(print_guard, self.changing)) or 'nothing'}"

    @property
    def local_attributes(self) -> frozenset[str]:
        """The columns that Python needs to evaluate predicates and register checks."""
        tests = [p.expression for p in self.local if isinstance(p, Test)]
        return self.remembered.union(n.name for e in tests for n in ast.find(e, ast.Name))

    @property
    def needs_type(self) -> bool:
        return any(isinstance(p, TypeIs) for p in self.local)


def push_down(plan: Plan, events: EventFrame, schema: Schema, *, items_look_back: bool) -> Pushdown:
    """The predicates that Spark SQL evaluates with our meaning, and which events and columns are therefore sent.

    If items look back, they may show any earlier event: then all events are sent, with all columns that items need.
    """
    conditions: dict[Predicate, Column] = {}
    # Machines that track earlier events have predicates of their own; then Python evaluates all predicates.
    for p in [] if plan.machines else plan.predicates:
        condition = _predicate(p, events, schema)
        if condition is not None:
            conditions[p] = condition
    told = conditions if len(plan.predicates) <= WORD_BITS else {}  # the others only say which events matter
    bits = {p: 1 << k for k, p in enumerate(plan.predicates) if p in told}
    guards = _known(_relevant(plan), conditions) if _may_prune(plan) and not items_look_back else None
    shown = _known([t.guard for t in plan.automaton.transitions if t.label != UNMARKED], conditions)
    if items_look_back:
        shown = None

    def some(predicates: Iterable[Predicate]) -> Column:
        return _some_condition(predicates, conditions, events.type_column)

    return Pushdown(
        bits=bits,
        word=_word(bits, conditions, _integer(len(plan.predicates))) if bits else None,
        changing=guards,
        relevant=None if guards is None else _any_guard(guards, conditions, some),
        markable=None if shown is None else _any_guard(shown, conditions, some),
        local=tuple(p for p in _all_predicates(plan) if p not in told),
        remembered=plan.remembered,
    )


def nothing_pushed_down(plan: Plan, *, items_look_back: bool) -> Pushdown:
    """For events that do not come from the JVM: Python evaluates all predicates."""
    local = tuple(_all_predicates(plan))
    guards = _known(_relevant(plan), local) if _may_prune(plan) and not items_look_back else None
    return Pushdown({}, None, guards, None, None, local, plan.remembered)


def _all_predicates(plan: Plan) -> list[Predicate]:
    """The predicates of the plan, and of the machines that track earlier events."""
    found = [*plan.predicates, *(p for m in plan.machines for p in m.predicates)]
    return [p for p in dict.fromkeys(found) if isinstance(p, Test | TypeIs)]


def _integer(bits: int) -> str:
    return "short" if bits < 16 else "int" if bits < 32 else "long"


# ---------------------------------------------------------------- which events matter


def _may_prune(plan: Plan) -> bool:
    """Whether events that change no run can be dropped.

    They cannot if a window counts them, PREV, a machine or a ranking reads them, or they advance time past a deadline.
    """
    looks_back = any(
        call.function == "prev"
        for p in plan.predicates
        if isinstance(p, Test)
        for call in ast.find(p.expression, ast.Call)
    )
    asks_before = plan.machines or plan.rankings
    return plan.window.events is None and plan.absence is None and not looks_back and not asks_before


def _relevant(plan: Plan) -> list[Guard] | None:
    """Guards of which one holds at every event that changes a run; None if every event may change one.

    An event changes nothing if the only transition of each open run at that event leaves the run unchanged.
    """
    guards: list[Guard] = []
    for state, transitions in plan.automaton.outgoing.items():
        staying = [t for t in transitions if _stays(t)]
        if state != 0 and not any(not t.guard for t in staying):
            opposites = _opposites([t.guard for t in staying])
            if opposites is None:
                return None
            guards += opposites
        guards += [t.guard for t in transitions if not _stays(t)]
    return list(dict.fromkeys(guards))


def _stays(t: Transition) -> bool:
    return t.source == t.target and t.label == UNMARKED


def _opposites(guards: list[Guard]) -> list[Guard] | None:
    """Guards for the events at which none of these holds; None if there is no simple form of this."""
    if len(guards) != 1:
        return None
    return [frozenset({(p, not positive)}) for p, positive in guards[0]]


def _known(guards: list[Guard] | None, conditions: Collection[Predicate]) -> list[Guard] | None:
    """The guards without the predicates that are not evaluated, as these may hold. None means every event."""
    if guards is None:
        return None
    known = [frozenset((p, positive) for p, positive in g if p in conditions) for g in guards]
    return list(dict.fromkeys(known)) if all(known) else None


def _any_guard(
    guards: list[Guard], conditions: Mapping[Predicate, Column], some: Callable[[Iterable[Predicate]], Column]
) -> Column:
    """The condition that one of the guards holds; `some` makes the condition that one of some predicates holds."""
    alone = [p for guard in guards if len(guard) == 1 for p, positive in guard if positive]
    found = [some(alone)] if alone else []
    for guard in guards:
        ordered = sorted(guard, key=lambda literal: (str(literal[0]), literal[1]))
        if len(ordered) == 1 and ordered[0][1]:
            continue
        # A predicate holds if it is TRUE; written without COALESCE, Spark can push it down to the Parquet reader.
        literals = [conditions[p] if yes else ~F.coalesce(conditions[p], F.lit(False)) for p, yes in ordered]
        found.append(reduce(Column.__and__, literals))
    return reduce(Column.__or__, found) if found else F.lit(False)


def _some_condition(
    predicates: Iterable[Predicate], conditions: Mapping[Predicate, Column], type_column: Column
) -> Column:
    """The condition that one of the predicates holds; all types become one IN."""
    names = [p.name for p in predicates if isinstance(p, TypeIs)]
    others = [conditions[p] for p in predicates if not isinstance(p, TypeIs)]
    return reduce(Column.__or__, [type_column.isin(names), *others] if names else others)


def _word(bits: Mapping[Predicate, int], conditions: Mapping[Predicate, Column], integer: str) -> Column:
    """The bits of the predicates that hold. An event has one type, so all tests of types become one CASE."""
    types = [(conditions[p], bit) for p, bit in bits.items() if isinstance(p, TypeIs)]
    others = [[(conditions[p], bit)] for p, bit in bits.items() if not isinstance(p, TypeIs)]
    parts = [_first_of(cases, integer) for cases in ([types, *others] if types else others)]
    return reduce(Column.bitwiseOR, parts)


def _first_of(cases: list[tuple[Column, int]], integer: str) -> Column:
    """The number of the first condition that holds, or 0."""
    (condition, bit), *more = cases
    found = F.when(condition, F.lit(bit).cast(integer))
    for condition, bit in more:
        found = found.when(condition, F.lit(bit).cast(integer))
    return found.otherwise(F.lit(0).cast(integer))


def _predicate(p: Predicate, events: EventFrame, schema: Schema) -> Column | None:
    if isinstance(p, TypeIs):
        return events.type_column == F.lit(p.name)
    return as_condition(p.expression, schema) if isinstance(p, Test) else None
