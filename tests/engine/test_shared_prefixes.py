"""Several queries over one table: together they find what each finds alone, and what they begin with is done once."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from amounts import shares
from overlapping_parts import random_part

import ensue
from ensue.data.events import read_events
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.plan.shared import is_shareable, shared_plan


def table(rng: Random, count: int) -> pa.Table:
    columns = {
        "time": sorted(rng.choices(range(count), k=count)),
        "type": rng.choices("AABC", k=count),
        "v": rng.choices([0, 1, 2, None], k=count),
        "k": rng.choices([0, 1], k=count),
    }
    return pa.table(columns)


def random_query(rng: Random, begin: str) -> str:
    part = f"{begin} ; {random_part(rng, rng.choice([0, 1]))}" if rng.random() < 0.7 else random_part(rng, 1)
    if rng.random() < 0.4:
        part = f"A AS first ; {part} FILTER first.v {rng.choice(['<', '='])} A.v" if "A" not in part else part
    selector = rng.choice(["", "", "", "NEXT ", "LAST "])
    end = rng.choice(
        [" WITHIN 4 EVENTS"] * 3 + [" WITHIN 5 s", " PARTITION BY k WITHIN 5 s", " WITHIN 5 s LIMIT 3 PER END"]
    )
    return f"SELECT {selector}* FROM S WHERE {part}{end}"


def compare(seed: int) -> bool:
    rng = Random(f"shared prefixes {seed}")
    begin = random_part(rng, 1)
    queries = {}
    for n in range(rng.randrange(1, 6)):
        try:
            queries[f"q{n}"] = ensue.query(random_query(rng, begin))
        except ensue.QueryError:
            continue
    events = table(rng, rng.randrange(8, 30))
    together = ensue.run(events, queries, unit="s")
    assert list(together) == list(queries)
    for name, query in queries.items():
        if query.ast.limit is None:
            alone = query.run(events, unit="s")
            assert rows(together[name]) == rows(alone), (seed, query.text)
    return len(queries) > 1


def rows(found: ensue.Matches) -> list[str]:
    assert found.end.tolist() == sorted(found.end.tolist())
    return sorted(map(str, found.to_arrow().to_pylist()))


@pytest.mark.parametrize("seeds", shares(10, each=10))
def test_random_queries(seeds):
    compared = list(map(compare, seeds))
    assert any(compared)


ENDS = ["C", "(C AS y FILTER y.v > 1)", "B ; C", "(C AS y FILTER y.v = b.v)"]
#: With a common beginning, which compares events.
ALIKE = [f"SELECT a, b FROM S WHERE A AS a ; B AS b ; {end} FILTER a.v <= b.v WITHIN 20 EVENTS" for end in ENDS[:3]]


def choices(texts: list[str], events: pa.Table) -> list[Choice]:
    stream = read_events(events, ("S",), unit="s")
    return [choose(check(parse_query(text), text, stream.schema)) for text in texts]


def open_nodes(plan: Any, events: pa.Table) -> int:
    stream = read_events(events, ("S",), unit="s")
    runner: Any = Runner(plan, stream.tick)
    runner.push(stream)
    return int(runner.nodes)


def test_what_queries_begin_with_is_kept_once():
    events = table(Random(1), 60).filter(pa.array([n % 9 > 0 for n in range(60)]))
    alike = [text.replace("; C FILTER", "; C AS c FILTER") for text in ALIKE]
    alone = [open_nodes(c.plan, events) for c in choices(alike[:2], events)]
    together = open_nodes(shared_plan(choices(alike[:2], events)), events)
    assert max(alone) <= together < sum(alone)


def test_rows_are_those_of_each_query():
    events = table(Random(2), 200)
    queries = {f"q{n}": ensue.query(text) for n, text in enumerate(ALIKE)}
    queries["ordered"] = ensue.query(ALIKE[0].replace("a, b", "a.v AS least") + " ORDER BY a.v DESC, end_time")
    found = ensue.run(events, queries, unit="s")
    for name, query in queries.items():
        alone = query.run(events, unit="s").to_arrow()
        assert found[name].to_arrow().schema == alone.schema
        assert len(alone) == len(found[name]) > 0
        assert sorted(map(str, found[name].to_arrow().to_pylist())) == sorted(map(str, alone.to_pylist()))
    ordered = found["ordered"].to_arrow().column("least").to_pylist()
    assert ordered == sorted(ordered, reverse=True)


def test_what_does_not_share_is_evaluated_by_itself():
    events = table(Random(3), 50)
    texts = [
        "SELECT * FROM S WHERE A ; B WITHIN 5 s",
        "SELECT * FROM S WHERE A ; B WITHIN 6 s",
        "SELECT * FROM S WHERE A ; B PARTITION BY k WITHIN 5 s",
        "SELECT * FROM S WHERE A ; B ; NOT C WITHIN 1 s",
        "SELECT count(A) AS n FROM S WHERE A+ ; B WITHIN 3 EVENTS LIMIT 2 PER END",
        "SELECT x FROM S WHERE A AS x ; B WITHIN 3 EVENTS CONSUME BY ANY",
        "SELECT sum(w.v) AS s FROM S WHERE SPAN(A ; B) AS w WITHIN 4 EVENTS",
    ]
    shareable = [is_shareable(c) for c in choices(texts, events)]
    assert shareable == [True, True, True, False, False, False, False]
    found = ensue.run(events, {str(n): ensue.query(text) for n, text in enumerate(texts)}, unit="s", closed=True)
    for n, text in enumerate(texts):
        assert rows(found[str(n)]) == rows(ensue.query(text).run(events, unit="s", closed=True)), text


def test_options_for_streams_are_refused():
    several: Any = ensue.run
    query = ensue.query("SELECT * FROM S WHERE A")
    with pytest.raises(TypeError, match="buckets: for Spark DataFrames only"):
        several([{"time": 1, "type": "A"}], {"a": query}, buckets=2)
    with pytest.raises(TypeError, match="queries: for Spark streams only"):
        several([{"time": 1, "type": "A"}], {"a": query}, queries=[])
    with pytest.raises(ensue.QueryError, match="AGGREGATE"):
        several([{"time": 1, "type": "A"}], {"a": ensue.query("AGGREGATE count(*) AS n FROM S WHERE A WITHIN 5 s")})


def test_texts_stand_for_queries():
    events = table(Random(5), 40)
    text = "SELECT * FROM S WHERE A ; B WITHIN 5 s"
    assert rows(ensue.run(events, {"a": text}, unit="s")["a"]) == rows(ensue.query(text).run(events, unit="s"))
    changes = ensue.live({"a": text}, unit="s").push(events)
    assert len(changes["a"]) == len(ensue.query(text).run(events, unit="s"))


@pytest.mark.parametrize("asked", [["SELECT * FROM S WHERE A"], {"a": 42}, {"a": None}, {3: "SELECT * FROM S WHERE A"}])
def test_what_is_no_query_by_name_is_refused(asked):
    several: Any = ensue.run
    for call in (lambda: several([{"time": 1, "type": "A"}], asked), lambda: ensue.live(asked)):
        with pytest.raises(TypeError, match=r"by their names|behind each name"):
            call()


def test_a_text_is_not_added_to_live_queries():
    live: Any = ensue.live({"a": "SELECT * FROM S WHERE A"}, unit="s")
    with pytest.raises(TypeError, match="not its text"):
        live.add("b", "SELECT * FROM S WHERE B")
    assert live.push([{"time": 1, "type": "A"}]).keys() == {"a"}
