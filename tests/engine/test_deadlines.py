"""A running query that ends in an absence with a deadline: what is reported, when, and what is kept until then."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ensue
from ensue.data.events import EventStream, read_events
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.results.running_query import RunningQuery

TEXT = "SELECT a.v FROM S WHERE A AS a ; NOT B WITHIN 3 s"


def event(time: int, type_: str, k: int = 0) -> dict[str, object]:
    return {"time": time, "type": type_, "v": time, "k": k}


def stream_of(*events: dict[str, object]) -> EventStream:
    return read_events(pa.Table.from_pylist(list(events)), ("S",), unit="s")


class Running:
    """A query over seconds, saved and loaded after all that happens; it tells the ends of what it reports."""

    def __init__(self, text: str) -> None:
        any_stream = stream_of(event(0, "A"))
        self._checked = check(ensue.query(text).ast, text, any_stream.schema)
        self._tick = any_stream.tick
        self.running = self._new()

    def _new(self) -> RunningQuery:
        return RunningQuery(choose(self._checked), self._tick)

    def of(self, *events: dict[str, object]) -> list[int]:
        return self._told(self.running.push(stream_of(*events)))

    def passed(self, time: int) -> list[int]:
        return self._told(self.running.pass_time(time))

    def _told(self, rows: pa.Table | None) -> list[int]:
        state = self.running.save()
        self.running = self._new()
        self.running.load(state)
        return [] if rows is None else rows.column("end_time").to_pylist()


def test_an_event_or_the_watermark_passes_a_deadline():
    query = Running(TEXT)
    assert query.of(event(0, "A"), event(2, "A"), event(3, "C")) == []
    assert query.passed(3) == []
    assert query.passed(4) == [0]
    assert query.passed(4) == []
    assert query.of(event(5, "A"), event(6, "C")) == [2]
    assert query.of(event(7, "B"), event(20, "C")) == []
    assert query.passed(100) == []


def test_many_deadlines_pass_at_once_in_their_order():
    query = Running(TEXT)
    assert query.of(event(0, "A"), event(1, "A"), event(2, "A")) == []
    assert query.of(event(2, "A"), event(9, "A"), event(10, "C")) == [0, 1, 2, 2]
    assert query.passed(99) == [9]


def test_a_deadline_that_is_not_included_passes_at_its_time():
    query = Running("SELECT a.v FROM S WHERE A AS a ; NOT B WITHIN [< 3 s]")
    assert query.of(event(0, "A")) == []
    assert query.passed(2) == []
    assert query.passed(3) == [0]


def test_time_passes_for_all_partitions():
    query = Running(TEXT + " PARTITION BY k")
    assert query.of(event(0, "A", 1), event(1, "B", 2)) == []
    assert query.of(event(4, "C", 3)) == [0]


def test_consumption_goes_by_what_was_reported():
    query = Running("SELECT a.v FROM S WHERE A AS a ; C ; NOT B WITHIN 3 s CONSUME BY ANY")
    assert query.of(event(0, "A"), event(1, "C"), event(2, "C")) == []
    assert query.passed(5) == [1]
    assert query.passed(9) == []


@pytest.mark.parametrize("clause", ["", " WITHIN 1 h", " CONSUME BY ANY"])
def test_what_no_deadline_waits_for_is_let_go(clause):
    query = Running(TEXT + clause)
    for time in range(100):
        query.of(event(time, "A"))
    assert query.running.open == 4


def test_the_next_deadline_is_known():
    query = Running(TEXT)
    query.of(event(0, "A"), event(2, "A"))
    assert query.running.next_due == 4
    query.passed(4)
    assert query.running.next_due == 6
    query.passed(6)
    assert query.running.next_due is None


def test_without_a_deadline_passing_time_reports_nothing():
    query = Running("SELECT a.v FROM S WHERE A AS a ; B WITHIN 3 s")
    assert query.of(event(0, "A"), event(1, "B")) == [1]
    assert query.passed(100) == []
    assert query.running.next_due is None


def test_a_deadline_beyond_all_time_never_passes():
    query = Running("SELECT a.v FROM S WHERE A AS a ; NOT B WITHIN 999999999999999 d")
    assert query.of(event(0, "A")) == []
    assert query.passed(2**62) == []
    assert query.running.next_due is None
