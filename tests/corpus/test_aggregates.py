"""Aggregates over all matches, worked out by hand; every engine computes them, and a running query in batches.

A case has what one of `test_corpus.py` has, with `rows`, one a line as JSON, in the order of the result.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from case_files import lines, read

import ensue
from ensue.data.events import read_events
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.results.running_groups import RunningTotals

FILE = Path(__file__).parent / "all_matches" / "aggregates.toml"
CASES = [pytest.param(c, id=c["name"]) for c in tomllib.loads(FILE.read_text(encoding="utf-8"))["case"]]


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], engine: str) -> None:
    table, options = read(case)
    found = ensue.query(case["query"]).run(table, **options, engine=engine).to_arrow()
    assert "columns" not in case or found.column_names == case["columns"].split()
    assert [list(r.values()) for r in found.to_pylist()] == [json.loads(r) for r in lines(case["rows"])]


@pytest.mark.parametrize("case", CASES)
def test_case_event_by_event(case: dict[str, Any]) -> None:
    table, options = read(case)
    query = ensue.query(case["query"])
    stream = read_events(table, query.ast.streams, **options)
    running = RunningTotals(choose(check(query.ast, query.text, stream.schema)), stream.tick, stream.time_column.type)
    found = [running.push(stream.slice(k, 1)) for k in range(len(stream))]
    rows = pa.concat_tables([*found, running.groups_left()]).to_pylist()
    expected = [json.loads(r) for r in lines(case["rows"])]
    assert sorted(map(repr, (list(r.values()) for r in rows))) == sorted(map(repr, expected))
