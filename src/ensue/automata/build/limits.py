"""The error for parts of a query that no automaton expresses, and a limit on predicates."""

from __future__ import annotations

from ensue.language import ast

#: Absent patterns and disjunctive filters split guards into cells, whose number is 2 to the power of the predicates.
MAX_PREDICATES = 10


class Unsupported(Exception):
    """Raised for a part of a query that the automaton engine does not evaluate; if it is None, for the whole query."""

    def __init__(self, part: ast.Node | None, what: str) -> None:
        self.part = part
        self.what = what
        super().__init__(what)


class TooLargeToBuild(Exception):
    """Raised for a formula whose automaton would be too large: no engine evaluates it in any time worth waiting for."""

    def __init__(self, part: ast.Node, what: str, hint: str) -> None:
        self.part = part
        self.what = what
        self.hint = hint
        super().__init__(what)


def check_predicates(part: ast.Node, count: int) -> None:
    if count > MAX_PREDICATES:
        raise Unsupported(part, f"more than {MAX_PREDICATES} different conditions in one absent pattern or clause")
