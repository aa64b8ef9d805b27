"""What the corpus files do not hold: several streams in FROM, and events without a time."""

from __future__ import annotations

from typing import Any

import pytest

import ensue
from ensue import Matches
from ensue.errors import DataError


def found(matches: Matches) -> set[Any]:
    """Start, end, and the positions of every variable that marks some."""
    marks = matches.marks
    return {
        (s, e, *((x, *marks[x].of(m).tolist()) for x in sorted(marks) if len(marks[x].of(m))))
        for m, (s, e) in enumerate(zip(matches.start.tolist(), matches.end.tolist(), strict=True))
    }


def test_two_streams_are_merged_by_time(engine: str) -> None:
    doors = [{"time": 1, "type": "Open"}, {"time": 5, "type": "Close"}]
    alarms = [{"time": 3, "type": "Ring"}, {"time": 7, "type": "Ring"}]
    text = "SELECT * FROM Doors, Alarms WHERE Open ; Ring ; Close"
    matches = ensue.match({"Doors": doors, "Alarms": alarms}, text, unit="s", engine=engine)
    assert found(matches) == {(0, 2, ("Close", 2), ("Open", 0), ("Ring", 1))}


def test_streams_without_a_type_column_have_the_stream_as_type(engine: str) -> None:
    rows = {"Doors": [{"time": 2, "v": 1}], "Alarms": [{"time": 1, "w": 2}, {"time": 3, "w": 3}]}
    text = "SELECT * FROM Doors, Alarms WHERE Doors AS d ; Alarms AS a FILTER d.w IS NULL AND a.v IS NULL AND a.w = 3"
    matches = ensue.match(rows, text, unit="s", engine=engine)
    assert found(matches) == {(1, 2, ("Alarms", 2), ("Doors", 1), ("a", 2), ("d", 1))}


def test_only_the_streams_in_from_are_read(engine: str) -> None:
    rows = {"Doors": [{"time": 1}, {"time": 3}], "Alarms": [{"time": 2}]}
    assert found(ensue.match(rows, "SELECT * FROM Doors WHERE Doors : Doors", unit="s", engine=engine)) == {
        (0, 1, ("Doors", 0, 1))
    }


def test_a_tie_between_streams_is_broken_by_the_column(engine: str) -> None:
    rows = {"X": [{"time": 1, "type": "A", "n": 2}], "Y": [{"time": 1, "type": "B", "n": 1}]}
    text = "SELECT * FROM X, Y WHERE B ; A"
    matches = ensue.match(rows, text, unit="s", tiebreak="n", engine=engine)
    assert found(matches) == {(0, 1, ("A", 1), ("B", 0))}


def test_without_a_time_rows_keep_their_order(engine: str) -> None:
    rows = [{"type": "A"}, {"type": "B"}, {"type": "A"}]
    assert found(ensue.match(rows, "SELECT * FROM S WHERE A : B", time=None, engine=engine)) == {
        (0, 1, ("A", 0), ("B", 1))
    }


def test_without_a_unit_a_window_in_events_still_works(engine: str) -> None:
    rows = [{"time": 1, "type": "A"}, {"time": 2, "type": "B"}, {"time": 3, "type": "B"}]
    matches = ensue.match(rows, "SELECT * FROM S WHERE A ; B WITHIN 2 EVENTS", engine=engine)
    assert found(matches) == {(0, 1, ("A", 0), ("B", 1))}


def test_without_a_unit_a_window_in_time_is_refused(engine: str) -> None:
    rows = [{"time": 1, "type": "A"}, {"time": 2, "type": "B"}]
    with pytest.raises(DataError, match="unit"):
        ensue.match(rows, "SELECT * FROM S WHERE A ; B WITHIN 2 s", engine=engine)


def test_a_limit_chooses_alike_for_the_same_input(engine: str) -> None:
    rows = [{"time": k, "type": "A"} for k in range(8)]
    text = "SELECT * FROM S WHERE A+ LIMIT 3 PER END"
    once, again = (ensue.match(rows, text, engine=engine) for _ in range(2))
    assert found(once) == found(again)
    assert len(once) == 1 + 2 + 3 * 6


def test_times_may_be_text(engine: str) -> None:
    times = {"2024-02-01 00:30:01": "B", "2024-01-31 23:30:00": "A", "2024-02-01 00:30:00": "B"}
    rows = [{"time": time, "type": type_} for time, type_ in times.items()]
    matches = ensue.match(rows, "SELECT * FROM S WHERE A ; B WITHIN 1 h", engine=engine)
    assert found(matches) == {(0, 1, ("A", 0), ("B", 1))}
