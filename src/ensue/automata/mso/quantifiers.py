"""Which quantifiers made a formula large: each change from EXISTS to FORALL can make it an exponent."""

from __future__ import annotations

import itertools

from ensue.language.position_logic import Bound, Connected, Formula, Negated, Quantified

#: Quantifiers from the outermost inwards: whether it is FORALL where it counts, and over what.
_Chain = tuple[tuple[bool, str], ...]


def alternation(f: Formula) -> str:
    """What made the formula large, as a hint.

    >>> from ensue.language.parser import parse_pattern
    >>> alternation(parse_pattern("(b TO e WHERE NOT EXISTS x, SET X (FORALL y (x IN X => y < x)))").formula)
    'its quantifiers change 1 time, FORALL x, FORALL SET X, EXISTS y: each change can make the size an exponent'
    """
    chain = _longest(f, positive=True)
    if not chain:
        return "it has no quantifier: fewer conditions, or shorter distances x + n, make it smaller"
    shown = [f"{'FORALL' if every else 'EXISTS'} {name}" for every, name in chain]
    text = ", ".join(shown if len(shown) <= 6 else [*shown[:5], "..."])
    changes = _changes(chain)
    if not changes:
        return f"its quantifiers are {text}: each of them can make the size an exponent"
    times = "1 time" if changes == 1 else f"{changes} times"
    return f"its quantifiers change {times}, {text}: each change can make the size an exponent"


def _changes(chain: _Chain) -> int:
    return sum(a[0] != b[0] for a, b in itertools.pairwise(chain))


def _longest(f: Formula, *, positive: bool) -> _Chain:
    """The chain of quantifiers, one inside the other, that changes most often."""
    match f:
        case Negated():
            return _longest(f.body, positive=not positive)
        case Connected(operator="=>"):
            sides = [_longest(f.left, positive=not positive), _longest(f.right, positive=positive)]
        case Connected(operator="<=>"):
            sides = [_longest(side, positive=p) for side in (f.left, f.right) for p in (positive, not positive)]
        case Connected():
            sides = [_longest(f.left, positive=positive), _longest(f.right, positive=positive)]
        case Quantified():
            own = tuple((f.every == positive, _named(b)) for b in f.over)
            return own + _longest(f.body, positive=positive)
        case _:
            return ()
    return max(sides, key=lambda chain: (_changes(chain), len(chain)))


def _named(b: Bound) -> str:
    return f"SET {b.name}" if b.is_set else b.name
