"""PARTITION BY of the reference: substreams of events with equal keys. NULLs are equal, and so are NaNs."""

from __future__ import annotations

from typing import Any

from ensue.data.events import EventStream
from ensue.data.partitions import substreams_of
from ensue.engines.reference.expressions import Events, Expressions, Scope
from ensue.language import ast

_NAN = object()


def substreams(stream: EventStream, keys: tuple[ast.PartitionKey, ...]) -> list[list[int]]:
    """The positions of each substream, in stream order; without keys, one substream."""
    if all(k.expression is None for k in keys):
        return substreams_of(stream, [k.attribute for k in keys])
    expressions = Expressions(Events(stream, [range(len(stream))]))
    found: dict[tuple[Any, ...], list[int]] = {}
    for position in range(len(stream)):
        values = (expressions.value(k.expression or ast.Name(k.attribute), Scope(here=position)) for k in keys)
        found.setdefault(tuple(_NAN if v != v else v for v in values), []).append(position)
    return list(found.values())
