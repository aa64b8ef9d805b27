"""What is folded over the events of windows that are found by their ends (`plan/by_spans.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.data.schema import Kind
from ensue.language import ast


@dataclass(frozen=True)
class Folded:
    """An aggregate that is folded over the events of each window."""

    text: str  # as a result names it
    function: str
    argument: ast.Expression | None  # over bare names of attributes; None for `count(w)`
    kind: Kind  # of the argument


@dataclass(frozen=True)
class Spans:
    """The variable that marks all events of a window, and what is folded over them."""

    variable: str
    folded: tuple[Folded, ...]
