"""Random clauses over random tables: the searches over columns give what the slow reference gives."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from amounts import most, shares
from random_clauses import Clauses, random_table

import ensue


def compare(seed: int) -> str:
    """Compares the two over the case of a seed; `refused` where both stop at the same error of SKIP."""
    r = random.Random(seed)
    text = Clauses(r, paths=r.choice((0.0, 0.0, 0.5, 0.8))).query()
    table = random_table(r)
    expected, found = (_outcome(text, table, engine) for engine in ("reference", "auto"))
    assert found == expected, f"seed {seed}:\n{text}\n{table.to_pylist()}"
    return "refused" if isinstance(expected, str) else "compared"


def _outcome(text: str, table: pa.Table, engine: str) -> object:
    """The columns with their types, and the rows as text, in which NaN equals NaN; or the kind of the error."""
    try:
        found = ensue.sql(text, t=table, engine=engine).to_arrow()
    except ensue.DataError as e:
        return "first row" if "goes to the first row" in str(e) else "no row"
    return found.schema, [repr(row) for row in found.to_pylist()]


@pytest.mark.parametrize("seeds", shares(1200, each=300), ids=str)
def test_search_and_reference_agree(seeds):
    outcomes = [compare(seed) for seed in seeds]
    assert outcomes.count("compared") > most(seeds, 0.8)
