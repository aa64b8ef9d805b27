"""Decides whether runs that wait for a lower bound wait in line: the runs that came first leave first."""

from __future__ import annotations

from collections import defaultdict

from ensue.automata.liveness import register_liveness
from ensue.automata.model import Automaton, Transition
from ensue.automata.predicates import conjunction
from ensue.automata.registers import Since, Store
from ensue.automata.timing.clocks import clocks_of
from ensue.language import ast


def wait_in_line(automaton: Automaton) -> bool:
    """Whether runs wait in line, for a deterministic automaton with one clock and lower bounds only.

    A run joins a line when its clock is reset and leaves it with a mark. If lines are never merged, and each ends in
    one check, then a list of runs is always in the order of their resets (`kernels/waiting_lists.py`).

    >>> from ensue.automata.build import build
    >>> from ensue.automata.timing.monotonic import monotonic
    >>> from ensue.language.parser import parse_pattern
    >>> [wait_in_line(monotonic(build(parse_pattern(p)))) for p in ("A ;[> 1 s] B ; C", "A ; B ; C WITHIN [> 1 s]")]
    [True, False]
    """
    if not only_marks_ask(automaton):
        return False
    (clock,) = clocks_of(automaton)
    live = register_liveness(automaton).live
    checked: dict[int, set[ast.Interval]] = defaultdict(set)
    waiting: list[Transition] = []
    for t in automaton.transitions:
        checks = {a.interval for a in t.actions if isinstance(a, Since)}
        resets = any(isinstance(a, Store) for a in t.actions)
        checked[t.source] |= checks
        if t.target not in automaton.outgoing:
            continue
        if clock in live.get(t.target, ()) and not resets:
            if t.source == 0 or t.marks or checks:
                return False  # runs of several resets would be in one cell
            waiting.append(t)
    return _are_not_merged(waiting) and _check_one_interval(waiting, checked)


def only_marks_ask(automaton: Automaton) -> bool:
    """Whether no run checks or resets the clock at an event that it does not mark, unless it ends there.

    An unmarked move makes no new cell, so it would have to merge runs of several resets, or to part them.
    """
    return not any(
        t.source != 0 and not t.marks and t.actions and t.target in automaton.outgoing for t in automaton.transitions
    )


def _are_not_merged(waiting: list[Transition]) -> bool:
    return not any(
        t.target == u.target and t.source != u.source and conjunction(t.guard, u.guard) is not None
        for t in waiting
        for u in waiting
    )


def _check_one_interval(waiting: list[Transition], checked: dict[int, set[ast.Interval]]) -> bool:
    """Whether the states that a line passes through check at most one interval in all."""
    changed = True
    while changed:
        changed = False
        for t in waiting:
            together = checked[t.source] | checked[t.target]
            changed |= checked[t.source] != together or checked[t.target] != together
            checked[t.source], checked[t.target] = set(together), set(together)
    return all(len(intervals) <= 1 for intervals in checked.values())
