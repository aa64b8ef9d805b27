"""Checks expressions in their context: which variables a filter may use, where aggregates and look-back are allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from ensue.errors import Problem, ProblemKind, Span, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_expression, print_name
from ensue.logic.paths import root_of
from ensue.logic.scope import (
    Bindings,
    aggregated_in,
    aggregates_of,
    attribute_variables,
    bindings,
    has_rounds,
    is_aggregate,
    parts,
    running_of,
    singles,
    without_aggregates,
)

E = TypeVar("E", bound=ast.Expression)


def problem(where: ast.Node | Span, message: str, hint: str | None = None, *, name: bool = False) -> Problem:
    """A problem of scope at this place or, with `name`, of an unknown name."""
    span = where if isinstance(where, Span) else where.span
    return Problem(ProblemKind.NAME if name else ProblemKind.SCOPE, message, span, hint)


def unknown(where: ast.Node | Span, name: str, known: list[str]) -> Problem:
    hint = did_you_mean(name, known) or f"the variables are {listed(known)}"
    return problem(where, f"unknown variable '{name}'", hint, name=True)


# ---------------------------------------------------------------- scope of filters


def scope_problems(root: ast.Pattern) -> Iterator[Problem]:
    """Every variable of a filter must be bound in the filter's own pattern or single in a pattern around it."""
    stack: list[tuple[ast.Pattern, frozenset[str], Rounds, Nested]] = [(root, frozenset(), None, ())]
    while stack:
        p, outer, rounds, nested = stack.pop()
        visible = outer | singles(p)
        for part, given in parts(p):
            stack.append((part, visible | given, _rounds_in(p, part, rounds), _nested_in(p, nested)))
        if isinstance(p, ast.Satisfying):
            yield from expression_problems(p.condition, EACH)
        if isinstance(p, ast.Filter):
            known = {**dict.fromkeys(outer, True), **bindings(p.body)}
            yield from _condition_problems(root, p.condition, known)
            for node in ast.find(p.condition, ast.LastOf):
                yield from _last_of_problems(root, node, rounds)
            for running in _outside_brackets(p.condition, running_of):
                yield from running_problems(Place(root, known, rounds, nested), running)


#: The variables that the iterations around a filter bind in a round, each with True if it is single there, or with None
#: if an absent pattern lies between the iteration and the filter. None in place of the mapping: there is no iteration.
Rounds = Mapping[str, bool | None] | None


#: The variables that each iteration around a filter binds, from the outermost inwards.
Nested = tuple[frozenset[str], ...]


def _nested_in(p: ast.Pattern, nested: Nested) -> Nested:
    in_rounds = isinstance(p, ast.Iteration) and has_rounds(p)
    return (*nested, frozenset(bindings(p.body))) if in_rounds and isinstance(p, ast.Iteration) else nested


def _rounds_in(p: ast.Pattern, part: ast.Pattern, rounds: Rounds) -> Rounds:
    """The rounds around `part`, which is directly inside `p`, given the rounds around `p`."""
    if isinstance(p, ast.Iteration) and has_rounds(p):
        return {**(rounds or {}), **bindings(p.body)}
    if isinstance(p, ast.Absence) and part is p.absent and rounds is not None:
        return dict.fromkeys(rounds)
    return rounds


def _condition_problems(root: ast.Pattern, condition: ast.Expression, known: Bindings) -> Iterator[Problem]:
    yield from expression_problems(condition, FILTER)
    for node in ast.walk(without_aggregates(condition)):
        if isinstance(node, ast.Attribute | ast.Each) and node.variable not in known:
            yield _out_of_scope(root, node, node.variable)
    for aggregate in _outside_brackets(condition, aggregates_of):
        elsewhere = sorted(aggregated_in(aggregate) - known.keys())
        yield from (_no_set(root, aggregate, x) for x in elsewhere)
        if not elsewhere:
            yield from aggregate_problems(aggregate, known)


def _outside_brackets(condition: ast.Expression, parts_of: Callable[[ast.Expression], list[E]]) -> list[E]:
    """The parts of a condition that are not in `x[...]`, where they have another scope."""
    in_each = {id(part) for each in ast.find(condition, ast.Each) for part in parts_of(each)}
    return [part for part in parts_of(condition) if id(part) not in in_each]


def _no_set(root: ast.Pattern, aggregate: ast.Call, x: str) -> Problem:
    found = _out_of_scope(root, aggregate, x)
    if found.kind is ProblemKind.NAME:
        return found
    message = f"the variable '{x}' is out of scope here: an aggregate takes a set of the filter's own pattern"
    return problem(aggregate, message, f"move the filter behind the whole pattern that binds {x}: p ; q FILTER f")


def _last_of_problems(root: ast.Pattern, node: ast.LastOf, rounds: Rounds) -> Iterator[Problem]:
    """`LASTOF(y)` must be one event: the event of the previous round, in the innermost iteration that binds `y`."""
    y = node.variable
    if not any(y in bindings(p) for p in ast.find(root, ast.Pattern)):
        yield _out_of_scope(root, node, y)
    elif rounds is None:
        hint = f"move the filter into the iteration that binds {y}, as in (T AS y FILTER y.v > LASTOF(y).v)+"
        message = f"LASTOF({y}) is the event of the previous round, but this filter is not inside an iteration"
        yield problem(node, message, hint)
    elif y not in rounds:
        yield problem(node, f"no iteration around this filter binds '{y}', so there is no previous round")
    elif rounds[y] is None:
        # In the first round the condition would hold, so more events would be forbidden than the query says.
        yield problem(node, f"LASTOF({y}) cannot reach outside a pattern that must not occur")
    elif not rounds[y]:
        hint = f"name one event of a round, or move the filter into the iteration that binds {y}"
        yield problem(node, f"'{y}' stands for a set of events in a round, so LASTOF({y}) is not a single event", hint)


# ---------------------------------------------------------------- RUNNING


class Place(NamedTuple):
    """Where a filter stands: what it sees, and the iterations around it."""

    root: ast.Pattern
    known: Bindings
    rounds: Rounds
    nested: Nested


def running_problems(place: Place, node: ast.Running) -> Iterator[Problem]:
    """A `RUNNING` aggregate is over the innermost iteration around the filter that binds a variable of it."""
    used = aggregated_in(node.aggregate)
    if not is_aggregate(node.aggregate) or not used:
        yield from aggregate_problems(node.aggregate, {}) if is_aggregate(node.aggregate) else ()
        return
    everywhere = {x for p in ast.find(place.root, ast.Pattern) for x in bindings(p)}
    strange = sorted(x for x in used if x not in everywhere)
    if strange:
        yield _out_of_scope(place.root, node.aggregate, strange[0])
        return
    over = next((used & own for own in reversed(place.nested) if used & own), frozenset[str]())
    text = print_expression(node)
    if not over:
        yield _no_rounds(place, node, text, sorted(used)[0])
        return
    (y, *others) = sorted(over)
    if others:
        yield problem(node, f"an aggregate runs over one set of events, not over {listed(sorted(over))}")
    elif place.rounds is not None and place.rounds.get(y) is None:
        yield problem(node, f"{text} cannot reach outside a pattern that must not occur")
    else:
        elsewhere = sorted(used - place.known.keys())
        yield from (_out_of_scope(place.root, node.aggregate, x) for x in elsewhere)
        if not elsewhere:
            yield from aggregate_problems(node.aggregate, {**place.known, y: False})


def _no_rounds(place: Place, node: ast.Running, text: str, x: str) -> Problem:
    if not place.nested:
        message = f"{text} is over the rounds of an iteration, but this filter is not inside one"
        hint = f"move the filter into the iteration that binds {x}, as in (T AS y FILTER RUNNING sum(y.v) < 5)+"
        return problem(node, message, hint)
    same = f"{x} is the same event in all rounds" if place.known.get(x) else None
    return problem(node, f"no iteration around this filter binds '{x}', so it has no rounds", same)


def _out_of_scope(root: ast.Pattern, where: ast.Node, x: str) -> Problem:
    everywhere = list(dict.fromkeys(x for p in ast.find(root, ast.Pattern) for x in bindings(p)))
    if x not in everywhere:
        return unknown(where, x, everywhere)
    reason, hint = _why_not_single(root, x)
    return problem(where, f"the variable '{x}' is out of scope here: {reason}", hint)


def _why_not_single(root: ast.Pattern, x: str) -> tuple[str, str | None]:
    """Why a filter elsewhere cannot use `x` as one event, although the query binds it."""

    def binds(p: ast.Pattern) -> bool:
        return x in bindings(p)

    for p in ast.walk(root):
        match p:
            case ast.Unless() | ast.NotBetween() | ast.NotAfter() | ast.NotBefore() if binds(p.absent) and not binds(p):
                return "it is bound in a pattern that must not occur", None
            case ast.After() if p.past is not None and binds(p.past) and not binds(p):
                return "it is bound in a pattern that stands before, behind AFTER", None
            case ast.Until() if p.closing is not None and binds(p.closing) and not binds(p):
                return "it is bound in what closes a window, behind UNTIL", None
            case ast.SpanOf() if binds(p.body) and not binds(p):
                return "SPAN hides it", f"the window {p.variable} has its events: first({p.variable}.a), count(...)"
            case ast.Project() if binds(p.body) and not binds(p):
                return "PROJECT hides it", f"add {x} to the projection"
            case ast.Iteration() if binds(p.body) and not bindings(p)[x]:
                hint = "move the filter inside the iteration, where it means this round's event"
                return "it is bound in an iteration, so it stands for many events outside", hint
            case ast.Sequence() | ast.NotBetween() | ast.All() if binds(p.left) and binds(p.right):
                return "it is bound twice, so it stands for a set of events", "give the two events different names"
            case ast.Or() if binds(p.left) != binds(p.right):
                return "it is bound in one branch of OR only, so it may stand for no event", None
            case ast.Optional() if binds(p.body):
                return "it is bound in an optional pattern, so it may stand for no event", None
    return "no pattern around this filter binds it to one event", None


#: The places where an expression may be, as messages name them.
FILTER, EACH, ITEMS, AGGREGATE = "a filter", "x[...]", "SELECT", "an aggregate"


def expression_problems(e: ast.Expression, place: str) -> Iterator[Problem]:
    """The problems of an expression that do not depend on types: misplaced bare names, look-back and aggregates."""
    match e:
        case ast.AllMatches():
            hint = "write count(x) for the number of events that x marks; AGGREGATE count(*) AS n counts matches"
            yield problem(e, f"count(*) is over all matches: it cannot be in {place}", hint)
        case ast.Name() if place != EACH:
            yield problem(e, f"'{e.name}' is a bare name", f"write x.{print_name(e.name)} for an attribute of x")
        case ast.Each() if place != FILTER:
            yield problem(e, f"x[...] is a filter: it cannot be in {place}")
        case ast.LastOf() if place != FILTER:
            yield problem(e, f"LASTOF is for filters inside an iteration: it cannot be in {place}")
        case ast.Running() if place != FILTER:
            yield problem(e, f"RUNNING is for filters inside an iteration: it cannot be in {place}")
            return
        case ast.Running() if not is_aggregate(e.aggregate):
            hint = "as in RUNNING sum(y.v), RUNNING count(y)"
            yield problem(e, f"RUNNING stands before an aggregate, and {e.aggregate.function} is none", hint)
            return
        case ast.Call(function="prev"):
            yield from _look_back_problems(e)
        case ast.Call() if is_aggregate(e) and place == EACH:
            hint = "write y.v > avg(y.v), which must hold for every event of y"
            yield problem(e, f"the aggregate {e.shown} cannot be in x[...]", hint)
            return
        case ast.Call(function="collect") if place == FILTER:
            yield problem(e, "collect gives a list, so it is allowed only in SELECT")
            return
        case ast.Call() if is_aggregate(e) and place == FILTER:
            return  # aggregate_problems reports on it
    for child in ast.children(e):
        if isinstance(child, ast.Expression):
            yield from expression_problems(child, EACH if isinstance(e, ast.Each) else place)


def _look_back_problems(e: ast.Call) -> Iterator[Problem]:
    match e.arguments:
        case (term,) if isinstance(root_of(term), ast.Attribute | ast.Name):
            return
        case (term, ast.Literal(type=ast.LiteralType.INTEGER, value=int(k))) if k >= 1:
            if isinstance(root_of(term), ast.Attribute | ast.Name):
                return
    yield problem(e, "PREV takes an attribute and a whole number of events, at least 1", "PREV(x.a) or PREV(x.a, 2)")


def aggregate_problems(e: ast.Call, known: Bindings) -> Iterator[Problem]:
    """An aggregate runs over the events of one set; its expression may also use single variables."""
    if len(e.arguments) != 1:
        return  # the check of types reports on it
    argument = e.arguments[0]
    if isinstance(argument, ast.AllMatches):
        yield from expression_problems(argument, "SELECT or a filter")
        return
    if isinstance(argument, ast.Name):
        if argument.name not in known:
            yield unknown(argument, argument.name, list(known))
            return
        if e.function != "count":
            attribute = ast.Attribute(argument.name, "attribute")
            hint = f"write {print_expression(replace(e, arguments=(attribute,)))}"
            yield problem(e, f"{e.shown} takes an attribute, not the whole variable '{argument.name}'", hint)
            return
        used = {argument.name}
    else:
        yield from expression_problems(argument, AGGREGATE)
        for inner in aggregates_of(argument):
            yield problem(inner, "an aggregate cannot be inside another aggregate")
        used = {x for x in attribute_variables(argument) if x in known}
    sets = sorted(x for x in used if not known[x])
    if used and not sets:
        x = sorted(used)[0]
        hint = "count(x) of one event is 1" if e.function == "count" else f"write {print_expression(argument)}"
        yield problem(e, f"'{x}' stands for one event, so there is nothing to aggregate", hint)
    elif len(sets) > 1:
        yield problem(e, f"an aggregate runs over one set of events, not over {listed(sets)}")
    elif not used and not attribute_variables(argument):
        yield problem(e, f"{e.shown} needs an attribute of a variable to aggregate")
