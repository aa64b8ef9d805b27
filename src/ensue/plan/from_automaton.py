"""Automaton to plan, whether the automaton was built from a query or made by hand."""

from __future__ import annotations

from dataclasses import fields, replace

from ensue.automata.fuse import fuse_tests
from ensue.automata.timing.disjoint_checks import with_disjoint_checks
from ensue.automata.timing.one_clock import on_one_clock
from ensue.plan.automaton_spec import AutomatonSpec
from ensue.plan.capacity import check_capacity
from ensue.plan.plan import Plan


def plan_automaton(spec: AutomatonSpec) -> Plan:
    """The plan of an automaton; raises Unsupported where the kernels cannot hold what it needs.

    >>> from ensue.automata.model import UNMARKED, Automaton, Label, Transition
    >>> from ensue.automata.predicates import ALWAYS, TypeIs
    >>> a, b = (frozenset({(TypeIs(name), True)}) for name in "AB")
    >>> first, second = (Label(frozenset({name})) for name in "xy")
    >>> steps = (Transition(0, a, first, 1), Transition(1, ALWAYS, UNMARKED, 1), Transition(1, b, second, 2))
    >>> plan = plan_automaton(AutomatonSpec(Automaton(3, frozenset({2}), steps), keys=("id",)))
    >>> [str(p) for p in plan.predicates], [sorted(m) for m in plan.marks]
    (['A', 'B'], [[], ['x'], ['y']])
    """
    assert all(t.target != 0 for t in spec.automaton.transitions), "nothing leads back to the initial state"
    plan = _without_duplicates(_with_one_clock(_plain(replace(spec, automaton=fuse_tests(spec.automaton)))))
    check_capacity(plan)
    return plan


def _plain(spec: AutomatonSpec) -> Plan:
    return Plan(**{f.name: getattr(spec, f.name) for f in fields(AutomatonSpec)})


def _without_duplicates(plan: Plan) -> Plan:
    """The plan with checks of time that exclude each other, if no match is found twice then."""
    split = with_disjoint_checks(plan.automaton) if plan.ambiguous and not plan.on_one_clock else None
    return plan if split is None else replace(plan, automaton=split, whole_checks=plan.automaton)


def _with_one_clock(plan: Plan) -> Plan:
    """The plan for one clock, if there is one; a window that only follows from the gaps is no bound of its own."""
    window = plan.window if plan.own_window is None else plan.own_window
    if plan.chooses is not None or window.events is not None:
        return plan
    automaton = on_one_clock(plan.automaton, window.time)
    return plan if automaton is None else replace(plan, automaton=automaton, as_built=plan.automaton)
