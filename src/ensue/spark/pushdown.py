"""Decides what the JVM evaluates: predicates of one event as Spark SQL, and which events can change anything at all.

Rows cross to Python slowly, so the JVM does all that it can do with exactly our meaning. Python evaluates the other
predicates, over columns that are then sent to it; the result is the same wherever a predicate is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from ensue.automata.model import UNMARKED, Transition
from ensue.automata.predicates import Guard, Predicate, Test, TypeIs, print_guard
from ensue.data.schema import Kind, Schema, timestamp_literal
from ensue.language import ast
from ensue.plan import Plan
from ensue.spark.frames import EventFrame
from ensue.spark.plain_columns import quoted


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
    bits = {p: 1 << k for k, p in enumerate(plan.predicates) if p in conditions}
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
        local=tuple(p for p in _all_predicates(plan) if p not in conditions),
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

    They cannot if a window counts them, PREV or a machine reads them, or they advance time past a deadline.
    """
    looks_back = any(
        call.function == "prev"
        for p in plan.predicates
        if isinstance(p, Test)
        for call in ast.find(p.expression, ast.Call)
    )
    return plan.window.events is None and plan.absence is None and not looks_back and not plan.machines


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


# ---------------------------------------------------------------- predicates as Spark SQL


class _NotInSql(Exception):
    """Raised if Spark SQL has no expression with the same meaning, or none that is worth the effort."""


def _predicate(p: Predicate, events: EventFrame, schema: Schema) -> Column | None:
    if isinstance(p, TypeIs):
        return events.type_column == F.lit(p.name)
    if not isinstance(p, Test):
        return None
    try:
        column, kind = _value(p.expression, schema)
    except _NotInSql:
        return None
    return column if kind is Kind.BOOLEAN else None


_COMPARE = {
    "=": Column.__eq__,
    "<>": Column.__ne__,
    "<": Column.__lt__,
    "<=": Column.__le__,
    ">": Column.__gt__,
    ">=": Column.__ge__,
}
_FLOATING = {"+": Column.__add__, "-": Column.__sub__, "*": Column.__mul__}
# NULL if the result does not fit 64 bits, or the divisor is 0.
_CHECKED = {"+": F.try_add, "-": F.try_subtract, "*": F.try_multiply, "%": F.try_mod}
_KINDS = {
    ast.LiteralType.BOOLEAN: Kind.BOOLEAN,
    ast.LiteralType.INTEGER: Kind.INTEGER,
    ast.LiteralType.FLOAT: Kind.FLOAT,
    ast.LiteralType.STRING: Kind.STRING,
}


def value_in_sql(e: ast.Expression, schema: Schema) -> Column | None:
    """The value of an expression over bare names, if Spark SQL computes it with our meaning."""
    try:
        return _value(e, schema)[0]
    except _NotInSql:
        return None


def _value(e: ast.Expression, schema: Schema) -> tuple[Column, Kind]:
    """The expression, over bare names, as a column with its kind."""
    match e:
        case ast.Literal() if e.type in _KINDS:
            kind = _KINDS[e.type]
            literal = F.lit(e.value)
            return (literal.cast("long") if kind is Kind.INTEGER else literal), kind
        case ast.Call(function="timestamp", arguments=(ast.Literal(value=str(text)),)):
            return _instant(text), Kind.TIMESTAMP
        case ast.Unary(operator="-", operand=ast.Literal(value=int() | float() as number) as literal):
            return _value(replace(literal, value=-number), schema)
        case ast.Name():
            return _column(e.name, schema)
        case ast.Unary(operator="NOT"):
            return ~_boolean(e.operand, schema), Kind.BOOLEAN
        case ast.Binary(operator="AND"):
            return _boolean(e.left, schema) & _boolean(e.right, schema), Kind.BOOLEAN
        case ast.Binary(operator="OR"):
            return _boolean(e.left, schema) | _boolean(e.right, schema), Kind.BOOLEAN
        case ast.Binary(operator=symbol) if symbol in _COMPARE:
            return _compare(symbol, _value(e.left, schema), _value(e.right, schema)), Kind.BOOLEAN
        case ast.Binary(operator=symbol) if symbol in _CHECKED or symbol == "/":
            return _arithmetic(symbol, _value(e.left, schema), _value(e.right, schema))
        case ast.IsNull():
            column, _ = _value(e.operand, schema)
            return (column.isNotNull() if e.negated else column.isNull()), Kind.BOOLEAN
        case ast.InList():
            operand = _value(e.operand, schema)
            found = [_compare("=", operand, _value(option, schema)) for option in e.options]
            return _negated(e.negated, reduce(lambda a, b: a | b, found)), Kind.BOOLEAN
        case ast.Between():
            operand = _value(e.operand, schema)
            above = _compare(">=", operand, _value(e.low, schema))
            return _negated(e.negated, above & _compare("<=", operand, _value(e.high, schema))), Kind.BOOLEAN
        case ast.Like(pattern=ast.Literal(value=str(pattern)), any_case=False) if "\\" not in pattern:
            column, kind = _value(e.operand, schema)
            if kind is Kind.STRING:
                return _negated(e.negated, column.like(pattern)), Kind.BOOLEAN
        case ast.Case():
            return _case(e, schema)
    raise _NotInSql(e)


def _case(e: ast.Case, schema: Schema) -> tuple[Column, Kind]:
    """The first branch whose condition is TRUE, and NULL where there is none; all results in one kind."""
    operand = None if e.operand is None else _value(e.operand, schema)
    results = [_value(r, schema) for r in (*e.parts[1::2], *(() if e.otherwise is None else (e.otherwise,)))]
    kinds = {kind for _, kind in results}
    if kinds == {Kind.INTEGER, Kind.FLOAT}:
        results = [(column.cast("double"), Kind.FLOAT) for column, _ in results]
    elif len(kinds) > 1:
        raise _NotInSql(e)
    conditions = [
        _boolean(c, schema) if operand is None else _compare("=", operand, _value(c, schema)) for c, _ in e.branches
    ]
    (first, kind), *more = results
    found = F.when(conditions[0], first)
    for condition, (result, _) in zip(conditions[1:], more, strict=False):
        found = found.when(condition, result)
    return (found if e.otherwise is None else found.otherwise(results[-1][0])), kind


def _column(name: str, schema: Schema) -> tuple[Column, Kind]:
    """A column as a 64-bit integer, 64-bit float, string or boolean; Python evaluates other types, such as decimals."""
    type_ = schema.attributes[name]
    column = F.col(quoted(name))
    match type_.kind:
        case Kind.INTEGER:
            return column.cast("long"), type_.kind
        case Kind.FLOAT if str(type_.arrow) in ("float", "double"):
            return column.cast("double"), type_.kind
        case Kind.STRING | Kind.BOOLEAN:
            return column, type_.kind
        case Kind.TIMESTAMP if pa.types.is_timestamp(type_.arrow) and type_.arrow.tz is not None:
            return column, type_.kind
    raise _NotInSql(name)


def _instant(text: str) -> Column:
    """The instant as Spark's timestamp, if it has a zone and is a whole number of microseconds."""
    instant = timestamp_literal(text)
    if instant is None or instant.type.tz is None or instant.type.unit != "us":
        raise _NotInSql(text)
    return F.timestamp_micros(F.lit(instant.value))


def _boolean(e: ast.Expression, schema: Schema) -> Column:
    column, kind = _value(e, schema)
    if kind is not Kind.BOOLEAN:
        raise _NotInSql(e)
    return column


def _negated(negated: bool, column: Column) -> Column:
    return ~column if negated else column


def _of_one_kind(left: tuple[Column, Kind], right: tuple[Column, Kind]) -> tuple[Column, Column, Kind]:
    """Both values in one kind: if one is a float, the other number becomes a float."""
    (a, kind_a), (b, kind_b) = left, right
    if kind_a is kind_b:
        return a, b, kind_a
    if {kind_a, kind_b} == {Kind.INTEGER, Kind.FLOAT}:
        return a.cast("double"), b.cast("double"), Kind.FLOAT
    raise _NotInSql(f"{kind_a} and {kind_b}")


def _compare(symbol: str, left: tuple[Column, Kind], right: tuple[Column, Kind]) -> Column:
    a, b, kind = _of_one_kind(left, right)
    found = _COMPARE[symbol](a, b)
    if kind is Kind.FLOAT:
        # In Spark, NaN equals itself and is greater than any number; in IEEE and here, every comparison with NaN is
        # FALSE (`<>` is TRUE). If the other side is NULL, the result stays NULL, so that it can be negated.
        nan = F.isnan(a) | F.isnan(b)
        found = (found | (nan & found.isNotNull())) if symbol == "<>" else (found & (~nan | found.isNull()))
    return found


def _arithmetic(symbol: str, left: tuple[Column, Kind], right: tuple[Column, Kind]) -> tuple[Column, Kind]:
    a, b, kind = _of_one_kind(left, right)
    if not kind.numeric:
        raise _NotInSql(symbol)
    if symbol == "/":
        a, b = a.cast("double"), b.cast("double")
        return F.when(b != F.lit(0.0), a / b), Kind.FLOAT
    if kind is Kind.FLOAT:
        if symbol not in _FLOATING:
            raise _NotInSql(symbol)
        return _FLOATING[symbol](a, b), kind
    return _CHECKED[symbol](a, b), kind
