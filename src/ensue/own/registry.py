"""The names of what is the user's own: for a whole program, and in the call that makes a query.

Functions and aggregates are written like the language's own, in any case; automata are named after MATCHES. What a
query was made with stays with it, whatever is registered later.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from ensue.errors import Problem, ProblemKind, QueryError, did_you_mean
from ensue.language import ast
from ensue.language.own import Draft, Own, digest_of
from ensue.language.syntax_errors import KEYWORDS, WORDS_IN_PLACE
from ensue.logic.functions import AGGREGATES, FUNCTIONS, SPECIAL
from ensue.logic.own_automata import OwnAutomaton, own_automaton_of

_registered: dict[str, Own] = {}
#: Kinds that a query calls like a function; their names have no capital letters.
CALLED = ("function", "aggregate")
#: The nodes that name something of the user's own: the field with the name, and the kinds that it may be of.
_NAMING: dict[type[ast.Node], tuple[str, tuple[str, ...]]] = {
    ast.Call: ("function", CALLED),
    ast.Matches: ("name", (OwnAutomaton.kind,)),
}
_OF_THE_LANGUAGE = frozenset((*FUNCTIONS, *AGGREGATES, *SPECIAL, "mod"))


def register(thing: Own) -> None:
    """Makes it known to all queries of the program that are made from now on; a second one of its kind replaces it."""
    name = _key(thing.name, thing.kind)
    before = _registered.get(name)
    if before is not None and before.kind != thing.kind:
        raise ValueError(f"'{name}' is the name of {_a(before.kind)} already")
    _registered[name] = thing


def check_name(name: str, kind: str) -> None:
    """Refuses a name that a query could not write, or that means something else in the language."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        raise ValueError(f"{name!r} is no name of {_a(kind)}: a letter, then letters, digits and _")
    if kind in CALLED and name.lower() in _OF_THE_LANGUAGE:
        raise ValueError(f"the language has a function '{name.lower()}': give your {kind} another name")
    if name.upper() in KEYWORDS or (kind in CALLED and name.upper() in WORDS_IN_PLACE):
        raise ValueError(f"'{name}' is a keyword of the language: give your {kind} another name")


def bound(tree: ast.Query, text: str, given: Mapping[str, Any]) -> ast.Query:
    """The tree with what its names stand for: what was given in the call goes before what is registered."""
    things = dict(_registered)
    for name, thing in given.items():
        finished = thing.finished(name) if isinstance(thing, Draft) else thing
        if not isinstance(finished, Own):
            raise TypeError(
                f"{name}=: a query takes what ensue.function(...) and its like return, not {type(thing).__name__}"
            )
        check_name(name, finished.kind)
        things[_key(name, finished.kind)] = finished
    found, problems, used = _rebuilt(tree, things)
    if problems:
        raise QueryError(text, problems)
    unused = [name for name in given if name not in used and name.lower() not in used]
    if unused:
        raise TypeError(f"{', '.join(unused)}: the query does not use this name")
    return _showing_registers(found)


def _showing_registers(tree: ast.Query) -> ast.Query:
    """The query with each item that names a field of an automaton's register as such."""
    fields = {
        f.name: f
        for node in ast.find(tree.pattern, ast.Matches)
        if (own := own_automaton_of(node)) is not None
        for f in own.shape.fields
    }
    if not fields:
        return tree

    def shown(part: ast.Expression) -> ast.Expression | None:
        known = isinstance(part, ast.Name) and part.name in fields
        return ast.InRegister(part.name, fields[part.name].type, span=part.span) if known else None  # type: ignore[attr-defined]

    items = None
    if tree.items is not None:
        items = tuple(dataclasses.replace(i, expression=ast.replaced(i.expression, shown)) for i in tree.items)
    order = tuple(dataclasses.replace(k, expression=ast.replaced(k.expression, shown)) for k in tree.order)
    return dataclasses.replace(tree, items=items, order=order)


N = TypeVar("N", bound=ast.Node)


def _rebuilt(tree: N, things: Mapping[str, Own]) -> tuple[N, list[Problem], set[str]]:
    problems: list[Problem] = []
    used: set[str] = set()

    def inner(automaton: OwnAutomaton) -> OwnAutomaton:
        """With the functions that its fences and transfers name."""
        automaton = automaton.with_values(rebuilt, automaton.digest)
        named = {c.own.digest for e in automaton.written for c in ast.find(e, ast.Call) if c.own is not None}
        return automaton.with_values(lambda e: e, digest_of(automaton.digest, *sorted(named))) if named else automaton

    def rebuilt(node: Any) -> Any:
        changes = {
            f.name: value
            for f in dataclasses.fields(node)
            if (value := _changed(getattr(node, f.name), rebuilt)) is not getattr(node, f.name)
        }
        field, kinds = _NAMING.get(type(node), ("", ()))
        if field:
            name = getattr(node, field)
            thing = None if name in _OF_THE_LANGUAGE and kinds == CALLED else things.get(name)
            if thing is not None and thing.kind in kinds:
                used.add(name)
                changes["own"] = inner(thing) if isinstance(thing, OwnAutomaton) else thing
            else:
                problems.extend(_problem(node, name, kinds, things))
        return dataclasses.replace(node, **changes) if changes else node

    return rebuilt(tree), problems, used


def _changed(value: Any, rebuilt: Any) -> Any:
    if isinstance(value, ast.Node):
        return rebuilt(value)
    if isinstance(value, tuple) and any(isinstance(v, ast.Node) for v in value):
        parts = tuple(rebuilt(v) if isinstance(v, ast.Node) else v for v in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    return value


def _problem(node: ast.Node, name: str, kinds: tuple[str, ...], things: Mapping[str, Own]) -> Iterator[Problem]:
    """What is wrong with a name that stands for nothing of these kinds; the checks tell of unknown functions."""
    if name in _OF_THE_LANGUAGE and kinds == CALLED:
        return
    if name in things:
        message = f"'{name}' is the name of {_a(things[name].kind)}, and here stands {_a(kinds[0])}"
        yield Problem(ProblemKind.NAME, message, node.span)
    else:
        known = [n for n, thing in things.items() if thing.kind in kinds]
        hint = did_you_mean(name, known)
        if isinstance(node, ast.Matches):
            hint = hint or f"give it to the query: ensue.query(text, {name}=automaton), with an ensue.Automaton"
        if hint is not None:
            yield Problem(ProblemKind.NAME, f"unknown {kinds[0]} '{name}'", node.span, hint)


def _key(name: str, kind: str) -> str:
    return name.lower() if kind in CALLED else name


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] == "a" else f"a {kind}"
