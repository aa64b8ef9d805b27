"""The base of all nodes of the tree."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensue.errors import Span

NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Node:
    """The base of all nodes: a span that equality ignores."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)
