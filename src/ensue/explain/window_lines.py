"""What `explain` says of windows: the pairs of expressions that a formula stands for."""

from __future__ import annotations

from ensue.automata.mso import compiled
from ensue.automata.mso.pairs import pairs_of, print_pair
from ensue.automata.mso.splitting_at_begin import split
from ensue.language import ast
from ensue.language.position_logic import FromTo

#: More pairs, and longer ones, tell nobody anything.
_MOST_PAIRS, _LONGEST = 4, 110


def pair_lines(pattern: ast.Pattern) -> list[str]:
    """For each formula of a query that was compiled: the same windows as expressions, while they are short."""
    lines = []
    for p in ast.find(pattern, FromTo):
        pairs = pairs_of(split(compiled(p)))
        types = frozenset(t.name for t in ast.find(p, ast.Type))
        texts = [] if pairs is None else [print_pair(pair, types) for pair in pairs]
        if pairs is None or len(texts) > _MOST_PAIRS or any(len(text) > _LONGEST for text in texts):
            lines.append("the formula as expressions would be too long to read")
        else:
            lines.append(" OR ".join(texts) or "no window at all: the formula never holds")
    return lines
