"""`p WITHIN I` inside a pattern: a clock, reset at the first event and checked where `p` ends."""

from ensue.automata.model import Automaton, Builder
from ensue.automata.registers import Since, Store, fresh
from ensue.language.ast import Interval


def construct(p: Automaton, interval: Interval) -> Automaton:
    clock = next(fresh(p.registers))
    made = Builder(0)
    for t in p.transitions:
        first = t.source == 0
        made.add(t.source, t.guard, t.also(Store(clock)) if first else t.label, t.target)
        if t.target in p.finals and not (first and not interval.contains(0)):
            # Where `p` ends, the clock is no longer needed; a single event takes no time.
            made.add(t.source, t.guard, t.label if first else t.also(Since(clock, interval)), "done", final=True)
    return made.build()
