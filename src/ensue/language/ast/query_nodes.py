"""Queries: section 6 of the language page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ensue.errors import Span
from ensue.language.ast.durations import Duration
from ensue.language.ast.nodes import Node
from ensue.language.ast.pattern_nodes import Pattern, Selector
from ensue.language.ast.value_nodes import Expression


class Consume(StrEnum):
    NONE = "NONE"
    PARTITION = "PARTITION"
    ANY = "ANY"


@dataclass(frozen=True)
class Item(Node):
    expression: Expression
    alias: str | None = None


class Per(StrEnum):
    """Of what `LIMIT n` takes `n` rows; the whole result is what a query says without PER."""

    RESULT = "RESULT"
    END = "END"
    PARTITION = "PARTITION"


@dataclass(frozen=True)
class SortKey(Node):
    """`e DESC NULLS FIRST`. Without a word about NULLs they count as the greatest value."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class PartitionKey(Node):
    """`k`, or a computed key: then `attribute` names the column of its values, and is made up from its text."""

    attribute: str
    expression: Expression | None = None
    alias: str | None = None


@dataclass(frozen=True)
class GroupKey(Node):
    """A key of PARTITION BY, by the name of its column."""

    name: str


@dataclass(frozen=True)
class Aggregation(Node):
    """What `AGGREGATE` asks of all matches together, and their groups: of keys, of buckets of time, or of each end."""

    items: tuple[Item, ...]
    keys: tuple[GroupKey, ...] = ()
    every: Duration | None = None
    per_end: bool = False

    @property
    def grouped(self) -> bool:
        """Whether there is a GROUP BY: without one, there is always one row."""
        return bool(self.keys) or self.every is not None or self.per_end


@dataclass(frozen=True)
class Query(Node):
    """A whole query. If `items` is None, it is `*`. Query-level FILTER and WITHIN are suffixes of the pattern.

    With an `aggregation` the matches are those of `SELECT *`.
    """

    items: tuple[Item, ...] | None
    streams: tuple[str, ...]
    pattern: Pattern
    selector: Selector = Selector.ALL
    partition: tuple[PartitionKey, ...] = ()
    consume: Consume = Consume.NONE
    limit: int | None = None
    per: Per = Per.RESULT
    order: tuple[SortKey, ...] = ()
    expect: Pattern | None = None  # what the user says of the stream; it changes no result
    aggregation: Aggregation | None = None
    #: The spans of parts that are not nodes: "items", "stream 0", "LIMIT".
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
