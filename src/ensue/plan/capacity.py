"""What the kernels can hold: a plan that needs more is refused before it runs."""

from __future__ import annotations

from ensue.automata.build import Unsupported
from ensue.automata.formula import NoInstruction
from ensue.automata.predicates import Before
from ensue.automata.registers import Check, formulas_of
from ensue.logic.comparisons import fits_a_register
from ensue.logic.types import Typing
from ensue.plan.plan import Plan

#: Marks are stored in 16 bits and predicates of an event in one word.
MAX_MARKS = 2**16 - 1
MAX_PREDICATES = 63
#: The registers of a run that are in use are the bits of a word.
MAX_REGISTERS = 30
#: Each bit of what came before an event can double the classes of events, of which there are at most 2^16.
MAX_BITS_BEFORE = 12


def check_capacity(plan: Plan) -> None:
    """Raises Unsupported with what is too much, or with what no register can keep."""
    absent = [] if plan.absence is None else plan.absence.predicates
    if max(map(len, [plan.predicates, *(m.predicates for m in plan.machines), absent])) > MAX_PREDICATES:
        raise Unsupported(None, f"a query with more than {MAX_PREDICATES} different conditions")
    if sum(isinstance(p, Before) for p in plan.predicates) > MAX_BITS_BEFORE:
        raise Unsupported(None, "a query whose selectors ask for so much of what came before")
    _check_registers(plan)
    if len(plan.marks) > MAX_MARKS:
        raise Unsupported(None, f"a query with more than {MAX_MARKS} different sets of marks")


def _check_registers(plan: Plan) -> None:
    """A comparison that could be judged on whole matches is not in the automaton any more."""
    if len(plan.automaton.registers) > MAX_REGISTERS:
        raise Unsupported(None, f"a query that remembers more than {MAX_REGISTERS} values")
    if any(f.outside for actions in plan.actions for f in formulas_of(actions)):
        raise Unsupported(None, "a condition on an event that may come later than what it is said of")
    try:
        _ = plan.formulas
    except NoInstruction as e:
        raise Unsupported(e.part, str(e)) from None
    typing = Typing(plan.schema)
    checks = [c for actions in plan.actions for c in actions if isinstance(c, Check)]
    if not all(fits_a_register(c.value, typing, c.operator) for c in checks):
        what = "the order of texts, or long integers or decimals, of two events inside an iteration or among choices"
        raise Unsupported(None, what)
