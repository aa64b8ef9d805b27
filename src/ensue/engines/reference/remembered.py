"""What a function says of a part of a query, worked out once for each part and not for each event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ensue.language import ast

N = TypeVar("N", bound=ast.Node)
T = TypeVar("T")


class Remembered(Generic[N, T]):
    """A function of nodes that remembers its values by the identity of the nodes, which it keeps alive.

    Equal nodes would do as well, but to find out that they are equal takes longer than most of what is remembered.
    """

    def __init__(self, function: Callable[[N], T]) -> None:
        self._function = function
        self._known: dict[int, tuple[N, T]] = {}

    def __call__(self, node: N) -> T:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, self._function(node))
        return known[1]
