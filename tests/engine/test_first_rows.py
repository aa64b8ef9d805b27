"""LIMIT and ORDER BY: random queries over tables and cut streams give the first rows of what the reference gives.

Which of the rows of one end LIMIT takes is not laid down, so these are compared as numbers; with ORDER BY, rows that
are equal in all keys.
"""

from collections import Counter
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from amounts import most, shares
from strategies import events_table, random_query, random_stream

import ensue
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream, read_events
from ensue.engines import whole_tables
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.reference import evaluate
from ensue.language import ast
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import Checked, check
from ensue.logic.classify import deadline_of
from ensue.logic.outputs import outputs
from ensue.logic.types import Typing
from ensue.plan.choice import choose
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery

TOLD = "seed {}:\n{}\nover {}"


def keys_of(query: ast.Query, rng: Random) -> tuple[ast.SortKey, ...]:
    """ORDER BY of some columns of the result, and of what its single variables have."""
    columns: list[ast.Expression] = [ast.Name(o.name) for o in outputs(query, Typing(None)) if o.whole is None]
    columns += [ast.Name("start_time"), ast.Name("end_time"), *(ast.Name(k.attribute) for k in query.partition)]
    plain = [i.expression for i in query.items or () if isinstance(i.expression, ast.Attribute)]
    columns += [ast.Binary("+", ast.Attribute(e.variable, "v"), ast.Literal(1, ast.LiteralType.INTEGER)) for e in plain]
    chosen = rng.sample(columns, min(len(columns), rng.choice((1, 2, 3))))
    return tuple(ast.SortKey(e, rng.random() < 0.5, rng.random() < 0.5) for e in chosen)


def cutting_query(rng: Random) -> ast.Query:
    """A random query with LIMIT n, LIMIT n PER PARTITION, or ORDER BY."""
    query = random_query(rng, rng.choice((1, 2)))
    kind = rng.choice(("whole", "partition", "ordered"))
    limit = rng.choice((1, 2, 3, 5, 50))
    if kind == "partition":
        return replace(query, limit=limit, per=ast.Per.PARTITION)
    order = keys_of(query, rng) if kind == "ordered" else ()
    return replace(
        query, limit=limit if kind == "whole" or rng.random() < 0.5 else None, per=ast.Per.RESULT, order=order
    )


def values_of(matches: Matches) -> list[tuple[str, ...]]:
    """Of each row, what ORDER BY sorts by."""
    columns = [matches.values_of(by.name).to_pylist() for by in matches._checked.order]
    return [tuple(map(repr, values)) for values in zip(*columns, strict=True)]


def count_by_end(query: ast.Query, every: Matches, key_of: list[tuple[str, ...]]) -> Counter[int]:
    """How many rows of each end LIMIT takes: the first of all, or of each partition."""
    taken: Counter[tuple[str, ...]] = Counter()
    found: Counter[int] = Counter()
    for end in every.end.tolist():  # they are in order
        group = key_of[end] if query.per is ast.Per.PARTITION else ()
        if taken[group] < (query.limit or 0):
            found[end] += 1
        taken[group] += 1
    return found


def compare(seed: int) -> str:
    """One random query over a table, in one piece and cut with its state saved; says what became of it."""
    rng = Random(f"first {seed}")
    query = cutting_query(rng)
    text, events = print_query(query), random_stream(rng, 10)
    table, told = events_table(events), TOLD.format(seed, text, events)
    stream = read_events(table, query.streams, unit="s")
    checked = check(parse_query(text), text, stream.schema)
    free = replace(query, limit=None, per=ast.Per.RESULT, order=())
    every = by_definition(check(free, print_query(free), stream.schema), stream)
    found = {e: ensue.query(text).run(table, unit="s", engine=e) for e in ("auto", "reference")}
    found["by definition"] = by_definition(checked, stream)
    for engine, some in found.items():
        assert not rows_of(some) - rows_of(every), (engine, told)
        if query.order and len(every):
            assert values_of(some) == values_of(found["by definition"]), (engine, told)
            assert len(some) == min(len(every), query.limit or len(every)), (engine, told)
    if query.order:
        return "ordered" if len(every) > 1 else "few"
    names = [k.attribute for k in query.partition]
    wanted = count_by_end(query, every, [tuple(repr(e.get(n)) for n in names) for e in events])
    for engine, some in found.items():
        assert Counter(some.end.tolist()) == wanted, (engine, told)
    assert ends_in_pieces(text, checked, stream, rng) == ends_of(found["auto"].to_arrow()), told
    return ("cut" if len(every) > sum(wanted.values()) else "whole") if deadline_of(query.pattern) is None else "late"


def by_definition(checked: Checked, stream: EventStream) -> Matches:
    """What the reference gives by itself, without the layers around the engines."""
    look_back = ItemLookBack(checked)
    return Matches(look_back.checked, look_back.extended(stream), evaluate(checked, stream))


def rows_of(matches: Matches) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(repr, row.values())) for row in matches.to_arrow().to_pylist())


def ends_in_pieces(text, checked, stream, rng: Random) -> Counter[tuple[str, ...]]:
    """The keys and ends of the rows of a query whose stream comes in pieces, its state saved between them."""
    choice = choose(checked)
    running = RunningQuery(choice, stream.tick)
    found: Counter[tuple[str, ...]] = Counter()
    place = 0
    while place < len(stream):
        size = rng.choice((1, 2, 4))
        found += ends_of(running.push(stream.slice(place, size)))
        place += size
        state, running = running.save(), RunningQuery(choice, stream.tick)
        running.load(state)
    return found


def ends_of(table: pa.Table) -> Counter[tuple[str, ...]]:
    """The rows by all that stands before their items but the start."""
    names = table.column_names[: table.column_names.index("end_time") + 1]
    names.remove("start_time")
    return Counter(tuple(map(repr, row.values())) for row in table.select(names).to_pylist())


@pytest.mark.quick
@pytest.mark.parametrize("seeds", shares(300, each=100))
def test_random_queries(seeds):
    became = Counter(map(compare, seeds))
    assert became["cut"] > most(seeds, 0.05)
    assert became["ordered"] > most(seeds, 0.05)


def many(n: int) -> pa.Table:
    return pa.table({"time": range(n), "type": ["A", "B"] * (n // 2), "k": [i // 2 % 5 for i in range(n)]})


@pytest.mark.parametrize("after", [0, 1])
def test_the_first_rows_of_a_long_table_do_not_ask_for_the_rest(after, monkeypatch):
    """One thread looks at the first events; only where these have too few rows are all looked at."""
    monkeypatch.setattr(whole_tables, "_FIRST_EVENTS", 100)
    looked = []
    whole = whole_tables._all_rows

    def all_rows(work: whole_tables.Work) -> ComplexEvents:
        looked.append(work)
        return whole(work)

    monkeypatch.setattr(whole_tables, "_all_rows", all_rows)
    query = ensue.query(f"SELECT A FROM S WHERE A : B LIMIT {50 + after}")
    matches = query.run(many(10_000), unit="s")
    assert matches.end.tolist() == list(range(1, 2 * (50 + after), 2))
    assert len(looked) == after


def test_a_match_explosion_ends_with_its_first_rows():
    """2^59 matches end at the last event."""
    table = pa.table({"time": range(60), "type": ["A"] * 60})
    assert len(ensue.match(table, "SELECT * FROM S WHERE A+ LIMIT 100", unit="s", memory="512 MB")) == 100


def test_partitions_are_counted_over_all_batches():
    table = many(1000)
    checked_text = "SELECT A FROM S WHERE A : B PARTITION BY k LIMIT 3 PER PARTITION"
    matches = ensue.match(table, checked_text, unit="s")
    assert Counter(row["k"] for row in matches) == dict.fromkeys(range(5), 3)
    assert max(matches.end) == 29


def test_detect_is_of_the_rows_that_limit_takes():
    events = [{"time": k, "type": t, "v": v} for k, (t, v) in enumerate(zip("AABAB", [1, 2, 9, 3, 7], strict=True))]
    ends = [
        ensue.query(f"SELECT A, B FROM S WHERE A ; B {tail}").detect(events, unit="s")
        for tail in ("LIMIT 2", "LIMIT 3", "ORDER BY A.v DESC LIMIT 1", "ORDER BY A.v")
    ]
    assert [e.to_arrow()["position"].to_pylist() for e in ends] == [[2], [2, 4], [4], [2, 4]]
