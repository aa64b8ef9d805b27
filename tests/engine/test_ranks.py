"""NEXT and LAST by ranks of states, as where their automaton would be large, against the reference."""

import pickle
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from amounts import amount, most, shares
from engines import found_events, plan_of, run_at_once, run_in_pieces, run_plan
from overlapping_parts import random_part
from strategies import Event, events_table, random_selecting_query, random_stream

import ensue
from ensue.automata.build import select_
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check


def compare(seed: int, text: str, events: list[Event]) -> str:
    """By both engines, in one piece and in several; says what became of it."""
    told = (seed, text, events)
    query = parse_query(text)
    stream = read_events(events_table(events), query.streams, unit="s")
    checked = check(query, text, stream.schema)
    plan = plan_of(checked)
    if plan is None:
        return "refused"
    wanted = found_events(reference.evaluate(checked, stream))
    found = run_in_pieces(plan, stream, Random(seed))
    if query.limit is None:
        assert Counter(found) == Counter(wanted), told
    else:
        assert Counter(end for _, end, _ in found) == Counter(end for _, end, _ in wanted), told
    assert found_events(run_plan(plan, stream)) == found, told
    if not plan.rankings:
        return "without ranks"
    union = run_plan(plan, stream, union=True)
    assert {(int(e)) for e in union.end} == {end for _, end, _ in wanted}, told
    return "ranked" if wanted else "ranked, without a match"


def of_parts(seed: int) -> str:
    """One selector, of the whole query or inside of it, with and without what may be around it."""
    rng = Random(seed)
    part, selector = random_part(rng, rng.choice([1, 2, 2, 3])), rng.choice(["NEXT", "LAST"])
    inside = f"{selector}({part})"
    pattern = rng.choice([inside, inside, f"{inside} ; C", f"C ; {inside}", f"({inside})+", f"{inside} OR NEXT(A ; B)"])
    clauses = rng.choice(["", " PARTITION BY k"])
    clauses += rng.choice(["", " WITHIN 4 EVENTS", " WITHIN 4 s"]) if pattern != inside else ""
    times = sorted(rng.choices(range(10), k=rng.randrange(3, 11)))
    events = [{"time": t, "type": rng.choice("AAABBC"), "v": 0, "k": rng.choice([0, 0, 1])} for t in times]
    return compare(seed, f"SELECT * FROM S WHERE {pattern}{clauses}", events)


def of_queries(seed: int) -> str:
    """Selectors at any depth of any pattern."""
    rng = Random(seed)
    return compare(seed, print_query(random_selecting_query(rng)), random_stream(rng, 8))


def always_by_ranks(seed: int) -> str:
    """Either of these, as `tools/soak.py` runs them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(select_, "MOST_WITHOUT_RANKS", -1)
        return of_queries(seed) if seed % 2 else of_parts(seed)


@pytest.fixture
def always(monkeypatch):
    """Ranks are used however small the automaton is."""
    monkeypatch.setattr(select_, "MOST_WITHOUT_RANKS", -1)


@pytest.mark.parametrize("seeds", shares(200, each=100))
def test_one_selector_by_ranks(seeds, always):
    assert Counter(map(of_parts, seeds))["ranked"] > most(seeds, 0.4)


@pytest.mark.parametrize("seeds", shares(200, each=100))
def test_selectors_at_any_depth_by_ranks(seeds, always):
    assert Counter(map(of_queries, seeds))["ranked"] > most(seeds, 0.1)


# ---------------------------------------------------------------- what is too large for an automaton


def pairs(count: int) -> str:
    return " ALL ".join(f"(A{k} ; B{k})" for k in range(count))


def stream_of(rng: Random, count: int, events: int) -> pa.Table:
    types = [f"{rng.choice('AB')}{rng.randrange(count)}" for _ in range(events)]
    return pa.table({"time": list(range(events)), "type": types})


@pytest.mark.parametrize("selector", ["NEXT", "LAST"])
def test_pairs_in_any_order_are_as_the_reference_finds_them(selector):
    for seed in range(amount(8)):
        table = stream_of(Random(seed), 3, 14)
        for pattern in (f"{selector}({pairs(3)})", f"{selector}({pairs(3)}) ; A0"):
            by_engine = ensue.match(table, f"SELECT * FROM S WHERE {pattern}", unit="s", engine="automaton")
            by_reference = ensue.match(table, f"SELECT * FROM S WHERE {pattern}", unit="s", engine="reference")
            assert sorted(map(repr, by_engine)) == sorted(map(repr, by_reference)), (seed, pattern)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_programs_of_pairs_do_not_grow_with_the_stream(count):
    """What a longer stream asks for is known already: its events take a look into a table."""
    text = f"SELECT NEXT * FROM S WHERE {pairs(count)}"
    query = parse_query(text)
    stream = read_events(stream_of(Random(1), count, 12_000), query.streams, unit="s")
    plan = plan_of(check(query, text, stream.schema))
    assert plan is not None
    assert bool(plan.rankings) == (count > 2)
    runner = Runner(plan, stream.tick)
    assert len(runner.push(stream.slice(0, 6_000))) > 1_000
    known = len(runner.evaluator.programs.configurations)
    assert len(runner.push(stream.slice(6_000, 6_000))) > 1_000
    assert len(runner.evaluator.programs.configurations) == known
    runner.evaluator.collect(runner.position)
    assert runner.nodes < 4 * plan.automaton.size  # of each state, one partial match stays


def test_keys_have_ranks_of_their_own_in_a_saved_state():
    text = f"SELECT NEXT * FROM S WHERE {pairs(3)} PARTITION BY k"
    rng = Random(3)
    table = stream_of(rng, 3, 300).append_column("k", pa.array([rng.randrange(5) for _ in range(300)]))
    query = parse_query(text)
    stream = read_events(table, query.streams, unit="s")
    plan = pickle.loads(pickle.dumps(plan_of(check(query, text, stream.schema))))
    whole = run_at_once(plan, stream)
    assert len(whole) > 20
    for seed in range(5):
        assert run_in_pieces(plan, stream, Random(seed)) == whole


def test_explain_says_what_is_kept():
    shown = ensue.query(f"SELECT NEXT * FROM S WHERE {pairs(4)}").explain()
    line = next(line.strip() for line in shown.splitlines() if line.strip().startswith("ranks"))
    assert line == "ranks         NEXT: the best partial match of each of 188 states, in their order"


def test_what_ranks_cannot_be_asked_of_is_refused():
    text = f"SELECT * FROM S WHERE A0 AFTER NEXT({pairs(3)})"
    with pytest.raises(ensue.QueryError, match="does not evaluate"):
        ensue.match(stream_of(Random(0), 3, 5), text, unit="s", engine="automaton")


@pytest.mark.parametrize("pattern", ["A0 ; NOT NEXT({}) ; B0", "NOT NEXT({}) WITHIN 5 s ; A0"])
def test_absences_ask_ranks_in_a_plan_of_their_own(pattern):
    text = f"SELECT * FROM S WHERE {pattern.format(pairs(2))}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(select_, "MOST_WITHOUT_RANKS", -1)
        for seed in range(12):
            table = stream_of(Random(seed), 2, 12)
            by_engine = ensue.match(table, text, unit="s", engine="automaton")
            by_reference = ensue.match(table, text, unit="s", engine="reference")
            assert sorted(map(repr, by_engine)) == sorted(map(repr, by_reference)), seed
