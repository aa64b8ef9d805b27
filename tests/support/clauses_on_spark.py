"""Random clauses for Spark, and what they give over tables in memory."""

from __future__ import annotations

import random
import re
from collections import Counter

import pyarrow as pa
from random_clauses import Clauses, random_table

import ensue


def with_nulls_last(text: str) -> str:
    """The text with its own word on where NULLs go: Spark has them first, and tables in memory last."""

    def keys(match: re.Match[str]) -> str:
        written = (k if "NULLS" in k else f"{k} NULLS LAST" for k in match[1].split(", "))
        return "ORDER BY " + ", ".join(written)

    return re.sub(r"ORDER BY ([^()\n]+)", keys, text)


def random_case(seed: int) -> tuple[str, pa.Table]:
    r = random.Random(f"rows on spark {seed}")
    text, table = with_nulls_last(Clauses(r, paths=r.choice((0.0, 0.5))).query()), random_table(r)
    return text, table.set_column(2, "at", table.column("at").cast(pa.timestamp("us", "UTC")))


def in_memory(text: str, table: pa.Table) -> Counter[str] | None:
    """The rows as text, in which NaN equals NaN; None where SKIP has nowhere to go."""
    try:
        return Counter(map(repr, ensue.sql(text, t=table).to_arrow().to_pylist()))
    except ensue.DataError:
        return None
