"""What no automaton of this kind expresses."""

from __future__ import annotations

from ensue.language import ast

#: Absent patterns and disjunctive filters split guards into cells: two to the power of their predicates.
MAX_PREDICATES = 10


class Unsupported(Exception):
    """A part of a query that the automaton engine does not evaluate; None is the whole."""

    def __init__(self, part: ast.Node | None, what: str) -> None:
        self.part = part
        self.what = what
        super().__init__(what)


def check_predicates(part: ast.Node, count: int) -> None:
    if count > MAX_PREDICATES:
        raise Unsupported(part, f"more than {MAX_PREDICATES} different conditions in one absent pattern or clause")
