"""`AGGREGATE`: what is folded over all matches of a group, and what is wrong with what a query asks for.

A *measure* is an aggregate over all matches, `max(sum(y.v))`. It is read from *parts*, which can be added up in any
order: of two groups of matches, the parts of both together follow from those of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from ensue.data.schema import Kind, Schema
from ensue.errors import Problem, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.check_filters import AGGREGATE, aggregate_problems, expression_problems, problem, unknown
from ensue.logic.partition_keys import key_name
from ensue.logic.scope import Bindings, aggregates_of, attribute_variables, bindings, is_aggregate
from ensue.logic.types import Typing

#: The aggregates that can be taken over all matches.
OVER_MATCHES = ("count", "sum", "avg", "min", "max")
#: The column of `GROUP BY EVERY`, and those of `GROUP BY END`.
BUCKET, END_TIME, POSITION = "end_bucket", "end_time", "position"
START, END = "start_time", "end_time"
_TIMES = (START, END)


class Over(StrEnum):
    """What a measure is taken over."""

    MATCHES = "matches"  # count(*)
    EVENTS = "events"  # sum(y.v): the pairs of a match and an event that y marks in it
    VALUES = "values"  # max(sum(y.v)): one value a match
    TIMES = "times"  # avg(end_time - start_time), min(start_time)


@dataclass(frozen=True)
class Measure:
    """An aggregate over all matches, as it is written in the items."""

    call: ast.Call
    over: Over

    @property
    def function(self) -> str:
        return self.call.function

    @property
    def argument(self) -> ast.Expression:
        return self.call.arguments[0]

    @property
    def text(self) -> str:
        return print_expression(self.call)


class Fold(StrEnum):
    """How a part is folded."""

    COUNT = "count"
    INTEGERS = "integers"
    FLOATS = "floats"
    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True)
class Part:
    """What is folded: how, and of what.

    Sums of sums are folded over events; where values that are sums of integers are compared, they are `wide`: they
    need not fit 64 bits.
    """

    fold: Fold
    over: Over
    argument: ast.Expression | None = None
    wide: bool = False

    @property
    def name(self) -> str:
        """What it is called in tables; the same for equal parts."""
        of = "" if self.argument is None else print_expression(self.argument)
        return f"{self.fold} of {self.over} {of}".rstrip()


# ---------------------------------------------------------------- measures


def measures_of(aggregation: ast.Aggregation, known: Bindings) -> tuple[Measure, ...]:
    """The aggregates over all matches in the items, each once."""
    calls = dict.fromkeys(c for item in aggregation.items for c in outer_calls(item.expression))
    return tuple(Measure(c, over_what(c, known)) for c in calls)


def outer_calls(e: ast.Expression) -> Iterator[ast.Call]:
    """The aggregates of an item that are in no other aggregate."""
    if isinstance(e, ast.Call) and (is_aggregate(e) or _is_logarithm(e)):
        yield e
        return
    for child in ast.children(e):
        if isinstance(child, ast.Expression):
            yield from outer_calls(child)


def over_what(call: ast.Call, known: Bindings) -> Over:
    """What an aggregate over all matches is taken over."""
    if len(call.arguments) != 1:
        return Over.EVENTS
    (argument,) = call.arguments
    if isinstance(argument, ast.AllMatches) or _is_logarithm(call):
        return Over.MATCHES
    if _of_times(argument, known):
        return Over.TIMES
    return Over.VALUES if aggregates_of(argument) or _of_match(argument, known) else Over.EVENTS


def _of_match(argument: ast.Expression, known: Bindings) -> bool:
    """Whether it has one value a match, since it speaks of several variables that are all single."""
    used = attribute_variables(argument)
    return len(used) > 1 and all(known.get(x, False) for x in used)


def _of_times(argument: ast.Expression, known: Bindings) -> bool:
    names = {n.name for n in ast.find(argument, ast.Name)}
    return bool(names) and names <= {*_TIMES} - known.keys() and not attribute_variables(argument)


def _is_logarithm(call: ast.Call) -> bool:
    """Whether it is `log2(count(*))`, which is known also where the count has no 64 bits."""
    inner = call.arguments[0] if call.function == "log2" and len(call.arguments) == 1 else None
    return isinstance(inner, ast.Call) and bool(inner.arguments) and isinstance(inner.arguments[0], ast.AllMatches)


def is_span(argument: ast.Expression) -> bool:
    """Whether it is `end_time - start_time`."""
    match argument:
        case ast.Binary(operator="-", left=ast.Name(name="end_time"), right=ast.Name(name="start_time")):
            return True
    return False


# ---------------------------------------------------------------- parts


def parts_of(measure: Measure, typing: Typing) -> tuple[Part, ...]:
    """What a measure is read from: for an average the sum and the number of its values.

    A sum of counts comes with the number of matches, since it is NULL where there are none.
    """
    if measure.function == "log2" or measure.over is Over.MATCHES:
        return (COUNT,)
    over, argument = _flat(measure)
    counting = Part(Fold.COUNT, over, argument)
    if measure.function == "count":
        return (COUNT if over is Over.TIMES or _counts(argument) else counting,)
    if measure.function in ("min", "max"):
        fold = Fold.LEAST if measure.function == "min" else Fold.GREATEST
        return (Part(fold, over, argument, wide=_is_sum_of_integers(argument, typing)),)
    sum_ = _sum(over, argument, typing)
    if measure.function == "sum":
        return (sum_, COUNT) if _counts(argument) else (sum_,)
    if over is Over.TIMES or _counts(argument):
        counting = COUNT  # there is one in each match
    return sum_, counting


def _flat(measure: Measure) -> tuple[Over, ast.Expression]:
    """The least of the least values of each match is the least of all."""
    inner = measure.argument
    if measure.function in ("min", "max") and isinstance(inner, ast.Call) and inner.function == measure.function:
        return Over.EVENTS, inner.arguments[0]
    return measure.over, inner


#: The number of matches, which every aggregation has.
COUNT = Part(Fold.COUNT, Over.MATCHES)


def _sum(over: Over, argument: ast.Expression, typing: Typing) -> Part:
    """The part that is a sum; a sum of sums, or of counts, is one over the events themselves."""
    if _counts(argument):
        assert isinstance(argument, ast.Call)
        return Part(Fold.COUNT, Over.EVENTS, argument.arguments[0])
    if isinstance(argument, ast.Call) and argument.function == "sum":
        over, argument = Over.EVENTS, argument.arguments[0]
    whole = over is Over.TIMES or _kind(argument, typing) is Kind.INTEGER
    return Part(Fold.INTEGERS if whole else Fold.FLOATS, over, argument)


def _counts(argument: ast.Expression) -> bool:
    """Whether it is `count(y)`, or `count(y.v)`: never NULL."""
    return isinstance(argument, ast.Call) and argument.function == "count"


def _is_sum_of_integers(argument: ast.Expression, typing: Typing) -> bool:
    summed = isinstance(argument, ast.Call) and argument.function == "sum"
    return summed and _kind(argument, typing) is Kind.INTEGER


def _kind(e: ast.Expression, typing: Typing) -> Kind | None:
    found = None if isinstance(e, ast.Name) else typing.infer(e)
    return None if found is None else found.kind


def parts_asked(query: ast.Query, schema: Schema | None) -> tuple[Part, ...]:
    """The parts that the measures of a query are read from, each once."""
    typing = Typing(schema)
    measures = measures_of_query(query)
    return tuple(dict.fromkeys(p for m in measures for p in parts_of(m, typing)))


def measures_of_query(query: ast.Query) -> tuple[Measure, ...]:
    """The measures of the query's items, each once."""
    return () if query.aggregation is None else measures_of(query.aggregation, bindings(query.pattern))


def type_of(measure: Measure, schema: Schema | None, times: pa.DataType) -> pa.DataType:
    """The type of what a measure comes to, where times are of this type."""
    if measure.function == "log2":
        return pa.float64()
    if measure.function == "count":
        return pa.int64()
    if measure.over is not Over.TIMES:
        found = Typing(schema).infer(measure.call)
        return pa.null() if found is None else found.arrow
    if not is_span(measure.argument):
        return times
    if pa.types.is_integer(times):
        return pa.float64() if measure.function == "avg" else pa.int64()
    return pa.duration("ns" if measure.function == "avg" else unit_of(times))


def unit_of(times: pa.DataType) -> str:
    """The unit of the difference of two such times."""
    if pa.types.is_date(times):
        return "ms" if pa.types.is_date64(times) else "s"
    return str(times.unit)


# ---------------------------------------------------------------- columns


def group_columns(query: ast.Query) -> list[str]:
    """The columns that say which group a row is of."""
    aggregation = query.aggregation
    assert aggregation is not None
    if aggregation.per_end:
        return [*map(key_name, query.partition), END_TIME, POSITION]
    return [*(k.name for k in aggregation.keys), *([BUCKET] if aggregation.every is not None else [])]


def items_of(query: ast.Query) -> tuple[ast.Item, ...]:
    """What is said of matches: the items of SELECT, or those of AGGREGATE."""
    return (query.items or ()) if query.aggregation is None else query.aggregation.items


def refuse_aggregation(query: ast.Query, text: str, why: str, hint: str) -> None:
    """Refuses AGGREGATE where each match is told by itself; raises the QueryError."""
    if query.aggregation is not None:
        where = query.places.get("items", query.span)
        raise QueryError(text, [Problem(ProblemKind.UNSUPPORTED, f"AGGREGATE cannot be used here: {why}", where, hint)])


# ---------------------------------------------------------------- problems


def aggregation_problems(query: ast.Query, known: Bindings, typing: Typing) -> Iterator[Problem]:
    """What is wrong with the items and the groups of AGGREGATE."""
    aggregation = query.aggregation
    if aggregation is None:
        return
    for item in aggregation.items:
        yield from _item_problems(item, known)
        typing.infer(ast.replaced(item.expression, lambda e: _without_times(e, known)))
    yield from _group_problems(query, aggregation)
    if query.limit is not None:
        hint = "leave LIMIT out: take the first rows of the result"
        yield problem(query.places.get("LIMIT", query.span), "LIMIT takes some matches, and AGGREGATE takes all", hint)
    if query.order:
        hint = "leave ORDER BY out: sort the rows of the result"
        yield problem(query.order[0], "ORDER BY sorts matches, and AGGREGATE gives rows of groups", hint)
    taken = set(group_columns(query))
    for item in aggregation.items:
        if item.alias in taken:
            yield problem(
                item, f"two columns of the result would be named '{item.alias}'", "give it another name with AS"
            )
        taken.add(item.alias or "")


def _item_problems(item: ast.Item, known: Bindings) -> Iterator[Problem]:
    e = item.expression
    if item.alias is None:
        yield problem(item, "an item of AGGREGATE needs a name", f"write {print_expression(e)} AS name")
    calls = list(outer_calls(e))
    if not calls:
        inside = isinstance(e, ast.Attribute | ast.Name)
        hint = f"write min({print_expression(e)}), max(...), or count(*) for the number of matches" if inside else None
        yield problem(item, "an item of AGGREGATE is made of aggregates over all matches", hint)
        return
    inside_calls = {id(n) for c in calls for n in ast.walk(c)}
    for n in ast.walk(e):
        if id(n) not in inside_calls and isinstance(n, ast.Attribute | ast.Name | ast.Each | ast.LastOf | ast.Running):
            text = print_expression(n)
            hint = f"take an aggregate of it: min({text}), max({text}), ..."
            yield problem(n, f"{text} is of one match, and AGGREGATE gives one row for all matches of a group", hint)
    for call in calls:
        if over_what(call, known) is Over.TIMES and call is not e:
            yield problem(
                call, f"{print_expression(call)} is an item of its own", "give it a name, and compute with the result"
            )
        yield from _measure_problems(call, known)


def _measure_problems(call: ast.Call, known: Bindings) -> Iterator[Problem]:
    if len(call.arguments) != 1 or _is_logarithm(call):
        return
    (argument,) = call.arguments
    if call.function not in OVER_MATCHES:
        text = print_expression(call)
        of_match = f"inside one of these it is of each match: avg({text})"
        hint = None if call.function == "collect" else of_match  # no list is folded
        yield problem(call, f"AGGREGATE takes {listed(OVER_MATCHES)} over all matches, and not {call.shown}", hint)
        return
    if isinstance(argument, ast.AllMatches):
        return
    if _of_times(argument, known):
        yield from _time_problems(call, argument)
    elif isinstance(argument, ast.Name):
        yield from aggregate_problems(call, dict.fromkeys(known, False))
    elif any(True for _ in aggregates_of(argument)):
        yield from _of_each_match(argument, known)
    else:
        yield from expression_problems(argument, AGGREGATE)
        used = attribute_variables(argument)
        for x in sorted(used - known.keys()):
            yield unknown(argument, x, list(known))
        sets = sorted(x for x in used if not known.get(x, True))
        if len(sets) > 1:
            yield problem(call, f"an aggregate runs over one set of events, not over {listed(sets)}")
        if not used:
            yield problem(call, f"{call.shown} needs an attribute of a variable to aggregate", "as in sum(y.v)")


def _time_problems(call: ast.Call, argument: ast.Expression) -> Iterator[Problem]:
    if not is_span(argument) and not isinstance(argument, ast.Name):
        hint = "write end_time - start_time, start_time or end_time"
        yield problem(argument, "the times of a match are compared in one way only", hint)
    elif call.function in ("sum", "avg") and not is_span(argument):
        hint = f"write min({print_expression(argument)}), or {call.function}(end_time - start_time)"
        yield problem(call, f"{call.function} takes no points in time", hint)


def _of_each_match(e: ast.Expression, known: Bindings) -> Iterator[Problem]:
    """The problems of an expression of each match, in which there are aggregates."""
    if isinstance(e, ast.Call) and is_aggregate(e):
        inner = [a for argument in e.arguments for a in aggregates_of(argument)]
        for a in inner:
            hint = "the outer aggregate is over all matches, the inner one over the events of each: max(sum(y.v))"
            yield problem(a, "an aggregate of an aggregate of an aggregate has no meaning here", hint)
        if not inner and any(isinstance(a, ast.AllMatches) for a in e.arguments):
            yield problem(e, "count(*) is over all matches, so it cannot be inside another aggregate")
        elif not inner:
            yield from aggregate_problems(e, known)
        return
    if isinstance(e, ast.Attribute):
        if e.variable not in known:
            yield unknown(e, e.variable, list(known))
        elif not known[e.variable]:
            text = print_expression(e)
            message = f"'{e.variable}' stands for a set of events here, so {text} is not a single value"
            yield problem(e, message, f"take an aggregate of each match: first({text}), max({text}), ...")
    if isinstance(e, ast.Each | ast.Name | ast.LastOf | ast.Running):
        yield from expression_problems(e, AGGREGATE)
        return
    for child in ast.children(e):
        if isinstance(child, ast.Expression):
            yield from _of_each_match(child, known)


def _without_times(e: ast.Expression, known: Bindings) -> ast.Expression | None:
    """For types: what speaks of times has types of its own, and the logarithm is none of the functions."""
    if isinstance(e, ast.Call) and _is_logarithm(e):
        return ast.Literal(0.0, ast.LiteralType.FLOAT, span=e.span)
    if isinstance(e, ast.Call) and is_aggregate(e) and over_what(e, known) is Over.TIMES:
        return ast.Literal(None, ast.LiteralType.NULL, span=e.span)
    return None


def _group_problems(query: ast.Query, aggregation: ast.Aggregation) -> Iterator[Problem]:
    keys = [key_name(k) for k in query.partition]
    for i, key in enumerate(aggregation.keys):
        if key.name not in keys:
            hint = did_you_mean(key.name, keys) or (
                f"the keys are {listed(keys)}" if keys else f"add PARTITION BY {key.name}"
            )
            yield problem(
                key, f"'{key.name}' is no key of PARTITION BY, so one match may have several", hint, name=True
            )
        if key.name in [k.name for k in aggregation.keys[:i]]:
            yield problem(key, f"'{key.name}' appears twice in GROUP BY")
    own = {BUCKET} if aggregation.every is not None else set()
    for name in keys if aggregation.per_end else ():
        if name in (END_TIME, POSITION):
            own.add(name)
    for column in query.partition:
        name = key_name(column)
        if name in own:
            hint = f"give it another name: PARTITION BY {name} AS other"
            yield problem(column, f"the partition column '{name}' is also a column of the result", hint)
