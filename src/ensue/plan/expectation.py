"""What EXPECT says of a stream, and the plan whose matches are the events that break it.

Such a plan is run beside that of the query, over the same events, so it needs no code of its own: its state is saved,
and its keys are numbered, as any other plan's are.
"""

from __future__ import annotations

from ensue.automata.build import Unsupported, build
from ensue.automata.build.expect import Expectation, construct
from ensue.automata.liveness import pruned
from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language.printer import print_pattern
from ensue.logic.check import Checked
from ensue.plan.automaton_spec import AutomatonSpec
from ensue.plan.from_automaton import plan_automaton
from ensue.plan.plan import Plan
from ensue.rewrite import rewrite_pattern


def expectation_of(checked: Checked) -> Expectation | None:
    """What is unexpected; None if the query expects nothing. Raises QueryError for what no machine can tell."""
    expected = checked.query.expect
    if expected is None:
        return None
    try:
        made = pruned(build(rewrite_pattern(expected)))
        if made.registers:
            raise Unsupported(expected, "a comparison of events, or of their times, behind EXPECT")
        return construct(made, expected, print_pattern(expected))
    except Unsupported as e:
        span = expected.span if e.part is None else e.part.span
        hint = "EXPECT takes conditions on one event, with PREV, in any order; leave the rest out"
        raise QueryError(
            checked.text, [Problem(ProblemKind.UNSUPPORTED, f"no machine tells {e.what}", span, hint)]
        ) from None


def plan_of(expectation: Expectation, checked: Checked) -> Plan:
    """The plan whose matches are the events that are unexpected, in each partition."""
    keys = tuple(k.attribute for k in checked.query.partition)
    return plan_automaton(AutomatonSpec(expectation.automaton(), checked.schema, keys=keys))
