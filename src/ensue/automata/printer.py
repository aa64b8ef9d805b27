"""Automata as text, for `explain`."""

from __future__ import annotations

from collections.abc import Sequence

from ensue.automata.build.project import HIDDEN
from ensue.automata.determinize import Determinizer, Subset
from ensue.automata.model import Automaton, Marks, Transition
from ensue.automata.predicates import Predicate, cells, print_guard
from ensue.language.printer import print_interval

#: Beyond so many conditions or states the determinised automaton is no longer something to read.
_MOST_PREDICATES = 6
_MOST_SUBSETS = 30


def print_automaton(automaton: Automaton) -> list[str]:
    """One line a transition; the final states are starred.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> print("\\n".join(print_automaton(build(parse_pattern("A AS x ; B")))))
    0 -> 1  A / A, x
    1 -> 1  true /
    1 -> 2* B / B
    """
    lines = [_transition(automaton, t) for t in sorted(automaton.transitions, key=_place)]
    return lines or ["no run ends: the query matches nothing"]


def _place(t: Transition) -> tuple[int, int, str, list[str]]:
    return t.source, t.target, print_guard(t.guard), sorted(t.marks)


def _transition(automaton: Automaton, t: Transition) -> str:
    target = f"{t.target}{'*' if t.target in automaton.finals else ' '}"
    parts = [print_guard(t.guard)]
    parts += [f"clock {c.clock} in {print_interval(c.interval)}" for c in sorted(t.conditions, key=lambda c: c.clock)]
    effects = [_marks(t.marks)]
    effects += [f"reset {clock}" for clock in sorted(t.resets)] + [f"write {r}" for r in sorted(t.writes)]
    return f"{t.source} -> {target.ljust(3)}{' & '.join(parts)} / {'; '.join(e for e in effects if e)}".rstrip()


def print_determinised(automaton: Automaton, predicates: Sequence[Predicate], marks: Sequence[Marks]) -> list[str]:
    """The subsets that runs can be in, and what each class of events does to them."""
    if len(predicates) > _MOST_PREDICATES:
        return [f"not shown: {len(predicates)} conditions tell too many classes of events apart"]
    determinizer = Determinizer(automaton, predicates, marks)
    bit = {p: 1 << k for k, p in enumerate(predicates)}
    start: Subset = frozenset({0})
    seen, waiting = {start}, [start]
    lines = []
    while waiting:
        subset = waiting.pop(0)
        for cell in cells(predicates):
            word = sum(bit[p] for p, positive in cell if positive)
            for mark, after, final in determinizer.step(subset, word):
                reported = " reported" if final else ""
                named = _marks(marks[mark])
                lines.append(f"{_subset(subset)} -> {_subset(after)}  {print_guard(cell)} / {named}{reported}".rstrip())
                if after and after not in seen:
                    seen.add(after)
                    waiting.append(after)
        if len(seen) > _MOST_SUBSETS:
            return [*lines, "... and more"]
    return lines


def _marks(marks: Marks) -> str:
    """The variables; those that were put in for a condition are shown by their number."""
    ours = {x: "(compared only)" if x == HIDDEN else f"#{x[1:]}" for x in marks if x.startswith("\0")}
    return ", ".join(sorted(ours.get(x, x) for x in marks))


def _subset(subset: Subset) -> str:
    return "{" + ",".join(map(str, sorted(subset))) + "}"
