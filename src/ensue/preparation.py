"""Compiles beforehand what queries need of the engine, so that no query waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ensue.algebra.detector import Detector
from ensue.api import query
from ensue.data.events import log
from ensue.errors import EngineError
from ensue.kernels import evaluate
from ensue.own.user_automata import Automaton
from ensue.row_patterns.sql import sql

#: How a step evaluates its query: its matches, which events took part, more matches than fit, SQL, with corrections,
#: with an automaton named `m` whose runs compute, some of its matches, with the one run of a deterministic automaton.
_RUN, _DETECT, _REFUSED, _SQL, _LIVE, _RUNS, _SAMPLE, _ONE_RUN = range(8)
#: Open matches of these take more than the first room for them, so that what clears it is compiled too.
_EVENTS = 60_000


class Step(NamedTuple):
    """One kind of query, and what stands for it."""

    kind: str
    text: str
    how: int = _RUN


_NEAR = "WITHIN 6 EVENTS"
#: What the engine remembers of events: each kind has its own kernels, for each way to report matches.
_REMEMBERING = {
    "events compared with each other": "SELECT * FROM S WHERE A AS x ; B AS y FILTER y.v > x.v",
    "sets compared with each other": "SELECT x, y FROM S WHERE (A AS x)+ ; (B AS y)+ FILTER x.v < y.v",
    "conditions over several events": "SELECT y FROM S WHERE (A AS y FILTER y.v > LASTOF(y).v OR y.v = 5){2}",
    "what rounds add up to": "SELECT y FROM S WHERE (A AS y FILTER RUNNING sum(y.v) < 9){2}",
    "the next one of this key": "SELECT x, y FROM S WHERE A AS x -> (B AS y FILTER y.k = x.k)",
}

STEPS = (
    Step("patterns", f"SELECT * FROM S WHERE A ; B+ ; A {_NEAR}"),
    Step("partitions by number", f"SELECT * FROM S WHERE A ; B PARTITION BY k {_NEAR}"),
    Step("many partitions", f"SELECT * FROM S WHERE A ; B PARTITION BY many {_NEAR}"),
    Step("partitions by text", f"SELECT * FROM S WHERE A ; B PARTITION BY name {_NEAR}"),
    Step("filters of whole matches", f"SELECT * FROM S WHERE (A AS x)+ ; B FILTER count(x) > 1 {_NEAR}"),
    Step("NEXT among filtered matches", f"SELECT NEXT * FROM S WHERE (A AS x)+ ; B FILTER count(x) > 1 {_NEAR}"),
    Step("what came before", "SELECT * FROM S WHERE NOT C WITHIN 2 s ; A ; B WITHIN 3 s"),
    Step("NEXT", "SELECT NEXT * FROM S WHERE A ; B WITHIN 3 s"),
    Step("NEXT after what came before", "SELECT NEXT * FROM S WHERE NOT C WITHIN 1 s ; A ; B"),
    Step("gaps in time", "SELECT * FROM S WHERE A ;[<= 2 s] B WITHIN 3 s"),
    Step("least gaps in time", "SELECT * FROM S WHERE A ;[>= 2 s] B LIMIT 1"),
    Step("aggregates of windows", f"SELECT sum(w.v) AS s, avg(w.f) AS f FROM S WHERE SPAN(A ; B) AS w {_NEAR}"),
    Step("windows of so many events", "SELECT sum(w.v) AS s FROM S WHERE SPAN(ANY:{3}) AS w PARTITION BY many"),
    Step(
        "windows that wait for what closes them",
        "SELECT max(w.f) AS m FROM S WINDOW w AS (IS A:+ UNTIL B) PARTITION BY many CONSUME BY PARTITION",
    ),
    Step(
        "aggregates of all matches", f"AGGREGATE sum(x.v) AS s, max(sum(x.f)) AS m FROM S WHERE (A AS x)+ ; B {_NEAR}"
    ),
    Step(
        "aggregates of all matches that store values",
        f"AGGREGATE sum(x.v) AS s, max(sum(x.f)) AS m FROM S WHERE (A AS x)+ ; B AS y FILTER y.v > x.v {_NEAR}",
    ),
    Step("samples", "SELECT * FROM S WHERE A+ ; B WITHIN 70 EVENTS", _SAMPLE),
    Step("late events", "SELECT x.v, y FROM S WHERE A AS x ; B AS y WITHIN 3 s", _LIVE),
    Step("automata with a register", "SELECT n, count(x) AS c FROM S WHERE MATCHES m PARTITION BY k WITHIN 4 s", _RUNS),
    Step("detection", f"SELECT * FROM S WHERE A ; B {_NEAR}", _DETECT),
    Step("detection with one run", "SELECT * FROM S WHERE A ; B WITHIN 3 EVENTS", _ONE_RUN),
    Step("what does not fit in memory", "SELECT * FROM S WHERE A ; B ; C", _REFUSED),
    *(Step(kind, f"{text} {_NEAR}") for kind, text in _REMEMBERING.items()),
    *(Step(f"LAST: {kind}", f"SELECT LAST {text[7:]} {_NEAR}") for kind, text in _REMEMBERING.items()),
    *(Step(f"detection: {kind}", f"{text} {_NEAR}", _DETECT) for kind, text in _REMEMBERING.items()),
    *(Step(f"does not fit in memory: {kind}", text, _REFUSED) for kind, text in _REMEMBERING.items()),
    Step(
        "row patterns",
        "SELECT * FROM S MATCH_RECOGNIZE (ORDER BY time MEASURES A.v AS v PATTERN (A B+) DEFINE A AS v > 2)",
        _SQL,
    ),
    Step(
        "row patterns with conditions on the match",
        "SELECT * FROM S MATCH_RECOGNIZE (ORDER BY time MEASURES A.v AS v PATTERN (A B+ C) DEFINE C AS f > avg(B.f))",
        _SQL,
    ),
    Step(
        "row patterns with running aggregates",
        "SELECT * FROM S MATCH_RECOGNIZE (ORDER BY time MEASURES sum(B.v) AS n, sum(B.f) AS total, max(B.v) AS most,"
        " max(B.f) AS best ALL ROWS PER MATCH PATTERN (A B+) DEFINE A AS v > 2)",
        _SQL,
    ),
)


class Done(NamedTuple):
    """What a step has taken."""

    kind: str
    seconds: float  # of processor time


def prepare() -> float:
    """Compiles all kernels of the engine for this machine, and returns how many seconds of processor time that took.

    Where they are on disk already, this takes about a second. `ensue prepare` does the same and says what it does.
    """
    return sum(done.seconds for done in steps())


def steps() -> Iterator[Done]:
    """Evaluates a small query of each kind."""
    events = _events()
    with _quiet():
        for step in STEPS:
            began = time.process_time()
            _evaluate(step, events)
            yield Done(step.kind, time.process_time() - began)


def _evaluate(step: Step, events: pa.Table) -> None:
    if step.how == _RUN:
        query(step.text).run(events, engine="automaton").to_arrow()
    elif step.how == _SAMPLE:
        len(query(step.text).sample(events[:1_000], 10, seed=1, engine="automaton"))
    elif step.how == _DETECT:
        len(query(step.text).detect(events, engine="automaton"))
    elif step.how == _ONE_RUN:
        Detector.of(query(step.text)).detect(events[:1_000])
    elif step.how == _SQL:
        sql(step.text, {"S": events}).to_arrow()
    elif step.how == _RUNS:
        live = query(step.text, m=_automaton()).live()
        live.push(events[:20_000])
        live.advance(events.column("time")[30_000].as_py())
        len(live.save())
    elif step.how == _LIVE:
        live = query(step.text).live(keep="all", changes="change")
        for change, begin in (("insert", 100), ("delete", 0), ("insert", 0)):  # the later ones come first
            part = events[begin : begin + 100]
            live.push(part.append_column("change", pa.array([change] * len(part)))).to_arrow()
        len(live.answer())
    else:
        with suppress(EngineError):  # by then it has been counted how much is needed
            len(query(step.text).run(events, engine="automaton", memory="64 MB"))


def _automaton() -> Automaton:
    """One in which an event takes two arcs, with all that arcs can do to a register without Python functions."""
    made = Automaton(register={"n": 0, "f": 0.0}, clocks="c").start("out").accept("in", "on")
    made.arc("out", "in", "v > 2", then={"n": "v", "f": "f / 2 + v"}, mark="x", reset="c")
    made.arc("in", "in", "v > n", then={"n": "n + 1"}, mark="x").skip("in", "v < 9")
    return made.arc("in", "on", "f < 1.5 OR v = n", since={"c": "<= 1 s"}).skip("on", "v > 7")


def _events() -> pa.Table:
    """In two chunks, as larger tables come."""
    numbers = np.arange(_EVENTS)
    events = pa.table(
        {
            "time": pa.array(numbers * 1_000_000, pa.timestamp("us")),
            "type": pa.array(np.array(["A", "B", "C"])[numbers * 7 % 3]),
            "v": numbers * 31 % 10,
            "f": numbers * 31 % 10 / 7,
            "k": numbers % 5,
            "many": numbers // 8 << 20,
            "name": pa.array(np.array(["one", "two"])[numbers % 2]),
        }
    )
    return pa.concat_tables([events[: _EVENTS // 2], events[_EVENTS // 2 :]])


@contextmanager
def _quiet() -> Iterator[None]:
    """What a first query says of compiling need not be said here; nor what these queries give rise to."""
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def folder() -> Path | None:
    """Where compiled kernels are kept; None where they are not, or where there is no compiler."""
    path = getattr(getattr(evaluate.advance, "stats", None), "cache_path", None)
    return None if path is None else Path(path)
