"""Checks formulas over positions: which names they use, each as what it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ensue.errors import Problem, did_you_mean, listed
from ensue.language import ast
from ensue.language.position_logic import (
    Bound,
    Compared,
    Connected,
    EventIs,
    Formula,
    FromTo,
    IsIn,
    Negated,
    Place,
    Quantified,
)
from ensue.logic.check_filters import EACH, expression_problems, problem

#: The names that are known at a place of a formula, each with True if it stands for a set.
_Known = Mapping[str, bool]


def position_problems(root: ast.Pattern) -> Iterator[Problem]:
    """The problems of all formulas in a pattern."""
    for p in ast.find(root, FromTo):
        if p.begin == p.end:
            message = f"'{p.begin}' cannot be both the first position and the last"
            yield problem(p, message, "two names: (b TO e WHERE b = e) is of one event")
        yield from _problems(p.formula, {p.begin: False, p.end: False})


def _problems(f: Formula, known: _Known) -> Iterator[Problem]:
    match f:
        case Compared():
            yield from _place_problems(f.left, known)
            yield from _place_problems(f.right, known)
        case EventIs():
            yield from _name_problems(f, f.variable, known)
            if isinstance(f.event, ast.Satisfying):
                yield from expression_problems(f.event.condition, EACH)
        case IsIn():
            yield from _name_problems(f, f.variable, known)
            yield from _name_problems(f, f.set, known, as_set=True)
        case Negated():
            yield from _problems(f.body, known)
        case Connected():
            yield from _problems(f.left, known)
            yield from _problems(f.right, known)
        case Quantified():
            inner = dict(known)
            for b in f.over:
                yield from _bound_problems(b, inner)
                inner[b.name] = b.is_set
            yield from _problems(f.body, inner)


def _bound_problems(b: Bound, known: _Known) -> Iterator[Problem]:
    if b.name in known:
        yield problem(b, f"'{b.name}' stands for something here already", "take another name")
    for place in (b.low, b.high):
        if place is not None:
            yield from _place_problems(place, known)


def _place_problems(p: Place, known: _Known) -> Iterator[Problem]:
    return _name_problems(p, p.variable, known)


def _name_problems(where: ast.Node, name: str, known: _Known, *, as_set: bool = False) -> Iterator[Problem]:
    if name not in known:
        hint = did_you_mean(name, list(known)) or f"the names are {listed(known)}; EXISTS and FORALL bring others"
        yield problem(where, f"unknown name '{name}' in a formula", hint, name=True)
    elif known[name] and not as_set:
        yield problem(where, f"'{name}' is a set of positions, and one position is meant here", f"as in x IN {name}")
    elif as_set and not known[name]:
        hint = f"as in EXISTS SET X (... IN X); {name} is a position: write x = {name}"
        yield problem(where, f"'{name}' is one position, and a set of positions is meant here", hint)
