"""Automata that are made by hand and planned without any query: they find what the query finds that says the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest
from engines import found_events, run_at_once, run_in_pieces, run_plan

from ensue.automata.build import Unsupported
from ensue.automata.model import UNMARKED, Automaton, Label, Transition
from ensue.automata.predicates import ALWAYS, Guard, TypeIs
from ensue.automata.predicates import Test as Condition
from ensue.automata.registers import Action, Check, Since, Store
from ensue.data.events import EventStream, read_events
from ensue.engines import reference
from ensue.kernels.runner import Runner
from ensue.language import ast
from ensue.language.parser import parse_expression, parse_query
from ensue.logic.check import check
from ensue.logic.window import Window
from ensue.plan import Absence, AutomatonSpec, Plan, compile_plan, plan_automaton
from ensue.plan.capacity import MAX_PREDICATES


def events(count: int, seed: int = 0) -> EventStream:
    rng = Random(seed)
    table = pa.table(
        {
            "time": pa.array(sorted(rng.choices(range(count), k=count)), pa.int64()),
            "type": pa.array(rng.choices("ABC", k=count)),
            "k": pa.array(rng.choices([0, 1, 2], k=count), pa.int64()),
            "v": pa.array(rng.choices([0, 1, 2, 3, None], k=count), pa.int64()),
        }
    )
    return read_events(table, ("S",), unit="s")


def of_type(name: str, *tests: str) -> Guard:
    return frozenset({(TypeIs(name), True), *((Condition(parse_expression(t)), True) for t in tests)})


def marking(*variables: str, actions: tuple[Action, ...] = ()) -> Label:
    return Label(frozenset(variables), frozenset(actions))


def one_then_another(first: Label, second: Label) -> Automaton:
    """An A with `v > 0`, later a B, and any events between."""
    return Automaton(
        3,
        frozenset({2}),
        (
            Transition(0, of_type("A", "v > 0"), first, 1),
            Transition(1, ALWAYS, UNMARKED, 1),
            Transition(1, of_type("B"), second, 2),
        ),
    )


def seconds(count: int) -> ast.Bound:
    return ast.Bound(ast.Duration(Decimal(count), "s"), inclusive=True)


PLAIN = one_then_another(marking("x"), marking("y"))
#: The value of the first event is remembered, and compared with that of the second.
COMPARING = one_then_another(
    marking("x", actions=(Store("least", parse_expression("v")),)),
    marking("y", actions=(Check("least", "<", parse_expression("v")),)),
)
#: A clock measures the time between them.
TIMED = one_then_another(
    marking("x", actions=(Store("clock"),)), marking("y", actions=(Since("clock", ast.Interval(None, seconds(2))),))
)
_WHERE = "SELECT x, y FROM S WHERE A AS x ; B AS y FILTER x.v > 0"


@dataclass(frozen=True)
class Pair:
    """An automaton with what is decided outside of it, and the query that says the same."""

    spec: AutomatonSpec
    text: str


PAIRS = {
    "nothing else": Pair(AutomatonSpec(PLAIN), _WHERE),
    "keys and a window": Pair(
        AutomatonSpec(PLAIN, window=Window(time=seconds(5)), keys=("k",)), f"{_WHERE} PARTITION BY k WITHIN 5 s"
    ),
    "a window in events of each key": Pair(
        AutomatonSpec(PLAIN, window=Window(events=4), keys=("k",)), f"{_WHERE} PARTITION BY k WITHIN 4 EVENTS"
    ),
    "a window in events of all keys": Pair(
        AutomatonSpec(PLAIN, window=Window(events=6), keys=("k",), counts_all=True),
        f"{_WHERE} AND x.k = y.k WITHIN 6 EVENTS",
    ),
    "consumption": Pair(
        AutomatonSpec(PLAIN, keys=("k",), consume=ast.Consume.PARTITION),
        f"{_WHERE} PARTITION BY k CONSUME BY PARTITION",
    ),
    "a limit": Pair(
        AutomatonSpec(PLAIN, window=Window(time=seconds(9)), limit=2), f"{_WHERE} WITHIN 9 s LIMIT 2 PER END"
    ),
    "a selector": Pair(
        AutomatonSpec(PLAIN, window=Window(time=seconds(9)), chooses=ast.Selector.LAST),
        f"{_WHERE.replace('SELECT', 'SELECT LAST')} WITHIN 9 s",
    ),
    "a register": Pair(AutomatonSpec(COMPARING, window=Window(time=seconds(9))), f"{_WHERE} AND x.v < y.v WITHIN 9 s"),
    "one clock": Pair(AutomatonSpec(TIMED, keys=("k",)), f"{_WHERE.replace(';', ';[<= 2 s]')} PARTITION BY k"),
    "what is judged": Pair(
        AutomatonSpec(
            PLAIN,
            window=Window(time=seconds(9)),
            related=(parse_expression("x.v <> y.v"),),
            only_judged=frozenset({"x"}),
        ),
        f"{_WHERE.replace('x, y', 'y')} AND x.v <> y.v WITHIN 9 s",
    ),
    "an absence": Pair(
        AutomatonSpec(PLAIN, keys=("k",), absence=Absence((of_type("C"),), ast.Interval(None, seconds(1)))),
        f"{_WHERE.replace('B AS y', 'B AS y ; NOT C WITHIN 1 s')} PARTITION BY k",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_an_automaton_without_a_query_is_planned_and_run(name: str) -> None:
    pair = PAIRS[name]
    ended = 0
    for seed in range(6):
        stream = events(40, seed)
        plan = plan_automaton(replace(pair.spec, schema=stream.schema))
        checked = check(parse_query(pair.text), pair.text, stream.schema)
        found = run_at_once(plan, stream)
        assert len(found) == len(set(found))
        of_query = run_at_once(compile_plan(checked), stream)
        meaning = found_events(reference.evaluate(checked, stream))
        if plan.limit is None:
            assert not set(found) ^ set(of_query)
            assert not set(found) ^ set(meaning)
        else:  # with LIMIT it is not laid down which matches are taken
            assert Counter(e for _, e, _ in found) == Counter(e for _, e, _ in of_query)
            assert Counter(e for _, e, _ in found) == Counter(e for _, e, _ in meaning)
        assert run_in_pieces(plan, stream, Random(seed)) == found
        ended += len(found)
    assert ended > 5


def test_it_is_cut_and_shared_out_as_a_query_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensue.engines.parallel.SMALL", 100)
    stream = events(1500)
    for name in ("keys and a window", "a window in events of each key", "a register", "one clock"):
        plan = plan_automaton(replace(PAIRS[name].spec, schema=stream.schema))
        wanted = found_events(run_plan(plan, stream, threads=1))
        assert wanted
        assert found_events(run_plan(plan, stream, threads=2, batch=137)) == wanted


@pytest.mark.parametrize("name", PAIRS)
def test_what_one_clock_evaluates_is_found(name: str) -> None:
    plan, of_query = planned(PAIRS[name])
    assert plan.on_one_clock == of_query.on_one_clock == (name == "one clock")


def test_tests_that_go_together_are_one() -> None:
    steps = (Transition(0, of_type("A", "v > 0", "k < 9"), marking("x"), 1),)
    plan = plan_automaton(AutomatonSpec(Automaton(2, frozenset({1}), steps)))
    assert list(map(str, plan.predicates)) == ["A", "k < 9 AND v > 0"]


def test_it_has_the_fingerprint_of_the_query_with_the_same_automaton() -> None:
    plan, of_query = planned(PAIRS["keys and a window"])
    assert plan.fingerprint == of_query.fingerprint
    assert plan.fingerprint != planned(PAIRS["nothing else"])[0].fingerprint


def planned(pair: Pair) -> tuple[Plan, Plan]:
    """The plan of the automaton, and that of the query."""
    schema = events(9).schema
    checked = check(parse_query(pair.text), pair.text, schema)
    return plan_automaton(replace(pair.spec, schema=schema)), compile_plan(checked)


def test_a_state_of_one_goes_on_in_the_other() -> None:
    stream = events(60)
    by_hand, of_query = (Runner(plan, stream.tick) for plan in planned(PAIRS["keys and a window"]))
    by_hand.push(stream.slice(0, 30))
    of_query.load(by_hand.save())
    rest = stream.slice(30, 30)
    found = found_events(of_query.push(rest))
    assert found
    assert found == found_events(by_hand.push(rest))


def test_what_the_kernels_cannot_hold_is_refused() -> None:
    tests = [f"v > {n}" for n in range(MAX_PREDICATES + 1)]
    steps = tuple(Transition(0, of_type("A", test), marking("x"), 1) for test in tests)
    with pytest.raises(Unsupported, match="more than 4096 different conditions") as refused:
        plan_automaton(AutomatonSpec(Automaton(2, frozenset({1}), steps)))
    assert refused.value.part is None
    many = frozenset(Store(f"${n}", parse_expression("v")) for n in range(31))
    steps = (Transition(0, of_type("A"), Label(frozenset(), many), 1),)
    with pytest.raises(Unsupported, match="remembers more than 30 values"):
        plan_automaton(AutomatonSpec(Automaton(2, frozenset({1}), steps)))
