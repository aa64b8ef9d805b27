"""`(p FILTER y.v > LASTOF(y).v)+`: compares each round's event with that of the previous round, then stores it."""

from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.registers import Action, Check, Clear, Store, fresh
from ensue.logic.clauses import bare
from ensue.logic.comparisons import Comparison


def construct(c: Comparison, iteration: Automaton) -> Automaton:
    """The left side of `c` uses the previous round."""
    register = next(fresh(iteration.registers))
    variable = c.variables[1]
    store, check = Store(register, bare(c.left)), Check(register, c.operator, bare(c.right))
    made = Builder(0)
    for t in iteration.transitions:
        first = t.source == 0
        actions: list[Action] = [Clear(register)] if first else []  # an iteration around this one may have stored
        if variable in t.marks:
            actions += [store] if first else [check, store]
        made.add(
            t.source, t.guard, Label(t.marks, t.actions.union(actions)), t.target, final=t.target in iteration.finals
        )
    return made.build()
