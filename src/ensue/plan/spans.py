"""What is folded over the events of windows that are found by their ends (`plan/by_spans.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.data.schema import Kind
from ensue.language import ast
from ensue.logic.own_aggregates import OwnAggregate


@dataclass(frozen=True)
class Folded:
    """An aggregate that is folded over the events of each window."""

    text: str  # as a result names it
    function: str
    argument: ast.Expression | None  # over bare names of attributes; None for `count(w)`
    kind: Kind  # of the argument
    own: OwnAggregate | None = None  # an aggregate of the user's own


@dataclass(frozen=True)
class Spans:
    """The variable that marks all events of a window, and what is folded over them."""

    variable: str
    folded: tuple[Folded, ...]
    #: Of how many events every window is, where one condition says what may follow another event in it: a ring counts
    #: them (`kernels/counted_windows.py`).
    count: int | None = None
    #: Whether rows show the events themselves, so that the windows that pass are written out in the end.
    shown: bool = False
