"""`NEXT(p)` and `LAST(p)` with conditions on ranks: as large as the automaton of `p`, however large `select_` gets.

Theorem 7.3 of Grez makes the order of all open runs a part of the state, which can be exponentially large. That order
depends on the stream alone. So it is kept beside the automaton (`automata/ranker.py`), and each transition asks of it
whether it is a best way to its target, as Algorithm 2 does: then only best runs stay.
"""

from __future__ import annotations

from ensue.automata.model import Automaton, Builder
from ensue.automata.predicates import Best, Chosen, Ranking
from ensue.language import ast


def construct(selector: ast.Selector, p: Automaton, text: str) -> Automaton:
    """The runs of `p` that the selector keeps among all that end at the same event; `text` is the pattern's text."""
    assert selector in (ast.Selector.NEXT, ast.Selector.LAST), "only these order all runs"
    moves = tuple(dict.fromkeys((t.source, t.guard, bool(t.marks), t.target) for t in p.transitions))
    ranking = Ranking(name_of(selector, text), selector, p.finals, moves)
    made = Builder((0, False))
    for t in p.transitions:
        best = t.guard | {(Best(ranking, t.source, bool(t.marks), t.target), True)}
        # A state where a run of `p` may end is two here: one of runs that are chosen there, and one of the others.
        for source in [(t.source, ended) for ended in (False, True) if not ended or t.source in p.finals]:
            if t.target not in p.finals:
                made.add(source, best, t.label, (t.target, False))
                continue
            for chosen in (True, False):
                if chosen or t.target in p.outgoing:
                    guard = best | {(Chosen(ranking, t.target), chosen)}
                    made.add(source, guard, t.label, (t.target, chosen), final=chosen)
    return made.build()


def name_of(selector: ast.Selector, text: str) -> str:
    """The name of the ranking."""
    return f"{selector}({text})"
