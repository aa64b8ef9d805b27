"""The deterministic automaton of a query, where it has one: its window must be in events, and its pattern bounded."""

from __future__ import annotations

from ensue.automata.build import within_time
from ensue.automata.build.after import BEFORE
from ensue.automata.deterministic import DeterministicAutomaton
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import TooLarge
from ensue.automata.predicates import LatestStart
from ensue.automata.registers import Store
from ensue.automata.unfolding import Unfolding
from ensue.automata.windowed_determinisation import MAX_STEPS, Construction, NotBounded
from ensue.errors import EngineError, ProblemKind, QueryError, counted
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.check import Checked
from ensue.plan.from_query import compile_plan
from ensue.plan.plan import Plan
from ensue.rewrite import UNTIED


def deterministic(checked: Checked) -> DeterministicAutomaton:
    """Says at each event whether a match of the query ends there, and which events took part.

    The construction is in `automata/windowed_determinisation.py`.

    Of a query with partitions it is that of one partition. Raises EngineError with the reason where there is none.
    """
    plan = _planned(checked)
    try:
        return _construction(plan).run(MAX_STEPS)
    except TooLarge as e:
        raise EngineError(
            f"the deterministic automaton has more than {e.most:,} transitions: it must know which of the last "
            f"{plan.window.events} events matter, by {_conditions(plan)}, which can double them with each event of the "
            "window. Shorten the window, or use Detector.detect, which builds only what its events lead to"
        ) from None


def unfolding(checked: Checked) -> Unfolding:
    """The same, built as far as events lead into it."""
    return Unfolding(_construction(_planned(checked)))


def _planned(checked: Checked) -> Plan:
    """The plan of a query that has such an automaton."""
    try:
        # Equalities are checked by registers, as the paper has it: a partition would need an automaton for each key.
        plan = compile_plan(checked, UNTIED)
    except QueryError as e:
        if any(p.kind is not ProblemKind.UNSUPPORTED for p in e.problems):
            raise
        raise EngineError(f"there is no deterministic automaton: {e.problems[0].message}") from None
    reason = _not_made(plan)
    if reason:
        raise EngineError(f"there is no deterministic automaton: {reason}")
    return plan


def _construction(plan: Plan) -> Construction:
    window = plan.window.events
    assert window is not None
    automaton = plan.automaton
    if plan.window.time is not None:  # a clock, which the window in events keeps from being needed for ever
        automaton = pruned(
            with_shared_registers(within_time.construct(automaton, ast.Interval(None, plan.window.time)))
        )
    try:
        return Construction(automaton, window, consuming=plan.consume is not ast.Consume.NONE)
    except NotBounded as e:
        raise EngineError(f"there is no deterministic automaton: {_unbounded(e.store)}") from None


def _not_made(plan: Plan) -> str:
    """Why the plan has no deterministic automaton, in words."""
    if plan.absence is not None:
        return "an absence with a deadline is decided when time has passed the deadline, not when a match ends"
    if plan.waits:
        return "UNTIL is decided by what follows a window, not when the window ends"
    if any(isinstance(m, LatestStart) for m in plan.machines):
        return "an absence before a pattern depends on how long ago something was"
    if any(m.name.startswith(BEFORE) for m in plan.machines):
        return "AFTER depends on all events before"
    if plan.machines or plan.rankings:
        return "a selector inside the pattern depends on all events before"
    if plan.decided_last:
        return f"its matches are written out first, because {plan.decided_last}"
    if plan.consume is ast.Consume.ANY and plan.keys:
        return "with CONSUME BY ANY, the matches of one partition decide about those of others"
    if plan.window.events is not None:
        return ""
    if plan.window.time is None:
        return "without a window, every event may have to be stored; add WITHIN n EVENTS"
    return "a window in time does not bound how many events must be stored; add WITHIN n EVENTS"


def _unbounded(store: Store) -> str:
    value = "the time" if store.value is None else f"the {print_expression(store.value)}"
    return (
        f"the pattern is not bounded: {value} of any number of events is compared with a later event "
        "(Alevizos et al., definition 3)"
    )


def _conditions(plan: Plan) -> str:
    stored = len(plan.automaton.registers)
    found = counted(len(plan.predicates), "condition")
    return f"{found} and {counted(stored, 'stored value')}" if stored else found
