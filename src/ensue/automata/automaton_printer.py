"""Automata as text, for `explain`."""

from __future__ import annotations

from collections.abc import Sequence

from ensue.automata.build.project import HIDDEN
from ensue.automata.deterministic import DeterministicAutomaton
from ensue.automata.determinize import Determinizer, Subset
from ensue.automata.model import Automaton, Marks, Transition
from ensue.automata.predicates import Guard, Predicate, cells, print_guard, rankings_of
from ensue.automata.registers import Actions, conditions_of, writes_of

#: With more conditions or states than this, the determinised automaton is too long to read.
_MOST_PREDICATES = 6
_MOST_SUBSETS = 30


def print_automaton(automaton: Automaton) -> list[str]:
    """One line for each transition; final states have a star.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> print("\\n".join(print_automaton(build(parse_pattern("A AS x ; B")))))
    0 -> 1  A / A, x
    1 -> 1  true /
    1 -> 2* B / B
    """
    lines = [_transition(automaton, t) for t in sorted(automaton.transitions, key=_place)]
    return lines or ["no run ends: the query matches nothing"]


def _place(t: Transition) -> tuple[int, int, str, list[str], list[str]]:
    return t.source, t.target, print_guard(t.guard), sorted(t.marks), sorted(map(str, t.actions))


def _transition(automaton: Automaton, t: Transition) -> str:
    target = f"{t.target}{'*' if t.target in automaton.finals else ' '}"
    when, effects = done(t.guard, t.marks, t.actions)
    return f"{t.source} -> {target.ljust(3)}{when} / {effects}".rstrip()


def done(guard: Guard, marks: Marks, actions: Actions) -> tuple[str, str]:
    """When a transition is taken, and what it does."""
    text = print_guard(guard)
    checks = [str(c) for c in conditions_of(actions)]
    conditions = checks if text == "true" and checks else [text, *checks]
    effects = [_marks(marks), *map(str, writes_of(actions))]
    return " & ".join(conditions), "; ".join(e for e in effects if e)


def print_determinised(
    automaton: Automaton, predicates: Sequence[Predicate], marks: Sequence[Marks], actions: Sequence[Actions]
) -> list[str]:
    """The subsets that runs can be in, and what each class of events does to them."""
    if rankings_of(t.guard for t in automaton.transitions):
        return ["not shown: it depends on the order of all open runs"]
    if len(predicates) > _MOST_PREDICATES:
        return [f"not shown: {len(predicates)} conditions distinguish too many classes of events"]
    determinizer = Determinizer(automaton, predicates, marks, actions)
    bit = {p: 1 << k for k, p in enumerate(predicates)}
    start: Subset = frozenset({0})
    seen, waiting = {start}, [start]
    lines = []
    while waiting:
        subset = waiting.pop(0)
        for cell in cells(predicates):
            word = sum(bit[p] for p, positive in cell if positive)
            for mark, action, after, final in determinizer.step(subset, word):
                when, effects = done(cell, marks[mark], actions[action])
                reported = " reported" if final else ""
                lines.append(f"{_subset(subset)} -> {_subset(after)}  {when} / {effects}{reported}".rstrip())
                if after and after not in seen:
                    seen.add(after)
                    waiting.append(after)
        if len(seen) > _MOST_SUBSETS:
            return [*lines, "... and more"]
    return lines


def _marks(marks: Marks) -> str:
    """The variables as text; variables that a rewrite introduced for a condition are shown as numbers."""
    ours = {x: "(compared only)" if x == HIDDEN else f"#{x[1:]}" for x in marks if x.startswith("\0")}
    return ", ".join(sorted(ours.get(x, x) for x in marks))


def _subset(subset: Subset) -> str:
    return "{" + ",".join(map(str, sorted(subset))) + "}"


def print_deterministic(automaton: DeterministicAutomaton) -> list[str]:
    """One line for each transition. If a match ends, the target has a star, and the line says which events took part.

    0 is the event of the transition and -1 the one before it; `$1.2` is value 1 of the event two before it.
    """
    lines = []
    for step in automaton.steps:
        text = print_guard(step.guard)
        outcomes = [str(c) if holds else f"not({c})" for c, holds in sorted(step.outcomes, key=str)]
        when = " & ".join(outcomes if text == "true" and outcomes else [text, *outcomes])
        effects = "; ".join(e for e in (_marks(step.marks), *map(str, step.writes)) if e)
        ended = automaton.ends.get(step.target)
        target = f"{step.target}{' ' if ended is None else '*'}"
        took_part = "" if ended is None else f"  took part: {', '.join(str(-k) for k in reversed(ended)) or 'none'}"
        lines.append(f"{step.source} -> {target.ljust(3)}{when} / {effects}".rstrip() + took_part)
    return lines
