"""What adds nothing: a query whose conditions never hold together, and alternatives of which others find all.

`logic/never.py` says with reasons what is dead by itself. Here automata are compared, so that a contradiction may be
spread over a pattern. Only what is certain is said, and large patterns are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ensue.automata.build import Unsupported, build
from ensue.automata.liveness import pruned
from ensue.automata.model import Automaton
from ensue.automata.overlap.difference import difference
from ensue.automata.overlap.stream import TooMany
from ensue.automata.predicates import predicates_asked, rankings_of
from ensue.data.schema import Schema
from ensue.errors import Problem, ProblemKind
from ensue.language import ast
from ensue.language.printer import print_pattern
from ensue.logic.never import never_matching
from ensue.logic.scope import free
from ensue.plan.choice import Choice
from ensue.rewrite import rewrite_pattern

#: Beyond these it would take longer than a warning is worth.
MOST_TRANSITIONS, MOST_PREDICATES, MOST_NODES, MOST_PARTS = 100, 8, 500, 100
_NOTHING = Automaton(1, frozenset(), ())


def warnings_by_automata(choice: Choice) -> tuple[str, ...]:
    """A warning for the query if it never matches, and for each alternative that adds nothing."""
    query = choice.checked.query
    if next(islice(ast.walk(query.pattern), MOST_PARTS, None), None) is not None:
        return ()
    if never_matching(query):
        return ()  # what is dead for a reason is told with the reason
    return tuple(p.render(choice.checked.text, "warning") for p in _problems(choice, query.pattern))


def _problems(choice: Choice, pattern: ast.Pattern) -> Iterator[Problem]:
    plan, schema = choice.plan, choice.checked.schema
    if plan is not None and _is_small(plan.automaton) and _contains(_NOTHING, plan.automaton, schema):
        said = "this query never matches: no events satisfy all of its conditions"
        yield Problem(ProblemKind.NEVER, said, pattern.span)
        return
    inner: set[int] = set()
    for node in ast.walk(pattern):
        if isinstance(node, ast.Or) and id(node) not in inner:
            inner |= {id(q) for q in _below(node)}
            yield from _of_alternatives([q for q in _below(node) if not isinstance(q, ast.Or)], schema)


def _below(p: ast.Or) -> list[ast.Pattern]:
    """The choices inside of a choice, and their alternatives."""
    sides = [p.left, p.right]
    return [q for side in sides for q in ([side, *_below(side)] if isinstance(side, ast.Or) else [side])]


def _of_alternatives(alternatives: list[ast.Pattern], schema: Schema | None) -> Iterator[Problem]:
    made = [_automaton(p) for p in alternatives]
    useless: set[int] = set()
    for k, own in enumerate(made):
        for other, theirs in enumerate(made):
            if own is None or theirs is None or k == other or other in useless or k in useless:
                continue
            # Of two that find the same, the second adds nothing.
            if _contains(theirs, own, schema) and (other < k or not _contains(own, theirs, schema)):
                useless.add(k)
                said = f"this alternative adds nothing: {print_pattern(alternatives[other])} finds all that it finds"
                yield Problem(ProblemKind.NEVER, said, alternatives[k].span)


def _automaton(p: ast.Pattern) -> Automaton | None:
    """The automaton of an alternative, if all that it asks is of single events and it is small."""
    decided_outside = ast.Until | ast.NotAfter | ast.NotBefore
    if free(p) or any(isinstance(q, decided_outside) for q in ast.walk(p)):
        return None
    try:
        made = pruned(build(rewrite_pattern(p)))
    except Unsupported:
        return None
    asks_more = made.registers or rankings_of(t.guard for t in made.transitions)
    return made if not asks_more and _is_small(made) else None


def _is_small(p: Automaton) -> bool:
    predicates = predicates_asked(t.guard for t in p.transitions)
    return len(predicates) <= MOST_PREDICATES and len(p.transitions) <= MOST_TRANSITIONS


def _contains(p: Automaton, q: Automaton, schema: Schema | None) -> bool:
    """Whether it is certain that `p` has all complex events of `q`.

    Registers are left out of account, so of automata with registers only `q` may be one, and `p` must have no run.
    """
    try:
        return difference(p, q, both_ways=False, marked=True, most=MOST_NODES, schema=schema) is None
    except TooMany:
        return False
