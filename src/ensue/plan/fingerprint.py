"""The fingerprint of a plan: a digest of everything that the numbers in a saved state depend on.

A state holds numbers of automaton states, predicates, marks, register actions and machines. They mean the same only
where the automaton is the same, and all of these are numbered in the same order. What decides about matches outside of
the automaton belongs to it too: of two queries that differ in it, one must not go on from the other's state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ensue.automata.predicates import Guard, LatestStart, Past, Predicate, Ranking, Test
from ensue.automata.register_moves import registers_in_order
from ensue.automata.registers import Actions
from ensue.language import ast
from ensue.language.printer import print_expression, print_interval
from ensue.logic.scope import attributes_read
from ensue.logic.window import Window

if TYPE_CHECKING:
    from ensue.plan.absence import Absence
    from ensue.plan.closing import Closing
    from ensue.plan.plan import Plan


def fingerprint_of(plan: Plan) -> str:
    """The digest; it is equal in every process, since nothing in its text is in the order of a set."""
    return hashlib.sha256(canonical_text(plan).encode()).hexdigest()


def canonical_text(plan: Plan) -> str:
    """Plans with the same text go on from each other's states."""
    return json.dumps(
        {
            "automaton": _numbered(plan),
            "one clock, made of": _numbered(plan.with_registers) if plan.on_one_clock else None,
            "types": _types(plan),
            "window": [_window(plan.window), plan.counts_all],
            "keys": plan.keys,
            "consume": plan.consume,
            "limit": plan.limit,
            "chooses": plan.chooses,
            "judged": [list(map(print_expression, plan.related)), sorted(plan.only_judged), plan.chooses_judged],
            "absence": None if plan.absence is None else _absence(plan.absence),
            **({"alternatives": [canonical_text(p) for p in plan.alternatives]} if plan.alternatives else {}),
            **({} if plan.closing is None else {"closing": _closing(plan.closing)}),
            **({"compares": "all"} if plan.compares_all else {}),
            **({} if plan.lanes is None else {"lanes": list(map(str, plan.lanes.parts))}),
            **({} if plan.spans is None else {"folded": [f.text for f in plan.spans.folded], "of": plan.spans.count}),
        }
    )


def _numbered(plan: Plan) -> dict[str, Any]:
    """The automaton in numbers, and what each number stands for.

    The transitions stay in their order, which decides in which order the matches of an end are found.
    """
    predicate = {p: n for n, p in enumerate([*plan.predicates, *plan.asked_of_rankings])}
    marks = {m: n for n, m in enumerate(plan.marks)}
    actions = {a: n for n, a in enumerate(plan.actions)}
    transitions = [
        [t.source, sorted((predicate[p], holds) for p, holds in t.guard), marks[t.marks], actions[t.actions], t.target]
        for t in plan.automaton.transitions
    ]
    return {
        "states": plan.automaton.size,
        "finals": sorted(plan.automaton.finals),
        "transitions": transitions,
        "predicates": list(map(_predicate, plan.predicates)),
        "machines": list(map(_machine, plan.machines)),
        "marks": list(map(sorted, plan.marks)),
        "actions": list(map(_actions, plan.actions)),
        **({"rankings": list(map(_ranking, plan.rankings))} if plan.rankings else {}),
        **_order(plan),
    }


def _order(plan: Plan) -> dict[str, Any]:
    """The order of the registers, where what conditions say of them has changed it."""
    usual, ordered = (registers_in_order(plan.automaton, plan.actions, n) for n in ({}, plan.narrowings))
    return {} if usual == ordered else {"order": ordered}


def _guard(guard: Guard) -> list[Any]:
    return sorted([*_predicate(p), holds] for p, holds in guard)


def _predicate(p: Predicate) -> list[str]:
    """With its kind: an event type may have the name of an attribute."""
    return [type(p).__name__, str(p)]


def _machine(machine: Past) -> list[Any]:
    if isinstance(machine, LatestStart):
        moves = [[source, _guard(guard), target] for source, guard, target in machine.moves]
        return [machine.name, print_interval(machine.deadline), machine.size, sorted(machine.finals), moves]
    steps = [[[_guard(guard), target] for guard, target in steps] for steps in machine.steps]
    return [machine.name, machine.states, steps]


def _ranking(ranking: Ranking) -> list[Any]:
    moves = [[source, _guard(guard), marked, target] for source, guard, marked, target in ranking.moves]
    return [ranking.name, sorted(ranking.finals), moves]


def _actions(actions: Actions) -> list[list[str]]:
    return sorted([type(a).__name__, str(a)] for a in actions)


def _window(window: Window) -> list[Any]:
    return [window.events, None if window.time is None else print_interval(ast.Interval(None, window.time))]


def _absence(absence: Absence) -> list[Any]:
    guards = sorted(_guard(guard) for guard in absence.guards)
    return [list(map(_predicate, absence.predicates)), guards, print_interval(absence.deadline)]


def _closing(closing: Closing) -> list[Any]:
    followers = None if closing.followers is None else canonical_text(closing.followers)
    return [followers, closing.or_end, closing.consumes, closing.chooses, closing.limit]


def _types(plan: Plan) -> list[list[str]]:
    """The types of the attributes that are read, where the schema is known."""
    asked = [*plan.predicates, *(p for m in plan.machines for p in m.predicates)]
    asked += [] if plan.absence is None else plan.absence.predicates
    used = {*plan.keys, *plan.remembered}
    used |= _names(p.expression for p in asked if isinstance(p, Test))
    used |= attributes_read(plan.related)
    known = {} if plan.schema is None else plan.schema.attributes
    return [[name, str(known[name].arrow)] for name in sorted(used) if name in known]


def _names(expressions: Iterable[ast.Expression]) -> set[str]:
    return {n.name for e in expressions for n in ast.find(e, ast.Name)}
