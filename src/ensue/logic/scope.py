"""Scope: which variables a pattern binds, which of them stand for exactly one event, and which it takes from outside.

These functions of a pattern are the definitions in section 4 of the language page. The reference evaluator, the checks
and the engines share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.language.printer import print_expression
from ensue.logic.functions import AGGREGATES
from ensue.logic.own_aggregates import OwnAggregate
from ensue.logic.own_automata import own_automaton_of

#: For each variable that a pattern binds: whether it is single there, which means that it stands for exactly one event.
Bindings = Mapping[str, bool]


@lru_cache(maxsize=10_000)
def bindings(p: ast.Pattern) -> Bindings:
    """The variables that `p` binds, each with True if it is single.

    >>> from ensue.language.parser import parse_pattern
    >>> dict(bindings(parse_pattern("A AS x ; (B AS y)+ ; A")))
    {'A': False, 'x': True, 'B': False, 'y': False}
    """
    match p:
        case ast.Type():
            return {p.name: True}
        case ast.Any() | FromTo():
            return {}
        case ast.Matches():
            own = own_automaton_of(p)
            return {} if own is None else own.bindings
        case ast.SpanOf():
            return {p.variable: False}  # a window is a set, also where it has one event
        case ast.As():
            inner = bindings(p.body)
            # If the body binds the name already, AS adds marks to it: the name is single only if both mark one event.
            single = is_atom(p.body) and inner.get(p.variable, True)
            return {**inner, p.variable: single}
        case ast.Iteration():
            inner = bindings(p.body)
            return dict.fromkeys(inner, False) if has_rounds(p) else inner
        case ast.Optional():
            return dict.fromkeys(bindings(p.body), False)
        case ast.Sequence() | ast.NotBetween():
            left, right = bindings(p.left), bindings(p.right)
            return {x: s and not (x in left and x in right) for x, s in {**left, **right}.items()}
        case ast.Or():
            left, right = bindings(p.left), bindings(p.right)
            return {x: left.get(x, False) and right.get(x, False) for x in {**left, **right}}
        case ast.And():
            # Both sides have the same marks, so a variable that is single on either side is single.
            left, right = bindings(p.left), bindings(p.right)
            return {x: left.get(x, False) or right.get(x, False) for x in {**left, **right}}
        case ast.All():
            left, right, both = bindings(p.left), bindings(p.right), joined(p)
            return {x: s and (x in both or not (x in left and x in right)) for x, s in {**left, **right}.items()}
        case ast.Project():
            inner = bindings(p.body)
            return {x: inner[x] for x in inner if x in p.variables}
        case ast.Filter() | ast.Satisfying() | ast.Within() | ast.Select():
            return bindings(p.body)
        case ast.Unless() | ast.NotAfter() | ast.NotBefore() | ast.After() | ast.Until():
            return bindings(p.body)
    raise AssertionError(p)


@lru_cache(maxsize=10_000)
def always_marked(p: ast.Pattern) -> frozenset[str]:
    """The variables that mark at least one event in every complex event of `p`."""
    match p:
        case ast.Type():
            return frozenset({p.name})
        case ast.Any() | ast.Optional() | FromTo():
            return frozenset()
        case ast.Matches():
            own = own_automaton_of(p)
            return frozenset() if own is None else own.always_marked
        case ast.SpanOf():
            return frozenset({p.variable})
        case ast.As():
            inner = always_marked(p.body)
            return inner | {p.variable} if inner or is_atom(p.body) else inner
        case ast.Sequence() | ast.NotBetween() | ast.And() | ast.All():
            return always_marked(p.left) | always_marked(p.right)
        case ast.Or():
            return always_marked(p.left) & always_marked(p.right)
        case ast.Project():
            return always_marked(p.body) & set(p.variables)
        case ast.Iteration() | ast.Filter() | ast.Satisfying() | ast.Within() | ast.Select():
            return always_marked(p.body)
        case ast.Unless() | ast.NotAfter() | ast.NotBefore() | ast.After() | ast.Until():
            return always_marked(p.body)
    raise AssertionError(p)


@lru_cache(maxsize=10_000)
def named(p: ast.Pattern) -> frozenset[str]:
    """The variables that `AS` binds in `p`: the names of types are variables that it does not bind."""
    match p:
        case ast.SpanOf():
            return frozenset({p.variable})
        case ast.Matches():
            return frozenset(bindings(p))
        case ast.As():
            return named(p.body) | {p.variable}
        case ast.Project():
            return named(p.body) & frozenset(p.variables)
        case ast.NotBetween():
            return named(p.left) | named(p.right)
        case ast.Unless() | ast.NotAfter() | ast.NotBefore() | ast.After() | ast.Until():
            return named(p.body)
    return frozenset[str]().union(*(named(part) for part in ast.children(p) if isinstance(part, ast.Pattern)))


def named_twice(p: ast.Pattern) -> list[str]:
    """The variables that `AS` binds on both sides of a sequence, `AND` or `ALL`, as a *safe* formula never does.

    What an iteration binds does not count (Grez, section 5.1). In the thesis a variable stands for one event, so that a
    formula which is not safe matches nothing; here such a variable is a set, except where `AND` and `ALL` join it.
    """
    found: set[str] = set()
    for q in ast.walk(p):
        if isinstance(q, ast.Sequence | ast.NotBetween | ast.And | ast.All):
            found |= _named_once(q.left) & _named_once(q.right)
    return sorted(found)


def _named_once(p: ast.Pattern) -> frozenset[str]:
    """The variables that `AS` binds outside of iterations."""
    if isinstance(p, ast.Iteration) and has_rounds(p):
        return frozenset()
    own = frozenset({p.variable}) if isinstance(p, ast.As | ast.SpanOf) else frozenset[str]()
    inside = [q for q in ast.children(p) if isinstance(q, ast.Pattern) and q is not getattr(p, "absent", None)]
    return own.union(*map(_named_once, inside))


def joined(p: ast.All) -> frozenset[str]:
    """The variables that must mark the same event on both sides of `ALL`: single ones that `AS` names on both."""
    return singles(p.left) & singles(p.right) & named(p.left) & named(p.right)


def singles(p: ast.Pattern) -> frozenset[str]:
    """The variables that stand for exactly one event in every complex event of `p`."""
    return frozenset(x for x, single in bindings(p).items() if single)


@lru_cache(maxsize=10_000)
def is_atom(p: ast.Pattern) -> bool:
    """Whether every match of `p` is one event: then `p AS x` marks that event, even if `p` is ANY."""
    match p:
        case ast.Type() | ast.Any() | ast.Satisfying():
            return True
        case ast.As() | ast.Filter() | ast.Within() | ast.Select():
            return is_atom(p.body)
        case ast.Unless() | ast.NotAfter() | ast.NotBefore() | ast.After() | ast.Until():
            return is_atom(p.body)
        case ast.Or() | ast.And():
            return is_atom(p.left) and is_atom(p.right)
        case ast.Iteration():
            return not has_rounds(p) and is_atom(p.body)
    return False


def has_rounds(p: ast.Iteration) -> bool:
    """Whether the iteration can have more than one round: `p{1}` means just `p`."""
    return not p.low == p.high == 1


@lru_cache(maxsize=10_000)
def free(p: ast.Pattern) -> frozenset[str]:
    """The variables that filters inside `p` take from a pattern around `p`."""
    return _needed(p) - captured(p)


@lru_cache(maxsize=10_000)
def captured(p: ast.Pattern) -> frozenset[str]:
    """The variables that `p` provides to filters inside it: they are single in `p` and free in a part of it."""
    return _needed(p) & singles(p)


def _needed(p: ast.Pattern) -> frozenset[str]:
    """The variables that the parts of `p`, or its own condition, take from `p` or from outside it."""
    needed: frozenset[str] = frozenset()
    for part, given in parts(p):
        needed |= free(part) - given
    if isinstance(p, ast.Filter):
        needed |= (_used(p.condition) | last_of_names(p.condition) | running_names(p.condition)) - bindings(
            p.body
        ).keys()
    if isinstance(p, ast.Iteration) and has_rounds(p):
        needed -= {last_of(y) for y in bindings(p.body)}
        needed -= {running_name(r) for r in ast.find(p.body, ast.Running) if _rounds_of(r, p)}
    return needed


def passed_to_next_round(p: ast.Iteration) -> frozenset[str]:
    """The variables `y` whose event is passed from each round to the next, because the body uses `LASTOF(y)`."""
    return frozenset(y for y in singles(p.body) if last_of(y) in free(p.body)) if has_rounds(p) else frozenset()


def running_in_rounds(p: ast.Iteration) -> dict[str, str]:
    """The internal names of the `RUNNING` aggregates over the rounds of this iteration, each with its variable.

    >>> from ensue.language.parser import parse_pattern
    >>> running_in_rounds(parse_pattern("(A AS x ; (B AS y FILTER RUNNING sum(x.v) < y.v))+"))
    {'\\x00RUNNING sum(x.v)': 'x'}
    """
    if not has_rounds(p):
        return {}
    needed = free(p.body)
    found = {running_name(r): _rounds_of(r, p) for r in ast.find(p.body, ast.Running) if running_name(r) in needed}
    return {name: min(variables) for name, variables in sorted(found.items()) if variables}


def _rounds_of(r: ast.Running, p: ast.Iteration) -> frozenset[str]:
    """The variables of the aggregate that the rounds of the iteration bind; a checked query has at most one."""
    return aggregated_in(r.aggregate) & bindings(p.body).keys()


def parts(p: ast.Pattern) -> Iterator[tuple[ast.Pattern, frozenset[str]]]:
    """The patterns directly inside `p`, each with the variables that `p` provides to that part only.

    The absent pattern of UNLESS and of NOT may use the single variables of the patterns around it.
    """
    match p:
        case ast.Unless() | ast.NotAfter() | ast.NotBefore():
            yield p.body, frozenset()
            yield p.absent, singles(p)
        case ast.NotBetween():
            yield p.left, frozenset()
            yield p.right, frozenset()
            yield p.absent, singles(p)
        case ast.Iteration(absent=ast.Pattern() as absent):
            yield p.body, frozenset()
            yield absent, singles(p.body)
        case _:
            for part in ast.children(p):
                if isinstance(part, ast.Pattern):
                    yield part, frozenset()


def nullable(p: ast.Pattern) -> bool:
    """Whether a sequence around `p` may skip it."""
    if isinstance(p, ast.Sequence | ast.NotBetween):
        return nullable(p.left) and nullable(p.right)
    return isinstance(p, ast.Optional)


# ---------------------------------------------------------------- variables of expressions


def last_of(variable: str) -> str:
    """The name of the internal variable for `LASTOF(y)`, which a filter takes from the iteration around it."""
    return f"\0LASTOF({variable})"


def last_of_names(e: ast.Expression) -> frozenset[str]:
    """The events of previous rounds that an expression uses, as the names that `last_of` gives them."""
    return frozenset(last_of(n.variable) for n in ast.find(e, ast.LastOf))


def running_of(e: ast.Expression) -> list[ast.Running]:
    """The `RUNNING` aggregates in an expression."""
    return list(ast.find(e, ast.Running))


def running_name(r: ast.Running) -> str:
    """The name of the internal variable for the events of earlier rounds that a `RUNNING` aggregate is over."""
    return f"\0{print_expression(r)}"


def running_names(e: ast.Expression) -> frozenset[str]:
    return frozenset(map(running_name, running_of(e)))


def _used(e: ast.Expression) -> frozenset[str]:
    """The variables of which an expression uses events of this round, or of the only one."""
    return attribute_variables(e).union(*(aggregated_in(r.aggregate) for r in running_of(e)))


def attribute_variables(e: ast.Expression) -> frozenset[str]:
    """The variables that an expression uses as `x.a` or `x[g]`, also inside aggregates."""
    return frozenset(n.variable for n in ast.walk(e) if isinstance(n, ast.Attribute | ast.Each))


def variables_of(e: ast.Expression) -> frozenset[str]:
    """What a filter's expression uses: variables, and, each under an internal name, LASTOF, RUNNING and whole sets.

    A condition concerns one event at a time if and only if the result is a single variable.

    >>> from ensue.language.parser import parse_expression
    >>> sorted(variables_of(parse_expression("x.v > LASTOF(x).v")))
    ['\\x00LASTOF(x)', 'x']
    """
    whole = {name for a in aggregates_of(e) for name in aggregated_in(a)}
    return attribute_variables(e) | last_of_names(e) | running_names(e) | {f"\0all of {x}" for x in whole}


@lru_cache(maxsize=10_000)
def chosen_variables(e: ast.Expression) -> frozenset[str]:
    """The variables that an expression uses one event at a time, as `x.a` or `LASTOF(x).a`.

    A filter chooses an event from the set of each of them, so it holds if one of these sets is empty. An aggregate
    uses a whole set, so no event is chosen for it.
    """
    plain = without_aggregates(e)
    return frozenset(n.variable for n in ast.find(plain, ast.Attribute)) | last_of_names(plain)


def without_aggregates(e: ast.Expression) -> ast.Expression:
    """The expression with each aggregate replaced by a literal, which uses no variable."""
    return ast.replaced(e, lambda part: _NOTHING if is_aggregate(part) or isinstance(part, ast.Running) else None)


def is_aggregate(e: ast.Expression) -> bool:
    return isinstance(e, ast.Call) and (e.function in AGGREGATES or isinstance(e.own, OwnAggregate))


def aggregates_of(e: ast.Expression) -> list[ast.Call]:
    """The aggregates of whole sets in an expression: those that are `RUNNING` are not among them."""
    running = {id(part) for r in running_of(e) for part in ast.walk(r)}
    return [call for call in ast.find(e, ast.Call) if is_aggregate(call) and id(call) not in running]


def aggregated_in(aggregate: ast.Call) -> frozenset[str]:
    """The variables that an aggregate uses: the one whose set it runs over, also as a bare name, and single ones."""
    names = (a.name for a in aggregate.arguments if isinstance(a, ast.Name))
    return frozenset(names).union(*map(attribute_variables, aggregate.arguments))


def names_in(e: ast.Expression) -> frozenset[str]:
    """All variables that an expression names, for one event at a time or for a whole set."""
    if isinstance(e, ast.EachRound):
        return _used(e.condition).union(e.variables, {e.behind} - {""})
    return _used(e).union(*map(aggregated_in, aggregates_of(e)))


def attributes_read(expressions: Iterable[ast.Expression]) -> frozenset[str]:
    """The names of the attributes of events whose values expressions read, in this round or in the one before."""
    return frozenset(a.name for e in expressions for a in ast.walk(e) if isinstance(a, ast.Attribute | ast.LastOf))


_NOTHING = ast.Literal(None, ast.LiteralType.NULL)
