"""The abstract syntax of SQL with MATCH_RECOGNIZE: small immutable nodes with spans, like those of `language/ast.py`.

Expressions are those of the language, and four more that speak of a match. A name that is not quoted is in capitals
where it names a variable, and as it is written where it names a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ensue.language.ast import Duration, Expression, Node

# ---------------------------------------------------------------- expressions that speak of a match


class Semantics(StrEnum):
    """Whether a part speaks of the match as far as the current row, or of the whole match."""

    RUNNING = "RUNNING"
    FINAL = "FINAL"


@dataclass(frozen=True)
class Navigate(Expression):
    """`FIRST(e, n)`, `LAST(e, n)`, `PREV(e, n)`, `NEXT(e, n)`; `offset` is None where it is not written."""

    function: str  # in capitals
    argument: Expression
    offset: Expression | None = None
    semantics: Semantics | None = None


@dataclass(frozen=True)
class Aggregated(Expression):
    """`sum(A.x)`, `count(DISTINCT x)`; `count(*)` has no arguments, and `count(A.*)` the variable in `rows_of`."""

    function: str
    arguments: tuple[Expression, ...] = ()
    distinct: bool = False
    rows_of: str | None = None
    semantics: Semantics | None = None
    order: tuple[SortKey, ...] = ()


@dataclass(frozen=True)
class Classifier(Expression):
    """`CLASSIFIER()` and `CLASSIFIER(U)`"""

    variable: str | None = None


@dataclass(frozen=True)
class MatchNumber(Expression):
    """`MATCH_NUMBER()`"""


@dataclass(frozen=True)
class MatchTime(Expression):
    """`MATCH_ROWTIME()`: the first column of ORDER BY in the last row; the reader puts that in its place."""


@dataclass(frozen=True)
class Framed(Expression):
    """`avg(x) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)`: over rows of the partition, whatever the match is.

    `low` and `high` are the first and the last row, counted from the current one; None is the partition's end.
    """

    function: str
    arguments: tuple[Expression, ...]
    low: int | None
    high: int | None


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True)
class RowPattern(Node):
    pass


@dataclass(frozen=True)
class Variable(RowPattern):
    """`A`: one row."""

    name: str


@dataclass(frozen=True)
class Empty(RowPattern):
    """`()`"""


@dataclass(frozen=True)
class PartitionStart(RowPattern):
    """`^`"""


@dataclass(frozen=True)
class PartitionEnd(RowPattern):
    """`$`"""


@dataclass(frozen=True)
class Concatenation(RowPattern):
    """`p q r`"""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class Alternation(RowPattern):
    """`p | q | r`: the first is preferred."""

    options: tuple[RowPattern, ...]


@dataclass(frozen=True)
class Permutation(RowPattern):
    """`PERMUTE(p, q, r)`: in every order, those that begin with the earlier arguments are preferred."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class Quantified(RowPattern):
    """`p*`, `p{2,3}?`; if `high` is None, there is no upper limit. A greedy one prefers one round more."""

    body: RowPattern
    low: int
    high: int | None
    greedy: bool = True


@dataclass(frozen=True)
class Exclusion(RowPattern):
    """`{- p -}`: its rows are not shown by ALL ROWS PER MATCH."""

    body: RowPattern


# ---------------------------------------------------------------- the clause


class RowsPerMatch(StrEnum):
    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipTo(StrEnum):
    PAST_LAST = "PAST LAST ROW"
    NEXT = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True)
class Skip(Node):
    """Where the search goes on after a match; `variable` is there for TO FIRST and TO LAST."""

    to: SkipTo = SkipTo.PAST_LAST
    variable: str | None = None


@dataclass(frozen=True)
class SortKey(Node):
    """`e ASC NULLS LAST`; where NULLs go is None if it is not written."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Measure(Node):
    expression: Expression
    name: str


@dataclass(frozen=True)
class Subset(Node):
    name: str
    variables: tuple[Variable, ...]


@dataclass(frozen=True)
class Definition(Node):
    variable: str
    condition: Expression


@dataclass(frozen=True)
class MatchRecognize(Node):
    """The clause between its parentheses."""

    pattern: RowPattern
    partition: tuple[Expression, ...] = ()
    order: tuple[SortKey, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: RowsPerMatch = RowsPerMatch.ONE
    skip: Skip = Skip()
    within: Duration | None = None
    subsets: tuple[Subset, ...] = ()
    definitions: tuple[Definition, ...] = ()


# ---------------------------------------------------------------- the SQL around it


@dataclass(frozen=True)
class NamedTable(Node):
    name: str


@dataclass(frozen=True)
class ValuesTable(Node):
    """`VALUES (1, 'a'), (2, 'b')`"""

    rows: tuple[Node, ...]


@dataclass(frozen=True)
class ValuesRow(Node):
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class UnionOf(Node):
    """`SELECT ... UNION ALL SELECT ...`; without ALL, each row once."""

    parts: tuple[Select, ...]
    distinct: bool


Table = NamedTable | ValuesTable | UnionOf


@dataclass(frozen=True)
class Item(Node):
    """An item of SELECT; a star has no expression, and the table before its dot in `star_of`."""

    expression: Expression | None
    alias: str | None = None
    star_of: str | None = None


@dataclass(frozen=True)
class Source(Node):
    """What FROM names: a table, rows or a query; its alias, the names of its columns; the clause behind it."""

    table: Table | Select
    alias: str | None = None
    columns: tuple[str, ...] = ()
    clause: MatchRecognize | None = None
    result: str | None = None  # the alias behind the clause
    result_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Join(Node):
    """`, source` and `JOIN source ON condition`: every pair of rows for which the condition is TRUE."""

    source: Source
    condition: Expression | None = None


@dataclass(frozen=True)
class Select(Node):
    items: tuple[Item, ...]
    source: Source
    joins: tuple[Join, ...] = ()
    where: Expression | None = None
    group: tuple[Expression, ...] = ()
    having: Expression | None = None
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False
    named: tuple[tuple[str, Select], ...] = ()  # WITH name AS (...)
