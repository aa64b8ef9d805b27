"""A state that is damaged, cut short or made by another query is refused, and the EngineError says which it is."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ensue.data.envelope import VERSION
from ensue.data.events import EventStream, read_events
from ensue.errors import EngineError
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.results.running_query import RunningQuery

CUT = 40
_WINDOWS = "WINDOW w AS (IS A:+ : C? UNTIL (ANY[v < 80] OR END)) PARTITION BY k"
#: A query of every kind of state: what the automaton engine keeps in its several structures, the matches that wait for
#: a deadline or for what closes a window, the events that the reference keeps, and the columns that items look back to.
KINDS = {
    "window": ("auto", "SELECT * FROM S WHERE A ; B+ ; C WITHIN 12 EVENTS WITHIN 12 s"),
    "keys": ("auto", "SELECT x.v, y FROM S WHERE A AS x ; B AS y PARTITION BY k, name WITHIN 60 s"),
    "registers": ("auto", "SELECT x.v, y FROM S WHERE A AS x ; (B AS y FILTER y.v > x.v)+ WITHIN 20 s"),
    "texts in registers": ("auto", "SELECT * FROM S WHERE A AS x ; (B AS y FILTER y.name = x.name)+ WITHIN 20 s"),
    "one clock": ("auto", "SELECT * FROM S WHERE A ;[<= 8 s] B"),
    "look-back": ("auto", "SELECT PREV(x.v) AS p FROM S WHERE A AS x ; B FILTER PREV(x.v) < 90 PARTITION BY name"),
    "deadline": ("auto", "SELECT a.v FROM S WHERE A AS a ; NOT B WITHIN 6 s PARTITION BY k"),
    "until": ("auto", f"SELECT sum(w.v) AS s, first(w.name) AS f FROM S {_WINDOWS} CONSUME BY PARTITION"),
    "reference": ("reference", "SELECT x, y.v FROM S WHERE A AS x ; B AS y WITHIN 20 s"),
    "deadline of the reference": ("reference", "SELECT a.v FROM S WHERE A AS a ; NOT B WITHIN 6 s"),
}


def events() -> pa.Table:
    n = range(2 * CUT)
    mixed = [i * 7919 % 1009 for i in n]
    return pa.table(
        {
            "time": pa.array(n),
            "type": ["ABC"[m % 3] for m in mixed],
            "k": [m // 5 % 2 for m in mixed],
            "name": [f"name {m // 7 % 3}" for m in mixed],
            "v": [m % 100 for m in mixed],
        }
    )


def opened(
    text: str, engine: str, *, unit: str = "s", table: pa.Table | None = None
) -> tuple[RunningQuery, EventStream]:
    query = parse_query(text)
    stream = read_events(events() if table is None else table, query.streams, unit=unit)
    return RunningQuery(choose(check(query, text, stream.schema), engine), stream.tick), stream


def saved(kind: str) -> bytes:
    engine, text = KINDS[kind]
    running, stream = opened(text, engine)
    running.push(stream.slice(0, CUT))
    return running.save()


@pytest.mark.parametrize("kind", KINDS)
def test_every_turned_byte_is_noticed_and_harms_nothing(kind: str) -> None:
    engine, text = KINDS[kind]
    state = saved(kind)
    running, stream = opened(text, engine)
    running.push(stream.slice(0, CUT))
    for place in range(len(state)):
        for turned in (1 << place % 8, 255):
            damaged = bytearray(state)
            damaged[place] ^= turned
            with pytest.raises(EngineError, match="the saved state"):
                running.load(bytes(damaged))
    # What refused a state goes on as if it had never seen it.
    untouched, _ = opened(text, engine)
    untouched.push(stream.slice(0, CUT))
    rest = stream.slice(CUT, CUT)
    wanted = untouched.push(rest)
    assert len(wanted)
    assert running.push(rest).equals(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_cut_short_or_longer_is_refused(kind: str) -> None:
    engine, text = KINDS[kind]
    state, (running, _) = saved(kind), opened(text, engine)
    for other in (b"", state[:1], state[:23], state[:24], state[: len(state) // 2], state[:-1], state + b"\0"):
        with pytest.raises(EngineError, match="the saved state"):
            running.load(other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_the_state_of_another_query_is_refused(kind: str, other: str) -> None:
    engine, text = KINDS[kind]
    running, stream = opened(text, engine)
    if kind == other:
        running.load(saved(other))
        assert len(running.push(stream.slice(CUT, CUT)))
    else:
        with pytest.raises(EngineError, match="the saved state was made by something else; what differs: query"):
            running.load(saved(other))


def test_a_state_of_another_version_is_refused() -> None:
    """Version 1 had other envelopes, and stored states of it are tests of `test_states.py`; this is a later one."""
    state, (running, _) = bytearray(saved("window")), opened(KINDS["window"][1], "auto")
    state[8:12] = (VERSION + 7).to_bytes(4, "little")
    with pytest.raises(EngineError, match=f"of version {VERSION + 7}, and this library reads {VERSION}$"):
        running.load(bytes(state))


BEFORE = "SELECT x.v FROM S WHERE A AS x ; B WITHIN 20 s"


def of_other_types() -> pa.Table:
    table = events()
    return table.set_column(table.column_names.index("v"), "v", table.column("v").cast(pa.float64()))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"text": BEFORE.replace("20", "21")}, "what differs: query, automaton$"),
        ({"text": BEFORE.replace("x.v", "x.k")}, "what differs: query, columns or their types$"),
        ({"unit": "ms"}, r"what differs: unit of time \(1000000000, now 1000000\)$"),
        ({"engine": "reference"}, r"what differs: engine \(automaton, now reference\), automaton$"),
        ({"table": of_other_types()}, "what differs: columns or their types$"),
    ],
)
def test_what_has_changed_is_named(change: dict[str, Any], named: str) -> None:
    running, stream = opened(BEFORE, "auto")
    running.push(stream.slice(0, CUT))
    state = running.save()
    other, _ = opened(**{"text": BEFORE, "engine": "auto", **change})
    with pytest.raises(EngineError, match=named):
        other.load(state)


def test_the_same_query_in_other_words_goes_on() -> None:
    running, stream = opened(BEFORE, "auto")
    running.push(stream.slice(0, CUT))
    other, _ = opened(BEFORE.lower().replace(" a as x ; b ", " (A AS x ; B) ").replace("from s", "from S"), "auto")
    other.load(running.save())
    rest = stream.slice(CUT, CUT)
    assert other.push(rest).equals(running.push(rest))
