"""`(p FILTER y.v > LASTOF(y).v)+`: each round's event is compared with that of the round before, then stored."""

from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.registers import Action, Check, Clear, Store, fresh
from ensue.logic.clauses import bare
from ensue.logic.comparisons import Comparison


def construct(c: Comparison, iteration: Automaton) -> Automaton:
    """`c` has what speaks of the round before on its left side."""
    register = next(fresh(iteration.registers))
    variable = c.variables[1]
    store, check = Store(register, bare(c.left)), Check(register, c.operator, bare(c.right))
    made = Builder(0)
    for t in iteration.transitions:
        first = t.source == 0
        actions: list[Action] = [Clear(register)] if first else []  # of an iteration around this one
        if variable in t.marks:
            actions += [store] if first else [check, store]
        made.add(
            t.source, t.guard, Label(t.marks, t.actions.union(actions)), t.target, final=t.target in iteration.finals
        )
    return made.build()
