"""Random patterns for tests of selectors, as texts."""

from __future__ import annotations

from random import Random


def random_part(rng: Random, depth: int) -> str:
    """A pattern whose complex events overlap in many ways, under few names."""
    if depth == 0:
        type_ = rng.choice(["A", "A", "B", "C", "(A OR B)", "ANY"])
        return f"({type_} AS {rng.choice('xy')})" if rng.random() < 0.6 else type_
    left, right = random_part(rng, depth - 1), random_part(rng, rng.randrange(depth))
    return rng.choice(
        [
            f"({left} ; {right})",
            f"({left} ; {right})",
            f"({left} : {right})",
            f"({left} OR {right})",
            f"({left} ALL {right})",
            f"({left} ; {right}? ; A)",
            f"({left}){rng.choice(['+', ':+', '{2}', '{1,3}'])}",
            f"(({left}) AS z)",
        ]
    )
