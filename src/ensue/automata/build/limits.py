"""What no automaton of this kind expresses, and how large one may become."""

from __future__ import annotations

from typing import overload

from ensue.automata.model import Automaton
from ensue.language import ast

#: A hostile query is refused before it eats the memory; real ones stay a hundred times below.
MAX_TRANSITIONS = 50_000
#: Absent patterns and disjunctive filters split guards into cells: two to the power of their predicates.
MAX_PREDICATES = 10


class Unsupported(Exception):
    """A part of a query that the automaton engine does not evaluate."""

    def __init__(self, part: ast.Node, what: str) -> None:
        self.part = part
        self.what = what
        super().__init__(what)


@overload
def check_size(p: ast.Pattern, automaton: Automaton) -> Automaton: ...
@overload
def check_size(p: ast.Pattern, *, rounds: int) -> None: ...
def check_size(p: ast.Pattern, automaton: Automaton | None = None, *, rounds: int = 0) -> Automaton | None:
    """The automaton, where it is not too large; with `rounds`, whether so many copies could be."""
    if rounds > MAX_TRANSITIONS or (automaton is not None and len(automaton.transitions) > MAX_TRANSITIONS):
        raise Unsupported(p, f"a pattern whose automaton has more than {MAX_TRANSITIONS:,} transitions")
    return automaton


def check_predicates(part: ast.Node, count: int) -> None:
    if count > MAX_PREDICATES:
        raise Unsupported(part, f"more than {MAX_PREDICATES} different conditions in one absent pattern or clause")
