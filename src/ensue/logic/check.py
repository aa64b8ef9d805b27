"""Checks a query and reports all its problems at once, each with its place and a hint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ensue.data.schema import Schema
from ensue.errors import Problem, QueryError, Span
from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.language.printer import print_expression, print_interval
from ensue.logic.aggregation import aggregation_problems
from ensue.logic.check_automata import check_automata, register_problems
from ensue.logic.check_filters import ITEMS, aggregate_problems, expression_problems, problem, scope_problems, unknown
from ensue.logic.first import NoFirst, first
from ensue.logic.outputs import Output, outputs
from ensue.logic.partition_keys import key_name, key_problems, with_key_types
from ensue.logic.paths import field_names
from ensue.logic.position_check import position_problems
from ensue.logic.scope import Bindings, bindings, free, is_aggregate
from ensue.logic.sort_columns import SortColumn, sort_expression, sort_problems, unordered, with_sort_columns
from ensue.logic.types import Typing
from ensue.logic.until import closing_problems


@dataclass(frozen=True)
class Checked:
    """A query that passed the checks, with its result columns. The later stages accept only checked queries."""

    text: str
    query: ast.Query
    outputs: tuple[Output, ...]
    schema: Schema | None
    order: tuple[SortColumn, ...] = ()


def check(query: ast.Query, text: str, schema: Schema | None = None) -> Checked:
    """Returns the checked query; raises one QueryError with all problems found.

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
    typing = Typing(schema, bindings(query.pattern))
    problems = [
        *_shape_problems(query.pattern),
        *scope_problems(query.pattern),
        *_item_problems(query),
        *_clause_problems(query, schema),
    ]
    _type_conditions(query.pattern, typing)
    for item in query.items or ():
        if not isinstance(item.expression, ast.Name):
            typing.infer(item.expression)
    problems += aggregation_problems(query, bindings(query.pattern), typing)
    columns = outputs(query, Typing(schema))
    if query.expect is not None:
        problems += _expectation_problems(query.expect, schema)
    order: tuple[SortColumn, ...] = ()
    wrong = list(_order_problems(query, columns)) if query.aggregation is None else []
    if not wrong and query.aggregation is None:
        columns, order = with_sort_columns(query, columns, typing)
        wrong = list(unordered(query, order, columns))
    problems += [*wrong, *typing.problems]
    problems += _duplicate_columns(query, columns) if query.aggregation is None else []
    problems += register_problems(query)
    if problems:
        raise QueryError(text, list(dict.fromkeys(problems)))
    check_automata(query, schema)
    known = None if schema is None else with_key_types(query, schema)
    return Checked(text, query, columns, known, order)


def _type_conditions(p: ast.Pattern, typing: Typing) -> None:
    for node in ast.walk(p):
        if isinstance(node, ast.Filter | ast.Satisfying):
            typing.condition(node.condition)


# ---------------------------------------------------------------- shape: `?`, intervals, projections, selectors


def _shape_problems(pattern: ast.Pattern, *, of_stream: bool = False) -> Iterator[Problem]:
    """The problems of a pattern; one `of_stream` says what a whole stream is, so it may have no event."""
    yield from _optional_problems(pattern, _alternatives(pattern) if of_stream else [])
    yield from _absence_problems(pattern)
    yield from _next_problems(pattern)
    yield from _past_problems(pattern)
    yield from position_problems(pattern)
    for node in ast.walk(pattern):
        match node:
            case ast.Interval() if node.is_empty():
                yield problem(node, f"the interval {print_interval(node)} contains no time difference")
            case ast.EventCount(count=0):
                yield problem(node, "a window of 0 events contains no match")
            case ast.Project():
                yield from _projection_problems(node)
            case ast.Select() if node.selector is not ast.Selector.STRICT:
                for x in sorted(free(node.body)):
                    shown, hidden = x.removeprefix("\0"), x.startswith("\0")  # LASTOF(y) has no name of its own
                    message = (
                        f"{node.selector} takes a closed pattern, but a filter inside it uses '{shown}' from outside"
                    )
                    hint = f"{'' if hidden else f'bind {x} inside, or '}move the filter out of {node.selector}(...)"
                    yield problem(node, message, hint)


def _absence_problems(root: ast.Pattern) -> Iterator[Problem]:
    """An absence with a deadline must begin or end the whole pattern; only filters and windows may enclose it."""
    whole = _inside_filters(root)
    inner = _inside_filters(whole.body) if isinstance(whole, ast.NotBefore) else whole
    for node in ast.walk(root):
        if isinstance(node, ast.NotAfter) and node is not inner:
            hint = "as in (p OR q) ; NOT r WITHIN 10 min; between two patterns NOT has no deadline: p ; NOT q ; r"
            yield problem(node, "an absence with a deadline is allowed only at the end of the whole pattern", hint)
        if isinstance(node, ast.NotBefore) and node is not whole:
            hint = "as in NOT r WITHIN 10 min ; (p OR q); between two patterns NOT has no deadline: p ; NOT q ; r"
            message = "an absence with a deadline before a pattern is allowed only at the front of the whole pattern"
            yield problem(node, message, hint)


def _inside_filters(p: ast.Pattern) -> ast.Pattern:
    """The pattern inside the filters and windows around it, and inside SPAN, AFTER and UNTIL, which keep both ends."""
    while isinstance(p, ast.Filter | ast.Within | ast.SpanOf | ast.After | ast.Until):
        p = p.body
    return p


def _past_problems(root: ast.Pattern) -> Iterator[Problem]:
    """AFTER takes closed patterns: what stands before is not of the match."""
    for node in ast.find(root, ast.After):
        for side, where in (("before", node.past), ("here", node.body)):
            for x in sorted(free(where)) if where is not None else ():
                shown = x.removeprefix("\0")
                message = f"AFTER takes closed patterns, but a filter inside it uses '{shown}' from outside"
                hint = "what stands before a window cannot use its events" if side == "before" else None
                yield problem(where or node, message, hint or "move the filter out of AFTER: (p AFTER q) FILTER f")


def _next_problems(root: ast.Pattern) -> Iterator[Problem]:
    """What stands behind `->` has events that it can start with."""
    for node in ast.walk(root):
        if isinstance(node, ast.Sequence | ast.Iteration) and node.link is ast.Link.NEXT:
            following = node.right if isinstance(node, ast.Sequence) else node.body
            try:
                first(following)
            except NoFirst as e:
                where = e.part if e.part.span != ast.NOWHERE else node
                message = f"-> goes on with the next event that a pattern can start with, and {_named(e.part)} has none"
                if e.variable is not None:
                    why = "does not stand for one event outside of it"
                    message = f"what can come next depends on '{e.variable}', which {why}"
                hint = "put ; instead of ->, or say which events must not lie between: p ; NOT q ; r"
                yield problem(where, message, hint)


def _named(p: ast.Pattern) -> str:
    """What an operator is called in a message."""
    match p:
        case ast.Select():
            return f"{p.selector}(...)"
        case ast.SpanOf():
            return "SPAN(...)"
        case FromTo():
            return "a formula"
        case ast.NotAfter() | ast.NotBefore():
            return "an absence with a deadline"
        case ast.Matches():
            return f"MATCHES {p.name}"
    return type(p).__name__.upper()


def _optional_problems(root: ast.Pattern, allowed: list[ast.Pattern]) -> Iterator[Problem]:
    def sided(p: ast.Node) -> tuple[ast.Node, ...]:
        return (p.left, p.right) if isinstance(p, ast.Sequence | ast.NotBetween) else ()

    placed = {id(side) for p in ast.walk(root) for side in sided(p)} | set(map(id, allowed))
    placed |= {id(p.past) for p in ast.find(root, ast.After)}
    # A window has one event or more: SPAN takes of `p*` what has some.
    placed |= {id(side) for p in ast.find(root, ast.SpanOf) for side in _alternatives(p.body)}
    for node in ast.find(root, ast.Optional):
        if id(node) not in placed:
            hint = "put it beside the pattern that it may precede or follow: p ; q?"
            yield problem(node, "an optional pattern is allowed only as a step of a sequence", hint)


def _alternatives(p: ast.Pattern) -> list[ast.Pattern]:
    """The sides of an OR, each without the AFTER and the UNTIL around it."""
    while isinstance(p, ast.After | ast.Until):
        p = p.body
    return [*_alternatives(p.left), *_alternatives(p.right)] if isinstance(p, ast.Or) else [p]


def _projection_problems(node: ast.Project) -> Iterator[Problem]:
    where = Span(node.span.start, max(node.body.span.start - 1, node.span.start + 1))
    known = bindings(node.body)
    for i, x in enumerate(node.variables):
        if x not in known:
            yield unknown(where, x, list(known))
        if x in node.variables[:i]:
            yield problem(where, f"the variable '{x}' appears twice in PROJECT")


# ---------------------------------------------------------------- items


def _item_problems(query: ast.Query) -> Iterator[Problem]:
    known = bindings(query.pattern)
    for item in query.items or ():
        e = item.expression
        if isinstance(e, ast.Name):
            if e.name not in known:
                yield unknown(e, e.name, list(known))
            continue
        of_matches = any(True for _ in ast.find(e, ast.AllMatches))  # it is told below what is meant
        if item.alias is None and field_names(e) is None and not of_matches:
            hint = f"write {print_expression(e)} AS name"
            yield problem(item, "an expression or aggregate in SELECT needs a name", hint)
        for node in ast.walk(e):
            if isinstance(node, ast.Attribute | ast.Each) and node.variable not in known:
                yield unknown(node, node.variable, list(known))
        yield from _per_match_problems(e, known)


def _per_match_problems(e: ast.Expression, known: Bindings) -> Iterator[Problem]:
    """A per-match item must be an expression over single variables and over aggregates of sets."""
    if isinstance(e, ast.Call) and is_aggregate(e):
        yield from aggregate_problems(e, known)
        return
    if isinstance(e, ast.Attribute) and not known.get(e.variable, True):
        text = print_expression(e)
        hint = f"take an aggregate: first({text}), last({text}), max({text}), collect({text}), ..."
        yield problem(e, f"'{e.variable}' stands for a set of events here, so {text} is not a single value", hint)
    if isinstance(e, ast.Each | ast.Name | ast.LastOf | ast.Running) or (
        isinstance(e, ast.Call) and e.function == "prev"
    ):
        yield from expression_problems(e, ITEMS)
        if not isinstance(e, ast.Call):
            return
    for child in ast.children(e):
        if isinstance(child, ast.Expression):
            yield from _per_match_problems(child, known)


# ---------------------------------------------------------------- clauses


def _clause_problems(query: ast.Query, schema: Schema | None) -> Iterator[Problem]:
    yield from key_problems(query, schema, bindings(query.pattern))
    yield from closing_problems(query)
    for i, stream in enumerate(query.streams):
        if stream in query.streams[:i]:
            where = query.places.get(f"stream {i}", query.span)
            yield problem(where, f"the stream '{stream}' appears twice in FROM")
    if query.limit == 0:
        where = query.places.get("LIMIT", query.span)
        yield problem(where, "LIMIT 0 reports nothing", "leave LIMIT out for all complex events")


def _order_problems(query: ast.Query, columns: tuple[Output, ...]) -> Iterator[Problem]:
    known = bindings(query.pattern)
    for key in query.order:
        e = sort_expression(key, query, columns)
        if e is not None and not isinstance(e, ast.Name):
            yield from _per_match_problems(e, known)
    yield from sort_problems(query, columns)


def _expectation_problems(expected: ast.Pattern, schema: Schema | None) -> Iterator[Problem]:
    """EXPECT takes a pattern of its own: it knows no variables of the query's."""
    yield from _shape_problems(expected, of_stream=True)
    yield from scope_problems(expected)
    for node in ast.walk(expected):
        if isinstance(node, ast.NotAfter | ast.NotBefore):
            message = "EXPECT says which events come one after another, and an absence with a deadline is about time"
            yield problem(node, message, "leave it out: what must not lie between two events is p ; NOT q ; r")
    typing = Typing(schema, bindings(expected))
    _type_conditions(expected, typing)
    yield from typing.problems


def _duplicate_columns(query: ast.Query, columns: tuple[Output, ...]) -> Iterator[Problem]:
    users: dict[str, str] = {key_name(k): "the partition column" for k in query.partition}
    users |= {"start_time": "the column of the start time", "end_time": "the column of the end time"}
    for column in columns:
        if column.name and column.name in users:
            hint = "give it another name with AS" if query.items else "list the variables, with AS for this one"
            message = f"two columns of the result would be named '{column.name}': this one and {users[column.name]}"
            yield problem(column.span, message, hint)
        users[column.name] = "another item"
