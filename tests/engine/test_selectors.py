"""NEXT, LAST and MAX as automata: the table of relations, what is chosen when, and what is refused."""

import itertools
import pickle
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_in_pieces, run_plan
from overlapping_parts import random_part
from strategies import events_table

from ensue.automata.build import select_
from ensue.automata.build.select_ import Relation, relate
from ensue.automata.predicates import Machine, TypeIs, cells, implied, machines_of, print_guard
from ensue.automata.splitting import ALL_EVENTS, Splitter
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.kernels import output_buffer, runner
from ensue.language.ast import Selector
from ensue.language.parser import parse_query
from ensue.logic.check import check

BETTER, EQUAL, WORSE = Relation.BETTER, Relation.EQUAL, Relation.WORSE


def prepared(text, types):
    query = parse_query(text)
    table = pa.table({"time": pa.array(np.arange(len(types))), "type": pa.array(types)})
    stream = read_events(table, query.streams, unit="s")
    checked = check(query, text, stream.schema)
    return plan_of(checked), stream, checked


def found_and_wanted(text, types):
    plan, stream, checked = prepared(text, types)
    found = found_events(run_plan(plan, stream, threads=1))
    assert len(found) == len(set(found))
    return set(found), set(found_events(reference.evaluate(checked, stream)))


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize(
    ("selector", "relation", "only_own", "only_other"),
    [
        (Selector.NEXT, BETTER, BETTER, BETTER),
        (Selector.NEXT, EQUAL, None, BETTER),
        (Selector.LAST, BETTER, WORSE, BETTER),
        (Selector.LAST, EQUAL, WORSE, BETTER),
        (Selector.LAST, WORSE, WORSE, BETTER),
        (Selector.MAX, BETTER, None, BETTER),
        (Selector.MAX, EQUAL, None, BETTER),
    ],
)
def test_the_table(selector, relation: Relation, only_own, only_other):
    assert relate(selector, relation, True, True) is relate(selector, relation, False, False) is relation
    assert relate(selector, relation, True, False) is only_own
    assert relate(selector, relation, False, True) is only_other


def better(selector, own, other):
    """Section 5: whether the support `other` is better than `own`."""
    difference = own ^ other
    if selector is Selector.MAX:
        return own < other
    first = min if selector is Selector.NEXT else max
    return bool(difference) and first(difference) in other


@pytest.mark.parametrize("selector", [Selector.NEXT, Selector.LAST, Selector.MAX])
def test_the_table_is_the_order_of_supports(selector):
    """Every two supports in five events, read event by event."""
    supports = [frozenset(c) for size in range(6) for c in itertools.combinations(range(5), size)]
    for own, other in itertools.product(supports, supports):
        relation: Relation | None = EQUAL
        for k in range(5):
            relation = relation and relate(selector, relation, k in own, k in other)
        assert (relation is BETTER) == better(selector, own, other), (own, other)


def test_a_split_is_disjoint_and_complete_and_decides_every_guard():
    rng = Random(0)
    predicates = [TypeIs(name) for name in "ABC"]
    for _ in range(200):
        guards = [
            frozenset((p, rng.random() < 0.6) for p in rng.sample(predicates, rng.randrange(3))) for _ in range(4)
        ]
        guards = [g for g in guards if sum(positive for _, positive in g) < 2]
        splitter = Splitter(guards)
        every = sum({splitter.bit(g) for g in guards})
        parts = [(splitter.guard(cell), held) for cell, held in splitter.split(ALL_EVENTS, every)]
        for cell in cells(predicates):
            inside = [held for part, held in parts if implied(cell, part)]
            assert inside == [sum({splitter.bit(g) for g in guards if implied(cell, g)})], (guards, cell)


# ---------------------------------------------------------------- when a choice is left


@pytest.mark.parametrize(
    ("text", "chooses", "machines"),
    [
        ("SELECT NEXT * FROM S WHERE A ; B ; C", None, 1),
        ("SELECT LAST * FROM S WHERE A ; B ; C", None, 0),
        ("SELECT MAX * FROM S WHERE A ; B ; C", None, 0),
        ("SELECT NEXT * FROM S WHERE A ; B ; C WITHIN 9 EVENTS", Selector.NEXT, 0),
        ("SELECT * FROM S WHERE NEXT(A ; B ; C WITHIN 9 s)", Selector.NEXT, 0),
        ("SELECT NEXT * FROM S WHERE A ; B CONSUME BY ANY", Selector.NEXT, 0),
        ("SELECT LAST * FROM S WHERE A ; B ; C WITHIN 9 EVENTS", None, 0),
        ("SELECT MAX * FROM S WHERE A ; B ; C WITHIN 9 s", None, 0),
        ("SELECT MAX * FROM S WHERE A+ ; C WITHIN 9 s", Selector.MAX, 0),
        ("SELECT * FROM S WHERE NEXT(A ; B) WITHIN 9 s", None, 1),
        ("SELECT LAST * FROM S WHERE NEXT(A ; B) WITHIN 9 s", None, 1),
        ("SELECT * FROM S WHERE LAST(NEXT(A ; B) ; C)", None, 1),
        ("SELECT * FROM S WHERE NEXT(NEXT(A ; B) ; C)", None, 2),
    ],
)
def test_what_is_left_for_the_end_of_a_match(text, chooses, machines):
    plan, _, _ = prepared(text, ["A"])
    assert plan.chooses is chooses
    assert len(plan.machines) == machines


def test_a_plan_with_machines_pickles():
    text = "SELECT * FROM S WHERE NEXT(NEXT(A ; B) ; C) ; D"
    plan, stream, _ = prepared(text, list("AABCABCD"))
    again = pickle.loads(pickle.dumps(plan))
    assert again.fingerprint == plan.fingerprint
    assert [m.name for m in again.machines] == [
        "earlier runs in NEXT(A ; B)",
        "earlier runs in NEXT(NEXT(A ; B) ; C)",
    ]
    assert found_events(run_plan(again, stream)) == found_events(run_plan(plan, stream))


def test_what_came_before_is_printed_for_people():
    plan, _, _ = prepared("SELECT * FROM S WHERE NEXT(A ; B)", ["A"])
    (start,) = (t for t in plan.automaton.transitions if t.source == 0)
    assert print_guard(start.guard) == "A & earlier runs in NEXT(A ; B): {}"
    (machine,) = machines_of(plan.predicates)
    assert isinstance(machine, Machine)
    assert machine.states == ("{}", "{1}")


@pytest.mark.parametrize("selector", ["NEXT", "LAST", "MAX"])
@pytest.mark.parametrize("limit", ["MOST_STATES_BEFORE", "_MOST_WORK", "_MOST_PAIRS"])
def test_what_is_too_large_is_left_to_the_end_of_a_match(selector, limit, monkeypatch):
    """Too many earlier runs to tell apart leave a choice among starts; too large an automaton, one among all."""
    monkeypatch.setattr(select_, limit, 1)
    text = f"SELECT {selector} A FROM S WHERE (A ; B{{1,2}} ; C) OR (B? ; A+ ; C) WITHIN 99 EVENTS"
    plan, _, _ = prepared(text, ["A"])
    assert plan.chooses is Selector(selector)
    rng = Random(1)
    for _ in range(10):
        types = [rng.choice("AABBC") for _ in range(10)]
        found, wanted = found_and_wanted(text, types)
        assert found == wanted, types


def test_what_is_too_large_for_an_automaton_is_ranked():
    for body in ("A ; B ; C WITHIN 40 EVENTS", "A ; B ; C ALL D ; E ; F ALL G ; H"):
        plan, _, _ = prepared(f"SELECT * FROM S WHERE NEXT({body}) ; D", ["A"])
        assert [r.name for r in plan.rankings] == [f"NEXT({body})"]


# ---------------------------------------------------------------- running


def test_different_selectors_of_the_same_pattern():
    """What they ask of earlier runs differs, so each has a machine of its own."""
    body = "(A ; B) OR (C ; A+ ; B) OR (ANY ; B)"
    text = f"SELECT * FROM S WHERE (NEXT({body}) AS x) OR (LAST({body}) AS y) OR (MAX({body}) AS z)"
    plan, _, _ = prepared(text, ["A"])
    assert len(plan.machines) == 3
    rng = Random(4)
    for _ in range(20):
        types = [rng.choice("AABBC") for _ in range(9)]
        found, wanted = found_and_wanted(text, types)
        assert found == wanted, types


@pytest.mark.parametrize("selector", ["NEXT", "LAST", "MAX"])
@pytest.mark.parametrize("room", [1, 3, 8])
def test_the_candidates_of_an_end_stay_together_when_the_output_is_full(selector, room, monkeypatch):
    for name in ("_FIRST_EVENTS", "_FEWEST_EVENTS", "_MOST_EVENTS"):
        monkeypatch.setattr(output_buffer, name, room)
    types = [Random(2).choice("AABBCD") for _ in range(12)]
    rng = Random(3)
    for pattern in ("(A AS x OR A AS y) ; B{1,2} ; C", "(D ; (A OR B)+ ; C) OR (ANY ; A ; C)"):
        for items in ("*", "A", "C"):
            for tail in ("WITHIN 9 EVENTS", "CONSUME BY PARTITION"):
                shuffled = rng.sample(types, 11)
                text = f"SELECT {selector} {items} FROM S WHERE {pattern} {tail}"
                found, wanted = found_and_wanted(text, shuffled)
                assert found == wanted, (text, shuffled)


def test_max_reports_once_what_projection_makes_the_same():
    types = ["A", *["B"] * 50, "C"]
    plan, stream, _ = prepared("SELECT MAX A FROM S WHERE A ; B ; C OR D ; A ; C WITHIN 100 EVENTS", types)
    found = run_plan(plan, stream)
    assert len(found) == 1
    assert found.position.tolist() == [0]


def test_a_limit_counts_after_the_choice_and_the_projection():
    types = ["A", "A", "B", "B", "C"]
    for limit in (1, 2, 3):
        text = f"SELECT MAX A FROM S WHERE A ; B ; C OR D ; A ; C WITHIN 9 EVENTS LIMIT {limit} PER END"
        plan, stream, _ = prepared(text, types)
        assert len(run_plan(plan, stream)) == min(limit, 2)


def test_without_a_window_one_partial_match_is_kept_for_each_state():
    types = ["A"] * 5000 + ["B"] * 5000 + ["C"]
    plan, stream, _ = prepared("SELECT NEXT * FROM S WHERE A ; B ; C", types)
    running = runner.Runner(plan, stream.tick)
    assert running.push(stream).position.tolist() == [0, 5000, 10000]
    running.evaluator.collect(running.position)
    assert running.nodes <= 4


def compare(seed: int) -> str:
    """A random choice among what a window holds, by both engines; says what became of it."""
    rng = Random(seed)
    windows = ["WITHIN 2 EVENTS", "WITHIN 4 EVENTS", "WITHIN 2 s", "WITHIN 4 s", "WITHIN 3 s WITHIN 5 EVENTS"]
    clauses = f"{rng.choice(['', ' PARTITION BY k'])} {rng.choice(windows)}"
    clauses += rng.choice(["", "", " CONSUME BY PARTITION", " CONSUME BY ANY"])
    selector = rng.choice(["NEXT", "NEXT", "NEXT", "LAST", "MAX"])
    text = f"SELECT {selector} * FROM S WHERE {random_part(rng, rng.choice([1, 2, 2, 3]))}{clauses}"
    times = sorted(rng.choices(range(10), k=rng.randrange(3, 12)))
    events = [{"time": t, "type": rng.choice("AAABBC"), "v": 0, "k": rng.choice([0, 0, 1])} for t in times]
    query = parse_query(text)
    stream = read_events(events_table(events), query.streams, unit="s")
    checked = check(query, text, stream.schema)
    plan = plan_of(checked)
    if plan is None:
        return "refused"
    found, wanted = run_in_pieces(plan, stream, rng), found_events(reference.evaluate(checked, stream))
    assert set(found) == set(wanted), (seed, text, events)
    assert len(found) == len(wanted), (seed, text, events)
    return "compared" if wanted else "without a match"


@pytest.mark.parametrize("seeds", shares(800, each=200))
def test_chooses_among_what_the_window_holds(seeds):
    """Starts leave the window one by one, in lists that are joined, copied and marked in several ways."""
    assert [compare(seed) for seed in seeds].count("compared") > most(seeds, 0.4)
