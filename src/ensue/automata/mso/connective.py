"""`f AND g`, `f OR g`, `f => g`, `f <=> g`: both automata read the letters together."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import cast

from ensue.automata.mso.diagrams import Diagram, Diagrams
from ensue.automata.mso.tracked import Numbering, Tracked, explored

_TRUTH: dict[str, Callable[[bool, bool], bool]] = {
    "AND": lambda f, g: f and g,
    "OR": lambda f, g: f or g,
    "=>": lambda f, g: not f or g,
    "<=>": lambda f, g: f == g,
}


def construct(diagrams: Diagrams, f: Tracked, operator: str, g: Tracked) -> Tracked:
    truth = _TRUTH[operator]
    kept: dict[tuple[Diagram, Diagram], Diagram] = {}

    def step(key: Hashable, states: Numbering) -> Diagram:
        a, b = cast("tuple[int, int]", key)
        return diagrams.combined(f.steps[a], g.steps[b], lambda x, y: states.number((x, y)), kept)

    def is_final(key: Hashable) -> bool:
        a, b = cast("tuple[int, int]", key)
        return truth(a in f.finals, b in g.finals)

    return explored(diagrams, (0, 0), step, is_final)
