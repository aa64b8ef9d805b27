"""`(b TO e WHERE f)`: the windows of a formula over positions, compiled by `automata/mso/`."""

from __future__ import annotations

from ensue.automata.build.after import BEFORE, MOST_STATES
from ensue.automata.build.limits import TooLargeToBuild, Unsupported
from ensue.automata.model import Automaton
from ensue.automata.mso import FormulaTooLarge, compiled
from ensue.automata.mso.quantifiers import alternation
from ensue.automata.mso.splitting_at_begin import construct as construct_split
from ensue.automata.mso.splitting_at_begin import split
from ensue.language.position_logic import FromTo
from ensue.language.printer import print_formula, print_pattern


def construct(p: FromTo) -> Automaton:
    try:
        parts = split(compiled(p))
    except FormulaTooLarge as e:
        text = print_formula(e.part)
        what = f"the automaton of {text if len(text) <= 80 else text[:77] + '...'} has {e.said}"
        raise TooLargeToBuild(e.part, what, alternation(e.part)) from None
    if len(parts.before) > MOST_STATES:
        raise Unsupported(p, f"a formula that tells more than {MOST_STATES} kinds of beginnings apart")
    return construct_split(parts, f"{BEFORE}{print_pattern(p)}")
