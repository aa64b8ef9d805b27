"""The public face of MATCH_RECOGNIZE: `ensue.sql` and `ensue.explain_sql`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.sources import is_spark, read_schema, read_table
from ensue.errors import EngineError, Problem, ProblemKind, QueryError
from ensue.language import ast
from ensue.language.parser import decode
from ensue.results.rows import SHOWN, Rows, count_of
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.explaining import explain_clause
from ensue.row_patterns.from_tables import Recognize
from ensue.row_patterns.match_finding import Plan
from ensue.row_patterns.match_terms import NO_COLUMNS, CheckedClause
from ensue.row_patterns.reference.recognizing import recognize
from ensue.row_patterns.result_rows import BUDGET, recognize_rows
from ensue.row_patterns.select_reader import parse_select
from ensue.row_patterns.select_rows import Selecting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkTable(Protocol):
    """The attribute that distinguishes a Spark DataFrame, so that type checkers do not need pyspark installed."""

    @property
    def isStreaming(self) -> bool: ...


class SqlRows(Rows):
    """The rows of a query of `ensue.sql`, in memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._budget = Budget()

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self._table

    def _head(self) -> pa.Table:
        return self._table.slice(0, SHOWN)

    def _counted(self) -> str:
        return count_of(len(self), "row", "rows")


@overload
def sql(
    text: str | bytes,
    tables: Mapping[str, SparkTable] | None = None,
    *,
    engine: Literal["auto"] = "auto",
    budget: int = BUDGET,
    memory: str | int | None = None,
    buckets: int | None = None,
    alone: bool = False,
    name: str = "ensue",
    **named: SparkTable,
) -> DataFrame: ...


@overload
def sql(
    text: str | bytes,
    tables: Mapping[str, Any] | None = None,
    *,
    engine: str = "auto",
    budget: int = BUDGET,
    **named: Any,
) -> SqlRows: ...


def sql(
    text: str | bytes,
    tables: Mapping[str, Any] | None = None,
    *,
    engine: str = "auto",
    budget: int = BUDGET,
    memory: str | int | None = None,
    buckets: int | None = None,
    alone: bool = False,
    name: str = "ensue",
    **named: Any,
) -> SqlRows | DataFrame:
    """Returns the rows of a query with MATCH_RECOGNIZE, over the tables that are given by name.

    A table is whatever `ensue.match` takes: an Arrow table or reader, a pandas or polars frame, a list of dicts, a path
    to Parquet, CSV or JSON lines. `tables` is a mapping for names that are
    no Python names. `budget` is the most steps that the search for one match may take, 0 for no bound: past it comes an
    EngineError that names the condition and the row. `engine` is "auto" or "reference".

    With a Spark DataFrame among the tables, the result is a lazy DataFrame, and the text around the clause is Spark's
    SQL. `memory`, such as "512 MB", is then what each task may take. Over a stream, `alone` says that nothing else in
    it has a watermark, so rows need not wait for the next micro-batch; `buckets` are the values in the state store;
    `name` is the prefix of the metrics.

    >>> rows = [{"day": day, "price": price} for day, price in enumerate([90, 80, 85, 90, 70])]
    >>> sql('''
    ...     SELECT * FROM ticks MATCH_RECOGNIZE (
    ...       ORDER BY day
    ...       MEASURES A.day AS top, LAST(B.price) AS bottom, LAST(C.day) AS until
    ...       PATTERN (A B+ C+)
    ...       DEFINE B AS price < PREV(price), C AS price > PREV(price))
    ... ''', ticks=rows)
    top  bottom  until
    ---  ------  -----
    0    80      3
    1 row
    """
    given = _named_tables(tables, named)
    if any(map(is_spark, given.values())):
        if engine != "auto":
            raise EngineError(f"engine='{engine}' is for tables in memory and files: Spark has its own")
        from ensue.spark.recognize.clause_job import SparkOptions
        from ensue.spark.recognize.sql_on_spark import sql_on_spark

        options = SparkOptions(budget, memory, buckets, alone, name)
        return sql_on_spark(decode(text), {**(tables or {}), **named}, options)
    if memory is not None or buckets is not None or alone or name != "ensue":
        raise TypeError("memory, buckets, alone and name are for Spark DataFrames only")
    written, select = _parsed(text)
    evaluate = _recognizing(engine, budget)
    # Over no rows first: whatever is wrong with the text is said before any data is read.
    Selecting(written, {n: _empty(t) for n, t in given.items()}, evaluate).select(select)
    used = _used(select)
    read = {name: _read(table, used) for name, table in given.items()}
    found = Selecting(written, read, evaluate).select(select)
    return SqlRows(found.select([c for c in found.column_names if c != NO_COLUMNS]))


def explain_sql(text: str | bytes, tables: Mapping[str, Any] | None = None, **named: Any) -> str:
    """How each clause of a query is evaluated over tables with these columns, and why.

    >>> print(explain_sql("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B+) DEFINE B AS v > A.v)", t=[{"v": 1}]))
    row pattern
      PATTERN     (A B+), 3 steps written out
      B           v > A.v: asked in the search, since A.v goes to other rows of the match
      search      in order of preference, with failures remembered
      partitions  one, and its rows in the order in which they come
    """
    said: list[str] = []

    def explained(clause: CheckedClause, table: pa.Table) -> pa.Table:
        plan = Plan.of(clause)
        said.append(explain_clause(plan))
        return recognize_rows(plan, table.slice(0, 0))

    given = _named_tables(tables, named)
    if any(map(is_spark, given.values())):
        from ensue.spark.recognize.explain_on_spark import explain_on_spark

        return explain_on_spark(decode(text), {**(tables or {}), **named})
    written, select = _parsed(text)
    Selecting(written, {n: _empty(t) for n, t in given.items()}, explained).select(select)
    return "\n".join(said)


def _named_tables(tables: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, table in {**(tables or {}), **named}.items():
        if name.upper() in found:
            raise EngineError(f"two tables are named {name}: names of tables are the same in capitals")
        found[name.upper()] = table
    return found


def _parsed(text: str | bytes) -> tuple[str, rows.Select]:
    written, select = parse_select(text)
    if not _has_clause(select):
        hint = "SELECT ... FROM t MATCH_RECOGNIZE (... PATTERN (A B+) DEFINE ...)"
        problem = Problem(ProblemKind.UNSUPPORTED, "there is no MATCH_RECOGNIZE in this query", select.span, hint)
        raise QueryError(written, [problem])
    return written, select


def _has_clause(select: rows.Select) -> bool:
    inside = any(source.clause is not None for source in ast.find(select, rows.Source))
    return inside or any(_has_clause(q) for s in ast.find(select, rows.Select) for _, q in s.named)


def _recognizing(engine: str, budget: int) -> Recognize:
    if engine not in ("auto", "reference"):
        raise EngineError(f"unknown engine '{engine}': 'auto' or 'reference'")
    if engine == "reference":
        return recognize
    return lambda clause, table: recognize_rows(Plan.of(clause), table, budget)


# ---------------------------------------------------------------- tables


def _empty(table: Any) -> pa.Table:
    """The columns of a table, without its rows."""
    if isinstance(table, pa.Table):
        return read_table(table.slice(0, 0))
    if isinstance(table, pa.RecordBatchReader):
        return read_table(table.schema.empty_table())
    if isinstance(table, str | Path):
        return read_table(read_schema(table).empty_table())
    return read_table(table).slice(0, 0)


def _read(table: Any, used: frozenset[str] | None) -> pa.Table:
    """The rows of a table; of a file only the columns that the query may use."""
    if used is None or not isinstance(table, str | Path):
        return read_table(table)
    names = [n for n in read_schema(table).names if n.lower() in used]
    return read_table(table, only=frozenset(names) if names else None)


def _used(select: rows.Select) -> frozenset[str] | None:
    """The names of all columns in the text, in small letters; None if it takes whatever the tables have."""
    names: set[str] = set()
    queries = [select]
    for query in queries:
        queries.extend(q for _, q in query.named)
        for node in ast.walk(query):
            match node:
                case rows.Select() if node is not query:
                    queries.append(node)
                case rows.Select() if any(i.expression is None for i in node.items):
                    if any(s.clause is None for s in (node.source, *(j.source for j in node.joins))):
                        return None
                case rows.MatchRecognize() if node.rows is not rows.RowsPerMatch.ONE:
                    return None
                case ast.Name():
                    names.add(node.name.lower())
                case ast.Attribute():  # the name before the dot may be that of a column of structs
                    names.update((node.name.lower(), node.variable.lower()))
    return frozenset(names)
