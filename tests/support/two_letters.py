"""Random expressions over streams of two types, `a` and `b`, for Ensue and for Python's `re`."""

from __future__ import annotations

from random import Random


def random_regex(rng: Random, depth: int) -> tuple[str, str]:
    """The same expression for Ensue, without skipping, and for Python's `re`."""
    if depth == 0 or rng.random() < 0.25:
        return rng.choice((("a", "a"), ("b", "b"), ("ANY", ".")))
    kind = rng.randrange(4)
    ours, theirs = random_regex(rng, depth - 1)
    if kind == 0:
        return f"({ours}):+", f"(?:{theirs})+"
    if kind == 1:
        return f"({ours}):{{2}}", f"(?:{theirs}){{2}}"
    right, their_right = random_regex(rng, depth - 1)
    if kind == 2:
        return f"({ours} : {right})", f"(?:{theirs}{their_right})"
    return f"({ours} OR {right})", f"(?:{theirs}|{their_right})"
