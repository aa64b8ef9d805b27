"""Whether two runs can give the same complex event and do other things with their registers.

Determinisation makes one of all runs that mark and store alike. Where runs that mark alike have stored or checked
differently and end together, what they report may be the same complex event, and has to be compared.
"""

from __future__ import annotations

from ensue.automata.model import Automaton
from ensue.automata.predicates import conjunction


def is_ambiguous(automaton: Automaton) -> bool:
    """By stepping over all pairs of states that runs with one history of marks can be in.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> is_ambiguous(build(parse_pattern("A+[<= 1 s]"))), is_ambiguous(build(parse_pattern("A ; B OR A ;[> 1 s] B")))
    (False, True)
    """
    if not automaton.registers:
        return False
    seen = {(0, 0, False)}
    waiting = [(0, 0, False)]
    while waiting:
        a, b, before = waiting.pop()
        for t in automaton.outgoing.get(a, ()):
            for u in automaton.outgoing.get(b, ()):
                if t.marks != u.marks or conjunction(t.guard, u.guard) is None:
                    continue
                differ = before or t.actions != u.actions
                if differ and t.target in automaton.finals and u.target in automaton.finals:
                    return True
                pair = (min(t.target, u.target), max(t.target, u.target), differ)
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)
    return False
