"""Automata of one's own on the engine find what the reference finds, which follows the definition."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import amounts
import live_runs
import numpy as np
import pyarrow as pa
import pytest
from random_automata import random_automaton, random_events, random_live_query, random_query, table_of

import ensue
from ensue.corrections import revision
from ensue.data.events import read_events
from ensue.errors import EngineError, QueryError
from ensue.pipeline import prepare
from ensue.results.running_query import RunningQuery


def rows(found: ensue.Matches) -> list[str]:
    return sorted(map(str, found))


def compared(query: ensue.Query, events: Any) -> int:
    """How many matches there are, of which both evaluators find the same."""
    meaning = query.run(events, unit="s", engine="reference")
    found = query.run(events, unit="s", engine="automaton")
    assert rows(found) == rows(meaning), query.explain()
    assert (found.end[1:] >= found.end[:-1]).all()
    return len(found)


@pytest.mark.parametrize("seeds", amounts.shares(300, each=50))
def test_random_automata(seeds: range) -> None:
    found = 0
    for seed in seeds:
        rng = Random(seed)
        query = ensue.query(random_query(rng), m=random_automaton(rng))
        found += compared(query, table_of(random_events(rng, 14)))
    assert found > amounts.most(seeds, 1)


#: Patterns around an automaton whose register stores what events have: it is one of the engine's own then.
_AROUND = (
    "SELECT x, y FROM S WHERE MATCHES m",
    "SELECT x FROM S WHERE MATCHES m ; B WITHIN 6 s",
    "SELECT x, y FROM S WHERE A ; MATCHES m WITHIN 6 s PARTITION BY k",
    "SELECT LAST x, y FROM S WHERE MATCHES m WITHIN 6 s",
    "SELECT x, y FROM S WHERE (MATCHES m) OR (A : MATCHES m) WITHIN 5 EVENTS",
    "SELECT y FROM S WHERE MATCHES m UNLESS C WITHIN 6 s",
    "SELECT count(x) AS c FROM S WHERE (MATCHES m){1,2} WITHIN 6 s",
    "SELECT x FROM S WHERE MATCHES m ; NOT B WITHIN 2 s",
)


@pytest.mark.parametrize("seeds", amounts.shares(120, each=40))
def test_random_automata_inside_patterns(seeds: range) -> None:
    found = planned = 0
    for seed in seeds:
        rng = Random(f"plain {seed}")
        query = ensue.query(rng.choice(_AROUND), m=random_automaton(rng, plain=True, by="event"))
        events = table_of(random_events(rng, 9))
        meaning = query.run(events, unit="s", engine="reference")
        result = query.run(events, unit="s")
        assert rows(result) == rows(meaning), query.explain()
        found += len(result)
        planned += "engine        automaton" in query.explain()
    assert found > amounts.most(seeds, 1)
    assert planned > amounts.most(seeds, 0.5)


@pytest.mark.parametrize("seeds", amounts.shares(60, each=30))
def test_in_pieces_with_saved_states(seeds: range) -> None:
    found = 0
    for seed in seeds:
        rng = Random(f"pieces {seed}")
        query = ensue.query(random_query(rng), m=random_automaton(rng))
        stream = read_events(table_of(random_events(rng, 30)), ("S",), unit="s")
        choice = prepare(query.ast, query.text, stream.schema, stream.tick, {"time": "time"})
        whole = RunningQuery(choice, stream.tick).push(stream).to_pylist()
        running, given, begin = RunningQuery(choice, stream.tick), [], 0
        while begin < len(stream):
            # Where all events of a time are a step, they come together.
            end = int(
                np.searchsorted(stream.times, stream.times[min(begin + rng.randrange(6), len(stream) - 1)], "right")
            )
            given += running.push(stream.slice(begin, end - begin)).to_pylist()
            if rng.random() < 0.3:
                running.pass_time(int(stream.times[end - 1]))
            if rng.random() < 0.5:
                state = running.save()
                running = RunningQuery(choice, stream.tick)
                running.load(state)
            begin = end
        assert sorted(map(str, given)) == sorted(map(str, whole))
        found += len(whole)
    assert found > amounts.most(seeds, 1)


@pytest.mark.parametrize("seeds", amounts.shares(60, each=30))
def test_live_queries_add_up_after_every_step(seeds: range) -> None:
    done = [live_runs.compare(seed, (random_live_query,)) for seed in seeds]
    assert done.count("compared") > amounts.most(seeds, 0.3)


@pytest.mark.parametrize("seeds", amounts.shares(40, each=20))
def test_live_queries_that_stop_early_add_up_after_every_step(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision, "_BYTES_AN_EVENT", 1 << 40)
    alike: list[bool] = []
    for seed in seeds:
        monkeypatch.setattr(revision, "_FEWEST_BETWEEN", 1 + seed % 3)
        with monkeypatch.context() as patched:
            patched.setattr(RunningQuery, "go_on_alike", counting(RunningQuery.go_on_alike, alike))
            live_runs.compare(seed, (random_live_query,))
    assert sum(alike) > amounts.most(seeds, 1)


def counting(asked: Callable[..., bool], answers: list[bool]) -> Callable[..., bool]:
    """The same method, which notes its answers."""

    def noting(*arguments: Any) -> bool:
        answers.append(asked(*arguments))
        return answers[-1]

    return noting


@pytest.mark.parametrize("keys", ["", " PARTITION BY k"])
def test_what_is_evaluated_again_ends_where_all_is_as_before(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision, "_FEWEST_BETWEEN", 8)
    monkeypatch.setattr(revision, "_BYTES_AN_EVENT", 1 << 40)
    made = ensue.Automaton(register={"n": 0}).start("up").accept("back")
    made.arc("up", "down", "v < PREV(v)", then={"n": 1}, mark="x").arc(
        "down", "down", "v < PREV(v)", then={"n": "n + 1"}
    )
    made.arc("down", "back", "v > PREV(v) AND n > 1")
    query = ensue.query(f"SELECT n, x.v FROM S WHERE MATCHES m{keys}", m=made)
    rng = Random(7)
    events: list[dict[str, Any]] = [
        {"time": t, "type": "A", "k": f"{t * 7 % 3}", "v": rng.randrange(9)} for t in range(0, 2_000, 2)
    ]
    late: list[dict[str, Any]] = [{"time": t, "type": "A", "k": "1", "v": 20} for t in (301, 1_201)]
    live = query.live(unit="s", delay="1 h", keep="all")
    live.push(events)
    last: dict[str, Any] = {"time": 2_001, "type": "A", "k": "1", "v": 0}
    live.push([*late, last])
    assert 0 < live.metrics["replayed"] < 100
    everything = sorted([*events, *late, last], key=lambda e: int(e["time"]))
    answered = [{name: value for name, value in row.items() if name != "match"} for row in live.answer()]
    assert sorted(map(str, answered)) == rows(query.run(everything, unit="s"))


def test_many_runs_many_marks_and_many_keys_need_more_room_than_there_is_at_first() -> None:
    made = ensue.Automaton(register={"n": 0}).start(0).accept(2)
    made.arc(0, 1, "v = 0", mark="x").arc(1, 1, "v > 0", then={"n": "n + v"}, mark="x").skip(1, "v > 0")
    made.arc(1, 2, "v = -1 AND n % 7 = 0", mark="y")
    events = [{"time": t, "type": "A", "v": v} for t, v in enumerate([0, 1, 2, 3, 1, 2, 2, 1, 3, -1] * 2)]
    query = ensue.query("SELECT n, count(x) AS c, y.v FROM S WHERE MATCHES m", m=made)
    assert compared(query, events) > 20
    keys = np.arange(30_000) % 9_000
    many = pa.table({"time": np.arange(30_000), "type": ["A"] * 30_000, "v": np.arange(30_000) // 9_000 - 1, "k": keys})
    counted = ensue.Automaton(register={"n": 0}).start(0).accept(1).arc(0, 1, "v = 0", then={"n": "n + 2"})
    counted.arc(1, 1, "v > 0", then={"n": "n * 2"})
    found = ensue.query("SELECT n FROM S WHERE MATCHES m PARTITION BY k", m=counted).run(many, unit="s")
    assert sorted({r["n"] for r in found}) == [2, 4, 8]
    assert len(found) == 9_000 + 9_000 + 3_000


# ---------------------------------------------------------------- Python functions


def below(event: Any, register: Any) -> Any:
    return event.v < 2 and register.n < 4


def added(event: Any, register: Any) -> Any:
    return register.n + event.v


def halved(event: Any, register: Any) -> Any:
    return register.f / 2 + event.w


def with_functions() -> ensue.Automaton:
    made = ensue.Automaton(register={"n": 0, "f": 1.0}).start("a").accept("b")
    made.arc("a", "b", below, then={"n": added, "f": halved}, uses=("v", "w"), mark="x")
    return made.arc("b", "b", below, then={"n": added}, uses=("v",))


@pytest.mark.slow
def test_functions_by_event_and_by_time() -> None:
    events = table_of(random_events(Random(4), 40))
    query = ensue.query("SELECT n, f, x.v FROM S WHERE MATCHES m WITHIN 5 EVENTS", m=with_functions())
    assert compared(query, events) > 3
    made = ensue.Automaton(register={"s": 0.0}, by="time").start(0).accept(1)
    made.arc(0, 1, lambda event, register: event.v.sum() > 2, uses="v", then={"s": lambda event, _: event.v.max() / 2})
    made.arc(1, 1, "count(*) = 1", then={"s": "s + 1"})
    assert compared(ensue.query("SELECT s FROM S WHERE MATCHES m PARTITION BY k", m=made), events) > 3


def test_what_is_not_compiled_runs_in_python() -> None:
    names = {"A": 1}
    made = ensue.Automaton(register={"n": 0, "letter": ""}).start(0).accept(1)
    made.arc(
        0,
        1,
        lambda event, register: names.get(event.type, 0) > register.n,
        then={"letter": lambda event, _: event.type.lower()},
        uses="type",
        compiled=False,
    )
    query = ensue.query("SELECT letter FROM S WHERE MATCHES m", m=made)
    found = query.run([{"time": k, "type": t} for k, t in enumerate("ABA")], unit="s")
    assert [r["letter"] for r in found] == ["a", "a"]
    assert "because       the automaton engine does not evaluate texts in the register" in query.explain()


def first_letter(event: Any, register: Any) -> Any:
    return {}[event.v]


def text(event: Any, register: Any) -> Any:
    return "yes"


def fails(event: Any, register: Any) -> bool:
    if event.v == 2:
        raise ValueError("two")
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (first_letter, r"in the automaton 'm', 0 -> 1: Numba does not compile first_letter\(event, register\): "),
        (text, r"text\(event, register\) gives .*, and a truth value is wanted"),
        (fails, r"in the automaton 'm', 0 -> 1: fails\(event, register\) raised ValueError: two, at the time 4"),
    ],
)
def test_a_function_that_does_not_compile_or_raises_is_told(function: Callable[..., Any], said: str) -> None:
    made = ensue.Automaton(register={"n": 0}).start(0).accept(1).arc(0, 1, function, uses="v")
    query = ensue.query("SELECT n FROM S WHERE MATCHES m", m=made)
    with pytest.raises(EngineError, match=said):
        query.run([{"time": 3, "type": "A", "v": 1}, {"time": 4, "type": "A", "v": 2}], unit="s")


@pytest.mark.slow
def test_after_an_error_nothing_is_lost() -> None:
    made = ensue.Automaton(register={"n": 0}).start(0).accept(1)
    made.arc(0, 1, fails, uses="v", then={"n": "v"}).arc(1, 1, "v = 5", then={"n": "n + v"})
    live = ensue.query("SELECT n FROM S WHERE MATCHES m", m=made).live(unit="s")
    assert live.push([{"time": 1, "type": "A", "v": 1}]).to_arrow().column("n").to_pylist() == [1]
    state = live.save()
    for _ in range(2):
        with pytest.raises(EngineError, match="raised ValueError: two"):
            live.push([{"time": 2, "type": "A", "v": 2}])
    assert live.metrics["unsettled"] == 1
    assert sorted(live.push([{"time": 2, "type": "A", "v": 5}]).to_arrow().column("n").to_pylist()) == [5, 6]
    other = ensue.query("SELECT n FROM S WHERE MATCHES m", m=made).live(unit="s", state=state)
    assert len(other.push([{"time": 2, "type": "A", "v": 5}]).to_arrow()) == 2


# ---------------------------------------------------------------- what is refused


def one_arc(**options: Any) -> ensue.Query:
    made = ensue.Automaton(register={"n": 0, "f": 0.0}).start(0).accept(1).arc(0, 1, **options)
    return ensue.query("SELECT n FROM S WHERE MATCHES m", m=made)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"when": "v <"}, "the text ends too early: expected an expression"),
        ({"when": "vv > 1"}, "in the automaton 'm', 0 -> 1: unknown attribute 'vv'"),
        ({"when": "v > 'a'"}, "> cannot compare integer with string"),
        ({"then": {"n": "w"}}, "the field 'n' of the register is of type integer, but this is of type float"),
        ({"when": "sum(v) > 1"}, "sum is of several events, and here is one"),
        ({"when": "any(v > 1)"}, "has is of several events, and here is one"),
        ({"when": "x.v > 1"}, "x is of type|unknown attribute 'x'"),
        ({"when": "frob(v)"}, "unknown function 'frob'"),
        ({"when": below, "uses": "nope"}, "uses= names 'nope', which is no attribute"),
        ({"when": below, "uses": "type"}, "uses= names 'type' of type string, and Numba computes with numbers"),
    ],
)
def test_bad_fences_and_transfers(options: dict[str, Any], said: str) -> None:
    with pytest.raises(QueryError, match=said):
        one_arc(**options).run(table_of(random_events(Random(1), 3)), unit="s")


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("v > 1", "'v' may differ between the events of one time"),
        ("sum(v * n) > 1", "sum is of the events, and 'n' is a field"),
        ("sum(PREV(v)) > 1", "PREV looks back from one event, and here are all events of a time"),
    ],
)
def test_bad_fences_by_time(when: str, said: str) -> None:
    made = ensue.Automaton(register={"n": 0}, by="time").start(0).accept(1).arc(0, 1, when)
    with pytest.raises(QueryError, match=said):
        ensue.query("SELECT n FROM S WHERE MATCHES m", m=made)


def test_what_is_missing_is_told_when_the_query_is_made() -> None:
    text = "SELECT * FROM S WHERE MATCHES m"
    with pytest.raises(QueryError, match="unknown automaton 'm'"):
        ensue.query(text)
    with pytest.raises(ValueError, match="the automaton 'm' starts nowhere"):
        ensue.query(text, m=ensue.Automaton())
    with pytest.raises(
        ValueError, match="accepts a state that no arc leads to: there is no state 'b': did you mean 'bb'"
    ):
        ensue.query(text, m=ensue.Automaton().start("a").accept("b").arc("a", "bb"))
    with pytest.raises(ValueError, match="then: there is no field 'm': there are n"):
        ensue.Automaton(register={"n": 0}).arc(0, 1, then={"m": 1})
    with pytest.raises(ValueError, match="reset: there is no clock 'c': there are none"):
        ensue.Automaton().arc(0, 1, reset="c")
    with pytest.raises(TypeError, match="register: 'n' is a bool, int, float or str"):
        ensue.Automaton(register={"n": []})
    made = ensue.Automaton(register={"v": 0}).start(0).accept(1).arc(0, 1, "v > 1")
    twice = ensue.query("SELECT v FROM S WHERE MATCHES m", m=made)
    with pytest.raises(QueryError, match="'v' is an attribute of the events and a field of the register"):
        twice.run(table_of(random_events(Random(1), 3)), unit="s")
    with pytest.raises(QueryError, match="'v' is a field of an automaton's register, and here the automaton is part"):
        ensue.query("SELECT v FROM S WHERE A ; MATCHES m", m=made)


@pytest.mark.slow
def test_a_state_of_another_automaton_is_refused() -> None:
    def query(least: int) -> ensue.Query:
        made = ensue.Automaton(register={"n": 0}).start(0).accept(1).arc(0, 1, lambda e, r: e.v > least, uses="v")
        return ensue.query("SELECT n FROM S WHERE MATCHES m", m=made)

    live = query(1).live(unit="s")
    live.push([{"time": 1, "type": "A", "v": 3}])
    with pytest.raises(EngineError, match="functions of one's own"):
        query(2).live(unit="s", state=live.save())
    assert len(query(1).live(unit="s", state=live.save()).push([{"time": 2, "type": "A", "v": 3}]).to_arrow()) == 1


def test_the_same_automaton_is_equal_and_a_later_arc_changes_no_query() -> None:
    made = ensue.Automaton(register={"n": 0}).start(0).accept(1).arc(0, 1, "v > 1", then={"n": "v"})
    query = ensue.query("SELECT n FROM S WHERE MATCHES m", m=made)
    assert query == ensue.query("SELECT n FROM S WHERE MATCHES m", m=made)
    made.arc(0, 1, "v = 0")
    assert query != ensue.query("SELECT n FROM S WHERE MATCHES m", m=made)
    assert len(query.run([{"time": 1, "type": "A", "v": 0}], unit="s")) == 0


def test_registered_automata_and_functions_in_fences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensue.own.registry._registered", {})
    ensue.function("doubled", lambda v: pa.compute.multiply(v, 2), takes="integer", returns="integer")
    ensue.Automaton(register={"n": 0}).start(0).accept(1).arc(0, 1, "doubled(v) > n", then={"n": "v + n"}).register(
        "up"
    )
    query = ensue.query("SELECT n FROM S WHERE MATCHES up ORDER BY n DESC LIMIT 1")
    events = [{"time": k, "type": "A", "v": k} for k in range(4)]
    for engine in ("automaton", "reference"):
        assert [r["n"] for r in query.run(events, unit="s", engine=engine)] == [3]
    assert len(query.detect(events, unit="s")) == 1
