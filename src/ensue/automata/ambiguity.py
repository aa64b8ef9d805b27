"""Decides whether two runs can give the same complex event although they use their registers differently.

Determinisation merges all runs with equal marks and equal register actions. If runs with equal marks but different
register actions end together, they may report the same complex event, so the reported matches must be compared.
"""

from __future__ import annotations

from ensue.automata.liveness import Registers, register_liveness
from ensue.automata.model import Automaton, Transition
from ensue.automata.predicates import conjunction
from ensue.automata.registers import Since
from ensue.automata.timing.clock_types import apart


def exclude(t: Transition, u: Transition, stored: Registers) -> bool:
    """Whether runs that agree on these clocks cannot take both: no time passes a check of each."""
    checks = [[a for a in one.actions if isinstance(a, Since) and a.register in stored] for one in (t, u)]
    return any(a.register == b.register and apart(a.interval, b.interval) for a in checks[0] for b in checks[1])


def is_ambiguous(automaton: Automaton) -> bool:
    """Explores all pairs of states in which two runs with the same history of marks can be.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> is_ambiguous(build(parse_pattern("A+[<= 1 s]"))), is_ambiguous(build(parse_pattern("A ; B OR A ;[> 1 s] B")))
    (False, True)
    """
    if not automaton.registers:
        return False
    stored = register_liveness(automaton).stored
    seen = {(0, 0, False)}
    waiting = [(0, 0, False)]
    while waiting:
        a, b, before = waiting.pop()
        for t in automaton.outgoing.get(a, ()):
            for u in automaton.outgoing.get(b, ()):
                if t.marks != u.marks or conjunction(t.guard, u.guard) is None:
                    continue
                if not before and exclude(t, u, stored[a] | stored[b]):
                    continue  # what one of two runs with the same history has stored, the other has too
                differ = before or t.actions != u.actions
                if differ and t.target in automaton.finals and u.target in automaton.finals:
                    return True
                pair = (min(t.target, u.target), max(t.target, u.target), differ)
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)
    return False
