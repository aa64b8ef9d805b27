"""Computed keys of PARTITION BY wherever events come from: tables, files, live events, saved states, detectors."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.algebra import Detector

KEYS = "PARTITION BY v % 2 AS odd, user.id, f"
TEXT = f"SELECT x.v AS a, y.v AS b FROM S WHERE A AS x ; B AS y {KEYS}"


def events(seed: int, rows: int = 60) -> list[dict[str, Any]]:
    rng = Random(f"computed keys {seed}")
    return [
        {
            "time": k,
            "type": rng.choice("AB"),
            "v": rng.choice((None, *range(6))),
            "user": rng.choice((None, {"id": None}, {"id": 1}, {"id": 2})),
            "f": rng.choice((0.0, -0.0, math.nan, None)),
        }
        for k in range(rows)
    ]


def rows(table: pa.Table) -> list[str]:
    return sorted(str(list(row.values())) for row in table.drop_columns(["f"]).to_pylist())


@pytest.mark.parametrize("seed", range(5))
def test_both_engines(seed: int) -> None:
    table = pa.Table.from_pylist(events(seed))
    by_engine = [ensue.query(TEXT).run(table, unit="s", engine=e).to_arrow() for e in ("automaton", "reference")]
    assert by_engine[0].column_names == ["odd", "user_id", "f", "start_time", "end_time", "a", "b"]
    assert rows(by_engine[0]) == rows(by_engine[1])
    assert len(by_engine[0])


def test_live_events_in_any_order_and_a_saved_state() -> None:
    query, given = ensue.query(TEXT), events(7)
    expected = query.run(pa.Table.from_pylist(given), unit="s").to_arrow()
    Random(3).shuffle(given)
    made: list[pa.Table] = []
    live = query.live(unit="s", disorder="revise")
    for start in range(0, len(given), 20):
        rows_of = pa.Table.from_pylist(given[start : start + 20], pa.Table.from_pylist(given).schema)
        made.append(live.push(rows_of).to_arrow())
        state = live.save()
        live = query.live(unit="s", disorder="revise", state=state)
    kept: dict[str, str] = {}
    for change in pa.concat_tables(made).drop_columns(["f"]).to_pylist():
        key, row = change["match"], str([v for k, v in change.items() if k not in ("match", "change")])
        if change["change"] == "insert":
            kept[key] = row
        else:
            kept.pop(key)
    assert sorted(kept.values()) == rows(expected)


def test_rows_in_order_and_the_first_of_each_partition() -> None:
    table = pa.Table.from_pylist(events(1))
    for clause in ("ORDER BY odd DESC, user_id, end_time, a LIMIT 7", "LIMIT 1 PER PARTITION"):
        query = ensue.query(f"{TEXT} {clause}")
        shown = [
            query.run(table, unit="s", engine=e).to_arrow().select(["odd", "user_id"]) for e in ("auto", "reference")
        ]
        assert shown[0] == shown[1]
        assert len(shown[0]) >= 7


def test_where_matches_end() -> None:
    table = pa.Table.from_pylist(events(2))
    text = f"SELECT * FROM S WHERE A ; B WITHIN 4 EVENTS {KEYS}"
    found = ensue.query(text).detect(table, unit="s")
    assert found.to_arrow().column_names[:3] == ["odd", "user_id", "f"]
    ends = [k for k, ended in enumerate(Detector.of(ensue.query(text)).detect(table, unit="s")) if ended is not None]
    assert found.end.tolist() == ends
    assert ends


def test_a_file_is_read_with_the_columns_of_its_keys(tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "events.parquet"
    pq.write_table(pa.Table.from_pylist(events(4)), path)
    assert rows(ensue.query(TEXT).run(path, unit="s").to_arrow()) == rows(
        ensue.query(TEXT).run(pa.Table.from_pylist(events(4)), unit="s").to_arrow()
    )
