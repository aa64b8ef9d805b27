"""Live queries: after every step, the changes add up to the answer over the events that are there."""

from random import Random
from typing import Any

import pytest
from amounts import most, shares
from live_runs import compare

import ensue


@pytest.mark.parametrize("seeds", shares(400, each=100))
def test_changes_add_up_after_every_step(seeds):
    became = [compare(seed) for seed in seeds]
    assert became.count("compared") > most(seeds, 0.2)


def test_a_query_may_use_no_column_of_its_events():
    live = ensue.query("SELECT count(y) AS n FROM S WHERE (ANY AS y){2}").live(unit="s")
    changes = live.push([{"time": k, "type": "A"} for k in range(4)])
    assert changes.to_arrow()["n"].to_pylist() == [2] * 6


WINDOWS = (
    "SELECT sum(w.v) AS s, count(w) AS n FROM S WINDOW w AS (IS A : (A OR C):* : B)",
    "SELECT max(w.v) AS m, first(w.v) AS f FROM S WINDOW w AS (IS ANY:{3}) PARTITION BY k",
    "SELECT avg(w.v) AS m FROM S WINDOW w AS (IS A:+ : B) FILTER count(w) > 2",
)


@pytest.mark.parametrize("text", WINDOWS)
def test_windows_whose_events_change_between_their_ends(text):
    """The first and the last event of a window stay, and what is folded over it is corrected."""
    kinds = [(0, "A", 1), (2, "A", 2), (4, "A", 50), (6, "B", 3), (8, "A", 4), (9, "B", 9)]
    rows = [{"time": t, "type": kind, "v": v, "k": 0} for t, kind, v in kinds]
    late = rows[2]
    without = [row for row in rows if row is not late]
    live = ensue.query(text).live(unit="s", changes="op", keep="all")
    live.push([{"op": "insert", **row} for row in without])
    for op, there in (("insert", rows), ("delete", without)):
        live.push([{"op": op, **late}])
        expected = ensue.match(there, text, unit="s", engine="reference").to_arrow().to_pylist()
        found = live.answer().to_arrow().select(list(expected[0])).to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_computed_keys_and_limits():
    query = ensue.query("SELECT x.v FROM S WHERE A AS x ; NOT C ; B PARTITION BY v % 2 LIMIT 1 PER END")
    live = query.live(unit="s")
    live.push([{"time": 9, "type": "B", "v": 2}, {"time": 4, "type": "A", "v": 2}, {"time": 3, "type": "A", "v": 1}])
    changes = live.push([{"time": 6, "type": "C", "v": 4}])
    assert changes.to_arrow().select(["change", "x_v"]).to_pylist() == [{"change": "delete", "x_v": 2}]


@pytest.mark.parametrize("end", ["LIMIT 3", "LIMIT 3 PER PARTITION", "ORDER BY v"])
def test_what_speaks_of_a_whole_result_is_refused(end):
    with pytest.raises(ensue.QueryError):
        ensue.query(f"SELECT x.v AS v FROM S WHERE A AS x {end}").live(unit="s")


def test_after_an_error_nothing_has_changed():
    live = ensue.query("SELECT x.v FROM S WHERE A AS x ; NOT B ; C").live(unit="s", changes="op")
    first = {"op": "insert", "time": 3, "type": "A", "v": 1}
    live.push([first, {**first, "time": 9, "type": "C"}])
    with pytest.raises(ensue.DataError, match="'remove' in row 2, which is no change of an event"):
        live.push([{**first, "time": 4, "type": "B"}, {**first, "op": "remove"}])
    with pytest.raises(ensue.DataError, match=r"other columns than those before them: v \(int64, now string\)"):
        live.push([{**first, "v": "1"}])
    with pytest.raises(ensue.DataError, match="is no time like those of the events"):
        live.advance("soon")
    assert live.push([{**first, "time": 4, "type": "B"}]).to_arrow().column("change").to_pylist() == ["delete"]


def test_a_state_of_something_else_is_refused():
    def live(text, **options):
        return ensue.query(text).live(unit="s", **options)

    made = live("SELECT x.v FROM S WHERE A AS x ; B")
    made.push([{"time": 3, "type": "A", "v": 1}])
    state = made.save()
    with pytest.raises(ensue.EngineError, match="what differs: query"):
        live("SELECT x.v FROM S WHERE A AS x ; C", state=state)
    with pytest.raises(ensue.EngineError, match=r"what differs: slack \(None, now 2 s\)"):
        live("SELECT x.v FROM S WHERE A AS x ; B", state=state, slack="2 s")
    with pytest.raises(ensue.EngineError, match="damaged"):
        live("SELECT x.v FROM S WHERE A AS x ; B", state=state[:-1] + bytes([state[-1] ^ 1]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"disorder": "revised"}, "did you mean 'revise'"),
        ({"slack": "soon"}, r"slack='soon' is not a duration"),
        ({"slack": "2 s", "disorder": "wait"}, "disorder='wait' waits for the watermark"),
        ({"time": None}, "name the time column with time='...'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, said):
    with pytest.raises(ensue.EnsueError, match=said):
        ensue.query("SELECT x.v FROM S WHERE A AS x ; B").live(**options)


def test_queries_come_and_go():
    live = ensue.live({"pairs": ensue.query("SELECT x.v FROM S WHERE A AS x ; NOT C ; B")}, unit="s", keep="all")
    live.push([{"time": 5, "type": "A", "v": 1}])
    live.add("late", ensue.query("SELECT x.v FROM S WHERE A AS x ; B"))
    told = live.push([{"time": 3, "type": "A", "v": 2}, {"time": 9, "type": "B", "v": 0}])
    assert {name: len(changes) for name, changes in told.items()} == {"pairs": 2, "late": 0}
    told = live.push([{"time": 7, "type": "A", "v": 3}])
    assert {name: len(changes) for name, changes in told.items()} == {"pairs": 1, "late": 1}
    state = live.save()
    again = ensue.live(
        {
            name: ensue.query(f"SELECT x.v FROM S WHERE A AS x ; {rest}")
            for name, rest in (("pairs", "NOT C ; B"), ("late", "B"))
        },
        unit="s",
        keep="all",
        state=state,
    )
    told = again.push([{"time": 8, "type": "C", "v": 0}])
    assert {name: len(changes) for name, changes in told.items()} == {"pairs": 3, "late": 0}
    assert {name: len(answer) for name, answer in again.answer().items()} == {"pairs": 0, "late": 1}
    retracted = again.remove("late", retract=True)
    assert retracted is not None
    assert retracted.to_arrow().column("change").to_pylist() == ["delete"]
    with pytest.raises(ensue.EngineError, match="no query named 'pair': did you mean 'pairs'"):
        again.remove("pair")


def test_a_deadline_does_not_pass_before_events_that_the_watermark_has_passed_as_well():
    query = ensue.query("SELECT a.time FROM S WHERE A AS a ; NOT B WITHIN 2 s")
    events = [{"time": k, "type": "BA"[k % 2]} for k in range(4_100)]  # more than are evaluated at once
    assert query.live(unit="s", delay="0 s").push(events).to_arrow().num_rows == 0


def test_an_update_of_the_time_alone():
    live = ensue.query("SELECT * FROM S WHERE ANY").live(unit="s", changes="op", id="n")
    row = {"n": 5, "type": "A"}
    live.push([{**row, "op": "insert", "time": 7}])
    update = [{**row, "op": "update_preimage", "time": 7}, {**row, "op": "update_postimage", "time": 8}]
    changes = live.push(update).to_arrow().select(["change", "end_time"]).to_pylist()
    assert changes == [{"change": "delete", "end_time": 7}, {"change": "insert", "end_time": 8}]


@pytest.mark.parametrize("seed", range(10))
def test_events_that_are_not_expected_count_once_the_watermark_has_passed_them(seed: int) -> None:
    """However often they are evaluated again, in any order of arrival, and after a restart."""
    rng = Random(f"expected {seed}")
    query = ensue.query("SELECT x.time AS t FROM S WHERE A AS x ; B PARTITION BY k WITHIN 9 s EXPECT ((A : B):*)")
    events: list[Any] = [{"time": n, "type": rng.choice("AB"), "k": rng.randrange(2)} for n in range(1, 60)]
    arrived = sorted(events, key=lambda e: e["time"] + rng.choice((0, 0, 3)))
    live = query.live(unit="s")
    for first in range(0, len(arrived), 7):
        live.push(arrived[first : first + 7])
        passed = arrived[first]["time"] - 4
        live.advance(passed)
        settled = [e for e in events if e["time"] <= passed and e in arrived[: first + 7]]
        assert live.metrics["unexpected"] == (query.run(settled, unit="s").unexpected if settled else 0)
        if rng.random() < 0.3:
            live = query.live(unit="s", state=live.save())
    live.advance(100)
    assert live.metrics["unexpected"] == query.run(events, unit="s").unexpected > 0
    assert live.metrics["late"] == 0
