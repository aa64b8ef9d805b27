"""Formulas over positions: random ones, and a second evaluator, which writes a formula as a Python expression.

The evaluator was written from the language page. A set of positions is a number there, whose bits are its members.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

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

_SIGNS = ("<", "<=", "=", "<>", ">", ">=")


# ---------------------------------------------------------------- random formulas


def random_from_to(rng: Random, depth: int, condition: Callable[[Random], ast.Expression], sets: int = 1) -> FromTo:
    """A formula with quantifiers up to this depth, over types A, B, C and random conditions on one event."""
    return FromTo("b", "e", _formula(rng, depth, ["b", "e"], [], condition, sets))


def _formula(
    rng: Random,
    depth: int,
    places: list[str],
    sets: list[str],
    condition: Callable[[Random], ast.Expression],
    more_sets: int,
) -> Formula:
    def inner(k: int) -> Formula:
        return _formula(rng, k, places, sets, condition, more_sets)

    if depth == 0:
        return _atom(rng, places, sets, condition)
    match rng.randrange(8):
        case 0:
            return Negated(inner(depth - 1))
        case 1 | 2 | 3:
            operator = rng.choice(("AND", "AND", "OR", "=>", "<=>"))
            return Connected(operator, inner(depth - 1), inner(rng.randrange(depth)))
        case 4 if more_sets:
            name = f"X{len(sets)}"
            bound = Bound(name, is_set=True)
            return Quantified(
                rng.random() < 0.5,
                (bound,),
                _formula(rng, depth - 1, places, [*sets, name], condition, more_sets - 1),
            )
    names = [f"x{len(places)}", f"x{len(places) + 1}"][: rng.choice((1, 1, 2))]
    over, known = [], list(places)
    for name in names:
        limits = (_place(rng, known), _place(rng, known)) if rng.random() < 0.4 else (None, None)
        over.append(Bound(name, False, *limits))
        known.append(name)
    body = _formula(rng, depth - 1, known, sets, condition, more_sets)
    return Quantified(rng.random() < 0.5, tuple(over), body)


def _place(rng: Random, places: list[str]) -> Place:
    return Place(rng.choice(places), rng.choice((0, 0, 0, 1, 2, -1)))


def _atom(rng: Random, places: list[str], sets: list[str], condition: Callable[[Random], ast.Expression]) -> Formula:
    match rng.randrange(6):
        case 0 | 1:
            return Compared(_place(rng, places), rng.choice(_SIGNS), _place(rng, places))
        case 2 | 3 if sets:
            return IsIn(rng.choice(places), rng.choice(sets))
        case 2:
            return EventIs(rng.choice(places), ast.Satisfying(ast.Any(), condition(rng)))
        case 3:
            return EventIs(rng.choice(places), ast.Satisfying(ast.Type(rng.choice("AB")), condition(rng)))
        case 4 if rng.random() < 0.1:
            return EventIs(rng.choice(places), ast.Any())
    return EventIs(rng.choice(places), ast.Type(rng.choice("AABC")))


# ---------------------------------------------------------------- a second evaluator


def windows_of(p: FromTo, length: int, event: Callable[[ast.Pattern, int], bool]) -> set[tuple[int, int]]:
    """The pairs of a first and a last position; `event` says whether the event at a position matches a pattern."""
    told: list[ast.Pattern] = []
    text = f"lambda {_name(p.begin)}, {_name(p.end)}, END: {_python(p.formula, told)}"
    judge = eval(text, {"E": lambda n, k: event(told[n], k)})
    return {(i, j) for j in range(length) for i in range(j + 1) if judge(i, j, j)}


def _name(x: str) -> str:
    return f"v_{x}"


def _at(place: Place) -> str:
    return f"({_name(place.variable)} + {place.later})"


def _python(f: Formula, told: list[ast.Pattern]) -> str:
    match f:
        case Compared():
            sign = {"=": "==", "<>": "!="}.get(f.operator, f.operator)
            return f"({_at(f.left)} {sign} {_at(f.right)})"
        case EventIs():
            told.append(f.event)
            return f"E({len(told) - 1}, {_name(f.variable)})"
        case IsIn():
            return f"(({_name(f.set)} >> {_name(f.variable)}) & 1 == 1)"
        case Negated():
            return f"(not {_python(f.body, told)})"
        case Connected():
            left, right = _python(f.left, told), _python(f.right, told)
            said = {"AND": "{} and {}", "OR": "{} or {}", "=>": "(not {}) or {}", "<=>": "{} is {}"}[f.operator]
            return f"({said.format(f'bool({left})', f'bool({right})')})"
        case Quantified():
            text = _python(f.body, told)
            for b in reversed(f.over):
                values = "range(1 << (END + 1))" if b.is_set else "range(END + 1)"
                if b.low is not None and b.high is not None:
                    within = f"{_at(b.low)} <= {_name(b.name)} <= {_at(b.high)}"
                    text = f"((not ({within})) or {text})" if f.every else f"(({within}) and {text})"
                text = f"{'all' if f.every else 'any'}({text} for {_name(b.name)} in {values})"
            return text
    raise AssertionError(f)
