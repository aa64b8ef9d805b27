"""`EXISTS`: a track is forgotten, and all the ways to fill it are followed at once, as a set of states."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from ensue.automata.mso.diagrams import Diagram, Diagrams
from ensue.automata.mso.tracked import Numbering, Tracked, explored

_States = frozenset[int]


def construct(diagrams: Diagrams, variable: int, f: Tracked) -> Tracked:
    marked: dict[Diagram, Diagram] = {}
    unmarked: dict[Diagram, Diagram] = {}
    sets = Numbering()
    alone: dict[Diagram, Diagram] = {}
    joined: dict[tuple[Diagram, Diagram], Diagram] = {}
    numbered: dict[Diagram, Diagram] = {}

    def as_set(d: Diagram) -> Diagram:
        return diagrams.mapped(d, lambda state: sets.number(frozenset({state})), alone)

    def union(d: Diagram, e: Diagram) -> Diagram:
        def join(a: int, b: int) -> int:
            return sets.number(cast(_States, sets.keys[a]) | cast(_States, sets.keys[b]))

        return diagrams.combined(d, e, join, joined)

    def step(key: Hashable, states: Numbering) -> Diagram:
        found: Diagram | None = None
        for state in sorted(cast(_States, key)):
            for yes, kept in ((True, marked), (False, unmarked)):
                here = as_set(diagrams.answered(f.steps[state], {variable: yes}, kept))
                found = here if found is None else union(found, here)
        assert found is not None
        return diagrams.mapped(found, lambda n: states.number(sets.keys[n]), numbered)

    return explored(diagrams, frozenset({0}), step, lambda key: not f.finals.isdisjoint(cast(_States, key)))
