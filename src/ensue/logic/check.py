"""The checks of a query: every problem in one report, each with its place and a hint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ensue.errors import Problem, ProblemKind, QueryError, Span, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_expression, print_interval, print_name
from ensue.logic.outputs import Output, outputs
from ensue.logic.scope import (
    Bindings,
    aggregated_in,
    aggregates_of,
    bindings,
    free,
    has_rounds,
    is_aggregate,
    named_in,
    parts,
    singles,
    without_aggregates,
)
from ensue.logic.types import Typing
from ensue.schema import Kind, Schema


@dataclass(frozen=True)
class Checked:
    """A query that passed the checks, with the columns it gives. The stages after this one take no other."""

    text: str
    query: ast.Query
    outputs: tuple[Output, ...]
    schema: Schema | None


def check(query: ast.Query, text: str, schema: Schema | None = None) -> Checked:
    """The checked query; raises one QueryError with all problems found.

    >>> from ensue.language.parser import parse_query
    >>> text = "SELECT z FROM S WHERE A AS x ; (B AS y)+ FILTER x.v > sum(x.v)"
    >>> check(parse_query(text), text)
    Traceback (most recent call last):
    ensue.errors.QueryError: error: unknown variable 'z'
      line 1, column 8
        SELECT z FROM S WHERE A AS x ; (B AS y)+ FILTER x.v > sum(x.v)
               ^
      hint: the variables are A, x, B, y
    error: 'x' stands for one event, so there is nothing to aggregate
      line 1, column 55
        SELECT z FROM S WHERE A AS x ; (B AS y)+ FILTER x.v > sum(x.v)
                                                              ^^^^^^^^
      hint: write x.v
    """
    typing = Typing(schema)
    problems = [
        *_shape_problems(query),
        *_scope_problems(query.pattern),
        *_item_problems(query),
        *_clause_problems(query, schema),
    ]
    for node in ast.find(query.pattern, ast.Filter):
        typing.condition(node.condition)
    for item in query.items or ():
        if not isinstance(item.expression, ast.Name):
            typing.infer(item.expression)
    columns = outputs(query, Typing(schema))
    problems += [*typing.problems, *_duplicate_columns(query, columns)]
    if problems:
        raise QueryError(text, list(dict.fromkeys(problems)))
    return Checked(text, query, columns, schema)


def _problem(where: ast.Node | Span, message: str, hint: str | None = None, *, name: bool = False) -> Problem:
    span = where if isinstance(where, Span) else where.span
    return Problem(ProblemKind.NAME if name else ProblemKind.SCOPE, message, span, hint)


def _unknown(where: ast.Node | Span, name: str, known: list[str]) -> Problem:
    hint = did_you_mean(name, known) or f"the variables are {listed(known)}"
    return _problem(where, f"unknown variable '{name}'", hint, name=True)


# ---------------------------------------------------------------- shape: `?`, intervals, projections, selectors


def _shape_problems(query: ast.Query) -> Iterator[Problem]:
    yield from _optional_problems(query.pattern)
    yield from _deadline_problems(query.pattern)
    for node in ast.walk(query.pattern):
        match node:
            case ast.Interval() if node.is_empty():
                yield _problem(node, f"no time difference lies in {print_interval(node)}")
            case ast.EventCount(count=0):
                yield _problem(node, "a window of no events holds nothing")
            case ast.Project():
                yield from _projection_problems(node)
            case ast.Select() if node.selector is not ast.Selector.STRICT:
                for x in sorted(free(node.body)):
                    shown, hidden = x.removeprefix("\0"), x.startswith("\0")  # LASTOF(y) has no name of its own
                    message = f"{node.selector} takes a closed pattern, but a filter inside it speaks of '{shown}' outside"
                    hint = f"{'' if hidden else f'bind {x} inside, or '}move the filter out of {node.selector}(...)"
                    yield _problem(node, message, hint)


def _deadline_problems(root: ast.Pattern) -> Iterator[Problem]:
    """An absence with a deadline ends the whole pattern: only the query's own filters and windows are around it."""
    end = root
    while isinstance(end, ast.Filter | ast.Within):
        end = end.body
    for node in ast.find(root, ast.NotAfter):
        if node is not end:
            hint = "as in (p OR q) ; NOT r WITHIN 10 min; between two patterns NOT has no deadline: p ; NOT q ; r"
            yield _problem(node, "an absence with a deadline can stand only at the end of the whole pattern", hint)


def _optional_problems(root: ast.Pattern) -> Iterator[Problem]:
    def sided(p: ast.Node) -> tuple[ast.Node, ...]:
        return (p.left, p.right) if isinstance(p, ast.Sequence | ast.NotBetween) else ()

    placed = {id(side) for p in ast.walk(root) for side in sided(p)}
    for node in ast.find(root, ast.Optional):
        if id(node) not in placed:
            hint = "put it beside the pattern that it may precede or follow: p ; q?"
            yield _problem(node, "an optional pattern has a meaning only as a step of a sequence", hint)


def _projection_problems(node: ast.Project) -> Iterator[Problem]:
    where = Span(node.span.start, max(node.body.span.start - 1, node.span.start + 1))
    known = bindings(node.body)
    for i, x in enumerate(node.variables):
        if x not in known:
            yield _unknown(where, x, list(known))
        if x in node.variables[:i]:
            yield _problem(where, f"the variable '{x}' stands twice in PROJECT")


# ---------------------------------------------------------------- scope of filters


def _scope_problems(root: ast.Pattern) -> Iterator[Problem]:
    """Every variable of a filter is bound in the filter's own pattern or single in one around it."""
    stack: list[tuple[ast.Pattern, frozenset[str], Rounds]] = [(root, frozenset(), None)]
    while stack:
        p, outer, rounds = stack.pop()
        visible = outer | singles(p)
        stack.extend((part, visible | given, _rounds_in(p, part, rounds)) for part, given in parts(p))
        if isinstance(p, ast.Filter):
            known = {**dict.fromkeys(outer, True), **bindings(p.body)}
            yield from _condition_problems(root, p.condition, known)
            for node in ast.find(p.condition, ast.LastOf):
                yield from _last_of_problems(root, node, rounds)


#: The variables that the iterations around a filter bind in a round, each with whether it is single there, or None
#: where a pattern that must not occur lies between. None where there is no iteration.
Rounds = Mapping[str, bool | None] | None


def _rounds_in(p: ast.Pattern, part: ast.Pattern, rounds: Rounds) -> Rounds:
    """The rounds around the parts of `p`, given those around it."""
    if isinstance(p, ast.Iteration) and has_rounds(p):
        return {**(rounds or {}), **bindings(p.body)}
    if isinstance(p, ast.Unless | ast.NotBetween | ast.NotAfter) and part is p.absent and rounds is not None:
        return dict.fromkeys(rounds)
    return rounds


def _condition_problems(root: ast.Pattern, condition: ast.Expression, known: Bindings) -> Iterator[Problem]:
    yield from _expression_problems(condition, _FILTER)
    for node in ast.walk(without_aggregates(condition)):
        if isinstance(node, ast.Attribute | ast.Each) and node.variable not in known:
            yield _out_of_scope(root, node, node.variable)
    in_each = {id(a) for each in ast.find(condition, ast.Each) for a in aggregates_of(each)}
    for aggregate in (a for a in aggregates_of(condition) if id(a) not in in_each):
        unknown = sorted(aggregated_in(aggregate) - known.keys())
        yield from (_no_set(root, aggregate, x) for x in unknown)
        if not unknown:
            yield from _aggregate_problems(aggregate, known)


def _no_set(root: ast.Pattern, aggregate: ast.Call, x: str) -> Problem:
    problem = _out_of_scope(root, aggregate, x)
    if problem.kind is ProblemKind.NAME:
        return problem
    message = f"the variable '{x}' is out of scope here: an aggregate runs over a set of the filter's own pattern"
    return _problem(aggregate, message, f"move the filter behind the whole pattern that binds {x}: p ; q FILTER f")


def _last_of_problems(root: ast.Pattern, node: ast.LastOf, rounds: Rounds) -> Iterator[Problem]:
    """`LASTOF(y)` is one event: that of the round before, in the innermost iteration that binds `y`."""
    y = node.variable
    if not any(y in bindings(p) for p in ast.find(root, ast.Pattern)):
        yield _out_of_scope(root, node, y)
    elif rounds is None:
        hint = f"move the filter into the iteration that binds {y}, as in (T AS y FILTER y.v > LASTOF(y).v)+"
        yield _problem(node, f"LASTOF({y}) is the event of the round before, and this filter is in no iteration", hint)
    elif y not in rounds:
        yield _problem(node, f"no iteration around this filter binds '{y}', so there is no round before to speak of")
    elif rounds[y] is None:
        # In a first round it would fall away, and what must not occur would be more than what was written.
        yield _problem(node, f"LASTOF({y}) cannot reach out of a pattern that must not occur")
    elif not rounds[y]:
        hint = f"name one event of a round, or move the filter into the iteration that binds {y}"
        yield _problem(node, f"'{y}' stands for a set of events in a round, so LASTOF({y}) is no one event", hint)


def _out_of_scope(root: ast.Pattern, where: ast.Node, x: str) -> Problem:
    everywhere = list(dict.fromkeys(x for p in ast.find(root, ast.Pattern) for x in bindings(p)))
    if x not in everywhere:
        return _unknown(where, x, everywhere)
    reason, hint = _why_not_single(root, x)
    return _problem(where, f"the variable '{x}' is out of scope here: {reason}", hint)


def _why_not_single(root: ast.Pattern, x: str) -> tuple[str, str | None]:
    """Why a filter elsewhere cannot speak of one event `x`, although the query binds it."""

    def binds(p: ast.Pattern) -> bool:
        return x in bindings(p)

    for p in ast.walk(root):
        match p:
            case ast.Unless() | ast.NotBetween() | ast.NotAfter() if binds(p.absent) and not binds(p):
                return "it is bound in a pattern that must not occur", None
            case ast.Project() if binds(p.body) and not binds(p):
                return "PROJECT hides it", f"add {x} to the projection"
            case ast.Iteration() if binds(p.body) and not bindings(p)[x]:
                hint = "move the filter inside the iteration, where it means this round's event"
                return "it is bound in an iteration, so it stands for many events outside", hint
            case ast.Sequence() | ast.NotBetween() | ast.All() if binds(p.left) and binds(p.right):
                return "it is bound twice, so it stands for a set of events", "give the two different names"
            case ast.Or() if binds(p.left) != binds(p.right):
                return "it is bound in one branch of OR only, so it may stand for no event", None
            case ast.Optional() if binds(p.body):
                return "it is bound in an optional pattern, so it may stand for no event", None
    return "no pattern around this filter binds it to one event", None


#: Where an expression may stand, in the words of messages.
_FILTER, _EACH, _ITEMS, _AGGREGATE = "a filter", "x[...]", "SELECT", "an aggregate"


def _expression_problems(e: ast.Expression, place: str) -> Iterator[Problem]:
    """What is wrong with an expression whatever its types: bare names, look-back, aggregates out of place."""
    match e:
        case ast.Name() if place != _EACH:
            yield _problem(e, f"'{e.name}' is a bare name", f"write x.{print_name(e.name)} for an attribute of x")
        case ast.Attribute() if place == _EACH:
            text = print_expression(e)
            hint = f"write {print_name(e.name)}, or take {text} out of the brackets"
            yield _problem(e, f"inside x[...] stand bare attribute names, not {text}", hint)
        case ast.Each() if place == _EACH:
            yield _problem(e, "x[...] cannot stand inside another")
        case ast.Each() if place != _FILTER:
            yield _problem(e, f"x[...] is a filter: it cannot stand in {place}")
        case ast.LastOf() if place != _FILTER:
            yield _problem(e, f"LASTOF is for filters inside an iteration: it cannot stand in {place}")
        case ast.Call(function="prev"):
            yield from _look_back_problems(e)
        case ast.Call() if is_aggregate(e) and place == _EACH:
            hint = "write y.v > avg(y.v), which holds if it does for every event of y"
            yield _problem(e, f"the aggregate {e.function} cannot stand in x[...]", hint)
            return
        case ast.Call(function="collect") if place == _FILTER:
            yield _problem(e, "collect gives a list, so it can stand only in SELECT")
            return
        case ast.Call() if is_aggregate(e) and place == _FILTER:
            return  # told with the aggregates
    for child in ast.children(e):
        if isinstance(child, ast.Expression):
            yield from _expression_problems(child, _EACH if isinstance(e, ast.Each) else place)


def _look_back_problems(e: ast.Call) -> Iterator[Problem]:
    match e.arguments:
        case (ast.Attribute() | ast.Name(),):
            return
        case (ast.Attribute() | ast.Name(), ast.Literal(type=ast.LiteralType.INTEGER, value=int(k))) if k >= 1:
            return
    yield _problem(e, "PREV takes an attribute and a whole number of events from 1 on", "PREV(x.a) or PREV(x.a, 2)")


# ---------------------------------------------------------------- items


def _item_problems(query: ast.Query) -> Iterator[Problem]:
    known = bindings(query.pattern)
    for item in query.items or ():
        e = item.expression
        if isinstance(e, ast.Name):
            if e.name not in known:
                yield _unknown(e, e.name, list(known))
            continue
        if item.alias is None and not isinstance(e, ast.Attribute):
            hint = f"write {print_expression(e)} AS name"
            yield _problem(item, "an expression or aggregate in SELECT needs a name", hint)
        for node in ast.walk(e):
            if isinstance(node, ast.Attribute | ast.Each) and node.variable not in known:
                yield _unknown(node, node.variable, list(known))
        yield from _per_match_problems(e, known)


def _per_match_problems(e: ast.Expression, known: Bindings) -> Iterator[Problem]:
    """A per-match item is an expression over single variables and aggregates over sets."""
    if isinstance(e, ast.Call) and is_aggregate(e):
        yield from _aggregate_problems(e, known)
        return
    if isinstance(e, ast.Attribute) and not known.get(e.variable, True):
        text = print_expression(e)
        hint = f"take an aggregate: first({text}), last({text}), max({text}), collect({text}), ..."
        yield _problem(e, f"'{e.variable}' stands for a set of events here, so {text} is no single value", hint)
    if isinstance(e, ast.Each | ast.Name | ast.LastOf) or (isinstance(e, ast.Call) and e.function == "prev"):
        yield from _expression_problems(e, _ITEMS)
        if not isinstance(e, ast.Call):
            return
    for child in ast.children(e):
        if isinstance(child, ast.Expression):
            yield from _per_match_problems(child, known)


def _aggregate_problems(e: ast.Call, known: Bindings) -> Iterator[Problem]:
    if len(e.arguments) != 1:
        return  # told with the types
    argument = e.arguments[0]
    if isinstance(argument, ast.Name):
        if argument.name not in known:
            yield _unknown(argument, argument.name, list(known))
            return
        if e.function != "count":
            hint = f"write {e.function}({argument.name}.attribute)"
            yield _problem(e, f"{e.function} takes an attribute, not the whole variable '{argument.name}'", hint)
            return
        used = {argument.name}
    else:
        yield from _expression_problems(argument, _AGGREGATE)
        for inner in aggregates_of(argument):
            yield _problem(inner, "an aggregate cannot stand inside another")
        used = {x for x in named_in(argument) if x in known}
    sets = sorted(x for x in used if not known[x])
    if used and not sets:
        x = sorted(used)[0]
        hint = "count(x) of one event is 1" if e.function == "count" else f"write {print_expression(argument)}"
        yield _problem(e, f"'{x}' stands for one event, so there is nothing to aggregate", hint)
    elif len(sets) > 1:
        yield _problem(e, f"an aggregate runs over one set of events, not over {listed(sets)}")
    elif not used and not named_in(argument):
        yield _problem(e, f"{e.function} needs an attribute of a variable to aggregate")


# ---------------------------------------------------------------- clauses


def _clause_problems(query: ast.Query, schema: Schema | None) -> Iterator[Problem]:
    for i, key in enumerate(query.partition):
        if key.attribute in [k.attribute for k in query.partition[:i]]:
            yield _problem(key, f"the attribute '{key.attribute}' stands twice in PARTITION BY")
        if key.attribute in ("start_time", "end_time"):
            message = f"the result has a column '{key.attribute}' of its own, so it cannot be a partition column"
            yield _problem(key, message, "rename the column of the events")
        if schema is None:
            continue
        found = schema.attributes.get(key.attribute)
        if found is None:
            hint = did_you_mean(key.attribute, schema.attributes) or f"the attributes are {listed(schema.attributes)}"
            yield _problem(key, f"unknown attribute '{key.attribute}'", hint, name=True)
        elif found.kind is Kind.OTHER:
            yield Problem(ProblemKind.TYPE, f"cannot partition by '{key.attribute}' of type {found}", key.span)
    for i, stream in enumerate(query.streams):
        if stream in query.streams[:i]:
            where = query.places.get(f"stream {i}", query.span)
            yield _problem(where, f"the stream '{stream}' stands twice in FROM")
    if query.limit == 0:
        where = query.places.get("LIMIT", query.span)
        yield _problem(where, "LIMIT 0 reports nothing", "leave LIMIT out for all complex events")


def _duplicate_columns(query: ast.Query, columns: tuple[Output, ...]) -> Iterator[Problem]:
    taken: dict[str, str] = {k.attribute: "the partition column" for k in query.partition}
    taken |= {"start_time": "the column of the start", "end_time": "the column of the end"}
    for column in columns:
        if column.name and column.name in taken:
            hint = "name it otherwise with AS" if query.items else "list the variables, with AS for this one"
            yield _problem(column.span, f"the result has two columns '{column.name}': {taken[column.name]} too", hint)
        taken[column.name] = "another item"
