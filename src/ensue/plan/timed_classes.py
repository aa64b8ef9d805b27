"""What kind of timed query a plan is for, by the classes of Garcia and Riveros."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.automata.liveness import Registers
from ensue.automata.model import Automaton
from ensue.automata.registers import Since
from ensue.automata.timing.clocks import clocks_of, fewest_clocks, most_clocks, with_window
from ensue.automata.timing.monotonic import monotonic
from ensue.automata.timing.synchronous import BUDGET, Answer, Verdict, synchronous_resets
from ensue.logic.outputs import projected
from ensue.logic.windowed import is_windowed
from ensue.plan.choice import Choice

#: What is larger is not analysed: `explain` should not be waited for.
MOST_TRANSITIONS = 1_500


@dataclass(frozen=True)
class Timing:
    """The classes of a query whose automaton has clocks."""

    clocks: Registers  # with one for the window
    windowed: bool
    resets: Verdict
    monotonic: Automaton | None  # the automaton that theorem 6.1 would evaluate

    @property
    def upper(self) -> bool:
        """Whether a monotonic automaton has upper bounds, not lower ones."""
        assert self.monotonic is not None
        asked = [a.interval for t in self.monotonic.transitions for a in t.actions if isinstance(a, Since)]
        return any(i.high is not None for i in asked)


def timing_of(choice: Choice, *, budget: int = BUDGET) -> Timing | None:
    """The classes; None where no time is measured but by the window of the whole, which needs no clock."""
    assert choice.plan is not None
    plan = choice.plan.with_registers
    own = plan.automaton if plan.whole_checks is None else plan.whole_checks
    if not clocks_of(own):
        return None
    shown = None if choice.checked.query.items is None else projected(choice.checked.outputs)
    windowed = is_windowed(choice.steps[-1].parts.formula, shown)
    if len(own.transitions) > MOST_TRANSITIONS:
        why = f"the automaton has more than {MOST_TRANSITIONS:,} transitions"
        return Timing(clocks_of(own), windowed, Verdict(Answer.NOT_DECIDED, why=why), None)
    # The plan's window may be one that the gaps come to: that one is no constraint of its own.
    automaton = with_window(own, choice.steps[-1].parts.window.time)
    fewer = fewest_clocks(automaton)
    resets = synchronous_resets(fewer, read=True, budget=budget)
    if resets.answer is Answer.NO:
        # What one clock measures in turn it may measure for two runs at once.
        apart = most_clocks(automaton)
        resets = synchronous_resets(apart, read=True, budget=budget)
        fewer = apart if resets.answer is Answer.YES else fewer
    found = monotonic(fewer) if resets.answer is Answer.YES else None
    return Timing(clocks_of(fewer), windowed, resets, found)
