"""The limits of the kernels. A plan that exceeds one of them is refused before it runs."""

from __future__ import annotations

from ensue.automata.build import Unsupported
from ensue.automata.predicates import Before, Best, Chosen
from ensue.automata.registers import Check, formulas_of
from ensue.language import ast
from ensue.logic.comparisons import fits_a_register
from ensue.logic.formula import NoInstruction
from ensue.logic.types import Typing
from ensue.plan.plan import Plan

#: The set of marks of an event is stored as a number of 16 bits.
MAX_MARKS = 2**16 - 1
#: How many conditions of an event one word tells of: more fill several, and do not come evaluated with the events.
WORD_BITS = 63
#: More conditions than a text of reasonable size has: each takes a column of a batch.
MAX_PREDICATES = 4096
#: The bits of a word say which registers of a run are in use.
MAX_REGISTERS = 30
#: Each condition on what came before an event can double the classes of events. There are at most 2^16 classes.
MAX_BITS_BEFORE = 12


def check_capacity(plan: Plan) -> None:
    """Raises Unsupported if the plan needs more than the kernels have, or a value that no register can store."""
    absent = [] if plan.absence is None else plan.absence.predicates
    if max(map(len, [plan.predicates, *(m.predicates for m in plan.machines), absent])) > MAX_PREDICATES:
        raise Unsupported(None, f"a query with more than {MAX_PREDICATES} different conditions")
    if sum(isinstance(p, Before) for p in plan.predicates) > MAX_BITS_BEFORE:
        raise Unsupported(None, f"selectors that need more than {MAX_BITS_BEFORE} conditions on earlier events")
    if any(isinstance(p, Best | Chosen) for m in plan.machines for p in m.predicates):
        raise Unsupported(None, "NEXT or LAST of so large a pattern where what came before an event depends on it")
    if plan.consume is not ast.Consume.NONE and plan.rankings:
        raise Unsupported(None, "CONSUME BY around NEXT or LAST of so large a pattern")
    _check_registers(plan)
    if len(plan.marks) > MAX_MARKS:
        raise Unsupported(None, f"a query with more than {MAX_MARKS} different sets of marks")


def _check_registers(plan: Plan) -> None:
    """Refuses what registers cannot do. Comparisons that whole matches can decide are no longer in the automaton."""
    if len(plan.automaton.registers) > MAX_REGISTERS:
        raise Unsupported(None, f"a query that remembers more than {MAX_REGISTERS} values")
    if any(f.outside for actions in plan.actions for f in formulas_of(actions)):
        raise Unsupported(None, "a condition that uses an event which may come later than the events it decides about")
    try:
        _ = plan.formulas
    except NoInstruction as e:
        raise Unsupported(e.part, str(e)) from None
    typing = Typing(plan.schema)
    checks = [c for actions in plan.actions for c in actions if isinstance(c, Check)]
    if not all(fits_a_register(c.value, typing, c.operator) for c in checks):
        what = "the order of texts, or long integers or decimals, of two events inside an iteration or among choices"
        raise Unsupported(None, what)
