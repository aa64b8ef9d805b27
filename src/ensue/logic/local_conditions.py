"""Boolean combinations of conditions on single events: each part is checked at its own event (Grez, Theorem 5.3).

    T AS x ; H AS y FILTER x.v > 998 OR y.v < 1

The theorem writes a choice of two patterns for that, `(p FILTER x.v > 998) OR (p FILTER y.v < 1)`. The filter's
construction makes the same automaton without writing it out: a state says which parts of each clause still hold.
"""

from __future__ import annotations

import math

from ensue.language import ast
from ensue.logic.classify import conjuncts_of, is_plain
from ensue.logic.clauses import NotUnary, clauses_of_condition
from ensue.logic.scope import variables_of

#: What says which parts of a clause still hold multiplies the states of the automaton: by so much at most.
MOST_TIMES_LARGER = 64


def times_larger(c: ast.Expression) -> int | None:
    """How many times larger the condition can make an automaton, if it is a combination of conditions on one event.

    >>> from ensue.language.parser import parse_expression
    >>> [times_larger(parse_expression(text)) for text in ("x.v > 1 OR y.v < 2", "x.v > y.v", "x.v > 1 OR y.v < z.v")]
    [3, None, None]
    """
    if not is_plain(c) or len(variables_of(c)) < 2:
        return None
    try:
        return math.prod((1 << len(clause)) - 1 for clause in clauses_of_condition(c))
    except NotUnary:
        return None


def local_conditions(p: ast.Pattern) -> frozenset[ast.Expression]:
    """The conditions on several events that are checked at each, as far as the automaton does not become too large.

    Those further inside come first, so that they are the same for a part of the pattern.
    """
    room, found = MOST_TIMES_LARGER, set()
    for c in reversed(combinations(p)):
        times = times_larger(c)
        if times is not None and times <= room:
            found.add(c)
            room //= times
    return frozenset(found)


def combinations(p: ast.Pattern) -> list[ast.Expression]:
    """The conditions on several events in which each part is about one of them."""
    said = dict.fromkeys(c for f in ast.find(p, ast.Filter) for c in conjuncts_of(f.condition))
    return [c for c in said if times_larger(c) is not None]
