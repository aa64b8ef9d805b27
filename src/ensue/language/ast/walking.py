"""Walks through a tree, and trees with other nodes in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeVar

from ensue.language.ast.nodes import Node
from ensue.language.ast.value_nodes import Expression

N = TypeVar("N", bound=Node)


#: The fields of each kind of node, when they have been asked for.
_known: dict[type[Node], tuple[str, ...]] = {}


def _fields(kind: type[Node]) -> tuple[str, ...]:
    found = _known.get(kind)
    if found is None:
        found = _known[kind] = tuple(f.name for f in dataclasses.fields(kind))
    return found


def children(node: Node) -> Iterator[Node]:
    """The direct children of the node, in the order of the text."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Node))


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, without recursion, so that deep input cannot overflow the stack."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def find(node: Node, kind: type[N]) -> Iterator[N]:
    return (n for n in walk(node) if isinstance(n, kind))


def rebuilt(node: N, by: Callable[[Node], Node | None]) -> N:
    """The node with each part replaced for which `by` returns another; replacements are not searched again."""
    other = by(node)
    if other is not None:
        return other  # type: ignore[return-value]
    changes: dict[str, object] = {}
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            changes[name] = rebuilt(value, by)
        elif isinstance(value, tuple):
            changes[name] = tuple(rebuilt(v, by) if isinstance(v, Node) else v for v in value)
    return dataclasses.replace(node, **changes)  # type: ignore[arg-type]


def replaced(e: Expression, by: Callable[[Expression], Expression | None]) -> Expression:
    """The expression with each part replaced for which `by` returns another; replacements are not searched again."""
    other = by(e)
    if other is not None:
        return other
    changes: dict[str, object] = {}
    for name in _fields(type(e)):
        value = getattr(e, name)
        if isinstance(value, Expression):
            changes[name] = replaced(value, by)
        elif isinstance(value, tuple):
            changes[name] = tuple(replaced(v, by) if isinstance(v, Expression) else v for v in value)
    return dataclasses.replace(e, **changes)  # type: ignore[arg-type]
