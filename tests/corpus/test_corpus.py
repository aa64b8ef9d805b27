"""The corpus: what each query means over a few events, worked out by hand from the language page.

A case in a TOML file has
  name, why           what it shows, and the rule that it follows from
  query               the text
  types, or events    the types of the events in a line, or a table: a header, then one line an event; values are
                      numbers, times as 2024-01-31T12:00:00, structs and lists as JSON without spaces, or text; '-'
                      is NULL.
                      Without a time column the events are one second apart.
  options             of `Query.run`: time, type, unit (seconds by default), tiebreak
  expected            one complex event a line: `start..end x={1,2} y={3}`, the variables that mark something
  columns             the names of the result's columns, in order
  expected_rows       one row a line, as JSON, in any order
  ordered_rows        the same in the order of ORDER BY
  expected_count_by_end   for LIMIT: how many of the expected ones are reported for each end
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from case_files import lines, read

import ensue
from ensue import Matches

KEYS = set(
    "name why query types events options expected columns expected_rows ordered_rows expected_count_by_end".split()
)


CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(Path(__file__).parent.glob("*.toml"))
    for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
]


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], engine: str) -> None:
    table, options = read(case)
    matches = ensue.query(case["query"]).run(table, **options, engine=engine)
    found, expected = lines_of(matches), [canonical(line) for line in lines(case["expected"])]
    if "expected_count_by_end" in case:
        assert Counter(map(str, matches.end.tolist())) == case["expected_count_by_end"]
        assert set(found) <= set(expected)
        assert len(set(found)) == len(found)
    else:
        assert sorted(found) == sorted(expected)
    in_order = "ORDER BY" not in case["query"]
    assert not in_order or matches.end.tolist() == sorted(matches.end.tolist()), (
        "reported as soon as the last event has arrived"
    )
    result = matches.to_arrow()
    if "columns" in case:
        assert result.column_names == case["columns"].split()
    rows = [list(row.values()) for row in result.to_pylist()]
    if "ordered_rows" in case:
        assert rows == [json.loads(r) for r in lines(case["ordered_rows"])]
    if "expected_rows" in case:
        assert sorted(map(json.dumps, rows)) == sorted(json.dumps(json.loads(r)) for r in lines(case["expected_rows"]))


def test_cases_are_well_formed() -> None:
    """No misspelt key goes unnoticed, and names are told apart."""
    everything: list[Any] = [p.values[0] for p in CASES]
    assert [c["name"] for c in everything if not {"name", "why", "query", "expected"} <= c.keys() <= KEYS] == []
    assert [c["name"] for c in everything if ("types" in c) == ("events" in c)] == []
    assert [name for name, n in Counter(p.id for p in CASES).items() if n > 1] == []


# ---------------------------------------------------------------- complex events as lines


def canonical(line: str) -> str:
    extent, *marks = line.split()
    return " ".join([extent, *sorted(marks)])


def lines_of(matches: Matches) -> list[str]:
    return [canonical(line_of(matches, m)) for m in range(len(matches))]


def line_of(matches: Matches, m: int) -> str:
    marks = {x: marks.of(m).tolist() for x, marks in matches.marks.items()}
    shown = [f"{x}={{{','.join(map(str, positions))}}}" for x, positions in marks.items() if positions]
    return " ".join([f"{matches.start[m]}..{matches.end[m]}", *shown])
