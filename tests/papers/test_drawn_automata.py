"""The automata that the papers draw, given as automata of one's own: each finds what the paper says it finds.

Chandramouli, Goldstein and Maier print no picture in the appendix, but a fence, and patterns that no finite automaton
recognises: as many steps up as down.
"""

from __future__ import annotations

import itertools
from random import Random

import pyarrow as pa
import pytest

import ensue

HOT, DRY = "type = 'T' AND temp > 40", "type = 'H' AND hum < 25"
HOT_THEN_DRY = "FILTER X[temp > 40] AND Y[hum < 25]"


def sensor_events(seed: int, count: int = 40) -> pa.Table:
    rng, times, rows = Random(seed), [0], []
    for _ in range(count):
        times.append(times[-1] + rng.choice([500, 1000, 1500]))
        rows.append(
            {
                "type": rng.choice("TTH"),
                "temp": rng.choice([-50, 20, 45, 60]),
                "hum": rng.choice([10, 20, 40]),
                "id": rng.choice([1, 2]),
            }
        )
    return pa.Table.from_pylist(rows).append_column("time", pa.array(times[1:], pa.timestamp("ms")))


def timed_1() -> ensue.Automaton:
    """Garcia and Riveros, example 4.1: one clock, reset at the first event and checked twice."""
    made = ensue.Automaton(clocks="z").start(0).accept(3)
    made.arc(0, 1, HOT, mark="X", reset="z").skip(1)
    made.arc(1, 2, HOT, since={"z": "<= 1 s"}).skip(2)
    return made.arc(2, 3, DRY, mark="Y", since={"z": "<= 5 s"})


def timed_2() -> ensue.Automaton:
    """Garcia and Riveros, example 4.2: two clocks, whose intervals overlap."""
    made = ensue.Automaton(clocks=("z1", "z2")).start(0).accept(4)
    made.arc(0, 1, HOT, mark="X", reset="z1").skip(1)
    made.arc(1, 2, HOT, mark="X", reset="z2").skip(2)
    made.arc(2, 3, DRY, mark="Y", since={"z1": "<= 5 s"}).skip(3)
    return made.arc(3, 4, DRY, mark="Y", since={"z2": "<= 5 s"})


def register_match_automaton() -> ensue.Automaton:
    """Alevizos et al., figure 1: the register holds the first event, which the second one is compared with."""
    made = ensue.Automaton(register={"r1": int}).start("s").accept("f")
    made.arc("s", "1", "type = 'T'", then={"r1": "id"}, mark="x").skip("1")
    return made.arc("1", "f", "type = 'H' AND id = r1", mark="y")


def constructed_register_match_automaton() -> ensue.Automaton:
    """Alevizos et al., figure 2: two first events write one register."""
    made = ensue.Automaton(register={"r1": int}).start("s").accept("f")
    for state, condition in (("1", "temp < -40"), ("2", "temp > 50")):
        made.arc("s", state, f"type = 'T' AND {condition}", then={"r1": "id"}, mark="x").skip(state)
        made.arc(state, "f", "type = 'T' AND id = r1", mark="y")
    return made


def match_automaton() -> ensue.Automaton:
    """Grez, figure 6.1, without the loop before the first marked event: a run of ours begins with it."""
    made = ensue.Automaton().start(1).accept(4)
    made.arc(1, 2, "type = 'H'", mark="h").skip(2)
    made.arc(2, 3, HOT, mark="t").skip(3)
    return made.arc(3, 3, HOT, mark="t").arc(3, 4, "type = 'H'", mark="h")


def match_automaton_of_a_filter() -> ensue.Automaton:
    """Grez, figure 7.1."""
    return ensue.Automaton().start("i").accept("f").arc("i", "f", "type = 'T' AND temp > 40", mark="x")


DRAWN = {
    "timed 1": (timed_1, "X, Y", f"((T AS X ;[<= 1 s] T[temp > 40]) ; H AS Y WITHIN 5 s) {HOT_THEN_DRY}"),
    "timed 2": (
        timed_2,
        "X, Y",
        "((T AS X ; T AS X ; H AS Y WITHIN 5 s) ; H AS Y AND T AS X ; (T AS X ; H AS Y ; H AS Y WITHIN 5 s)) "
        + HOT_THEN_DRY,
    ),
    "register 1": (register_match_automaton, "x, y", "T AS x ; H AS y FILTER x.id = y.id"),
    "register 2": (
        constructed_register_match_automaton,
        "x, y",
        "((T AS x FILTER x.temp < -40) OR (T AS x FILTER x.temp > 50)) ; T AS y FILTER y.id = x.id",
    ),
    "match": (match_automaton, "h, t", "H AS h ; (T[temp > 40] AS t)+ ; H AS h WITHIN 9 EVENTS"),
    "filter": (match_automaton_of_a_filter, "x", "T AS x FILTER x.temp > 40"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_it_finds_what_the_formula_finds(name: str) -> None:
    made, items, pattern = DRAWN[name]
    window = " WITHIN 9 EVENTS" if name == "match" else ""
    own = ensue.query(f"SELECT {items} FROM S WHERE MATCHES m{window}", m=made())
    formula = ensue.query(f"SELECT {items} FROM S WHERE {pattern}")
    some = 0
    for seed in range(4):
        events = sensor_events(seed)
        found, wanted = own.run(events, engine="automaton"), formula.run(events)
        assert sorted(map(_positions, found.found.each())) == sorted(map(_positions, wanted.found.each()))
        some += len(found)
    assert some


def _positions(found) -> str:
    start, end, marks = found
    return str((start, end, sorted(marks)))


def test_its_classes_are_told() -> None:
    """Examples 5.2 and 6.2: the first has synchronous resets and is monotonic; the second needs two clocks."""
    said = ensue.query("SELECT X, Y FROM S WHERE MATCHES m", m=timed_1()).explain()
    assert "clocks        1" in said
    assert "resets        synchronous" in said
    assert "monotonic" in said
    assert "clocks        2" in ensue.query("SELECT X, Y FROM S WHERE MATCHES m", m=timed_2()).explain()


# ---------------------------------------------------------------- Chandramouli, Goldstein and Maier


def downs_and_ups() -> ensue.Automaton:
    """So many steps down, then as many up: the register counts them."""
    made = ensue.Automaton(register={"n": 0}).start("level").accept("back")
    made.arc("level", "down", "v < PREV(v)", then={"n": 1})
    made.arc("down", "down", "v < PREV(v)", then={"n": "n + 1"})
    for state in ("down", "up"):
        made.arc(state, "up", "v > PREV(v) AND n > 1", then={"n": "n - 1"})
        made.arc(state, "back", "v > PREV(v) AND n = 1")
    return made


def test_downs_and_as_many_ups() -> None:
    prices = [5, 4, 3, 2, 3, 4, 5, 6, 5, 6]
    rows = [{"time": k, "type": "quote", "v": v} for k, v in enumerate(prices)]
    query = ensue.query("SELECT * FROM S WHERE MATCHES v_shape", v_shape=downs_and_ups())
    wanted = [(3, 4), (2, 5), (1, 6), (8, 9)]  # the innermost pair of steps ends first
    for engine in ("automaton", "reference"):
        found = query.run(rows, unit="s", engine=engine)
        assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == wanted


def test_random_downs_and_ups() -> None:
    """By counting: a window is one, if it is falls and then as many rises."""
    rng = Random(8)
    for _ in range(30):
        prices = [rng.randrange(6) for _ in range(25)]
        # The step to each price but the first: 1 up, -1 down, 0 level.
        steps = [0, *((b > a) - (b < a) for a, b in itertools.pairwise(prices))]
        wanted = set()
        for i, half in itertools.product(range(1, 25), range(1, 13)):
            if steps[i : i + 2 * half] == [-1] * half + [1] * half:
                wanted.add((i, i + 2 * half - 1))
        rows = [{"time": k, "type": "quote", "v": v} for k, v in enumerate(prices)]
        found = ensue.query("SELECT n FROM S WHERE MATCHES m", m=downs_and_ups()).run(rows, unit="s")
        assert set(zip(found.start.tolist(), found.end.tolist(), strict=True)) == wanted


def test_the_fence_of_the_appendix() -> None:
    """Section F.2: Floor = 3 and Temperature > 95, a condition on the event alone, and one on the register."""
    made = ensue.Automaton(register={"hottest": 0.0}).start("cool").accept("hotter")
    made.arc("cool", "hot", "floor = 3 AND temperature > 95", then={"hottest": "temperature"})
    made.skip("hot", "floor <> 3")
    made.arc("hot", "hotter", "floor = 3 AND temperature > hottest", then={"hottest": "temperature"})
    readings = [(3, 96.0), (2, 99.0), (3, 97.5), (3, 95.5), (3, 99.0)]
    rows = [{"time": k, "type": "r", "floor": f, "temperature": t} for k, (f, t) in enumerate(readings)]
    query = ensue.query("SELECT hottest FROM S WHERE MATCHES m", m=made)
    for engine in ("automaton", "reference"):
        found = query.run(rows, unit="s", engine=engine)
        assert [(r["start_time"], r["end_time"], r["hottest"]) for r in found] == [(0, 2, 97.5), (3, 4, 99.0)]
    assert "fences        3 on events alone, over columns; 1 arcs ask for the register" in query.explain()
