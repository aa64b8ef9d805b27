"""Runs a text of SQL over Spark DataFrames: the clauses here, one DataFrame each, and everything around them in Spark.

The tables that were given, and the rows of the clauses, are named by WITH around the whole text. So the text may name
them wherever SQL names a table, and its own WITH goes before them, as the inner one does in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ensue.data.sources import is_spark, read_table
from ensue.errors import Problem, ProblemKind, QueryError, Span
from ensue.language import ast
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.check_clause import COMPUTED
from ensue.row_patterns.clause_reader import ClauseReader
from ensue.row_patterns.from_tables import is_column
from ensue.row_patterns.match_terms import NO_COLUMNS
from ensue.spark.plain_columns import OWN, quoted
from ensue.spark.recognize.clause_job import ClauseJob, SparkOptions, prepare
from ensue.spark.recognize.clauses_in_text import ClauseInText, first_clause, name_of_table

#: A table by its name, with an alias or without.
_ONE_NAME = re.compile(r"`?(\w+)`?(?:\s+(?:AS\s+)?`?\w+`?)?", re.IGNORECASE)


def sql_on_spark(text: str, given: Mapping[str, Any], options: SparkOptions) -> DataFrame:
    """The rows of the query as a lazy DataFrame, streaming if a table of it is."""
    running = _Running.over(text, given, options)
    return running.query(running.without_clauses())


def jobs_of(text: str, given: Mapping[str, Any], options: SparkOptions) -> list[ClauseJob]:
    """What is decided for each clause, in the order of the text."""
    running = _Running.over(text, given, options)
    running.without_clauses()
    return running.jobs


@dataclass
class _Running:
    """One text on its way: `frames` are the tables that were given, and those of the clauses so far."""

    text: str
    session: SparkSession
    frames: dict[str, DataFrame]
    options: SparkOptions
    jobs: list[ClauseJob] = field(default_factory=list)

    @classmethod
    def over(cls, text: str, given: Mapping[str, Any], options: SparkOptions) -> _Running:
        session = next(t for t in given.values() if is_spark(t)).sparkSession
        frames = {n: t if is_spark(t) else session.createDataFrame(read_table(t)) for n, t in given.items()}
        return cls(text, session, frames, options)

    def without_clauses(self) -> str:
        """The text with a name in the place of each clause and its table; all else stays where it is."""
        rest = self.text
        while (found := first_clause(rest)) is not None:
            job = self._job(rest, found)
            name = f"{OWN}rows_{len(self.jobs)}"
            self.jobs.append(job)
            self.frames[name] = job.run().drop(NO_COLUMNS)
            begin, end = found.table[0], found.clause[1]
            rest = rest[:begin] + f" {name} ".ljust(end - begin) + rest[end:]
        if not self.jobs:
            hint = "SELECT ... FROM t MATCH_RECOGNIZE (... PATTERN (A B+) DEFINE ...)"
            raise self._error("there is no MATCH_RECOGNIZE in this query", 0, len(rest.rstrip()), hint)
        return rest

    def query(self, text: str, named: tuple[str, ...] = ()) -> DataFrame:
        """The rows of a query in Spark's SQL, behind these lists of WITH."""
        body = f"({text.rstrip().removesuffix(';')}\n)"
        for names in reversed(named):
            body = f"(WITH {names}\n {body})"
        arguments: dict[str, Any] = {f"{OWN}table_{i}": frame for i, frame in enumerate(self.frames.values())}
        tables = [f"{quoted(n)} AS (SELECT * FROM {{{a}}})" for n, a in zip(self.frames, arguments, strict=True)]
        escaped = body.replace("{", "{{").replace("}", "}}")
        return self.session.sql(f"WITH {', '.join(tables)}\n{escaped}", **arguments)

    def _job(self, text: str, found: ClauseInText) -> ClauseJob:
        """The clause over the rows of its table, with columns for the keys that are computed."""
        table = text[slice(*found.table)]
        if not table:
            raise self._error("MATCH_RECOGNIZE stands behind a table: FROM t MATCH_RECOGNIZE (...)", *found.clause)
        clause = self._read(found)
        names: dict[str, str] = {}  # what a column is called in the clause, by its name in Spark
        columns: list[str] = []

        def column(e: ast.Expression, name: str) -> ast.Expression:
            own = f"key {len(columns) + 1} of MATCH_RECOGNIZE"
            columns.append(f", {self.text[e.span.start : e.span.end]}\n AS {quoted(own)}")
            names[own] = name
            return ast.Name(name, span=e.span)

        def written(e: ast.Expression) -> str:
            return " ".join(self.text[e.span.start : e.span.end].split())

        partition = tuple(e if is_column(e) else column(e, written(e)) for e in clause.partition)
        order = tuple(
            k if is_column(k.expression) else replace(k, expression=column(k.expression, f"{COMPUTED}{i}"))
            for i, k in enumerate(clause.order)
        )
        frame = None if columns or found.named else self._given(table)
        if frame is None:
            frame = self.query(f"SELECT *{''.join(columns)}\nFROM {table}", found.named)
        clause = replace(clause, partition=partition, order=order)
        return prepare(clause, self.text, frame, name_of_table(table), names, self.options)

    def _given(self, table: str) -> DataFrame | None:
        """The DataFrame that was given, if the table is one as it is: then it can be seen where it comes from."""
        name = _ONE_NAME.fullmatch(table)
        return None if name is None else next((f for n, f in self.frames.items() if n.lower() == name[1].lower()), None)

    def _read(self, found: ClauseInText) -> rows.MatchRecognize:
        begin, end = found.clause
        reader = ClauseReader(" " * begin + self.text[begin:end] + " " * (len(self.text) - end))
        reader.text = self.text
        return reader.clause()

    def _error(self, message: str, begin: int, end: int, hint: str | None = None) -> QueryError:
        return QueryError(self.text, [Problem(ProblemKind.UNSUPPORTED, message, Span(begin, end), hint)])
