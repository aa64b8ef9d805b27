"""LIMIT and ORDER BY: random queries over tables and cut streams give the first rows of what the reference gives."""

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from amounts import most, shares
from row_runs import compare_rows, with_cut
from strategies import random_query, random_stream

import ensue
from ensue.data.complex_events import ComplexEvents
from ensue.engines import whole_tables
from ensue.language.printer import print_query


def compare(seed: int) -> str:
    """One random query over a table, in one piece and cut with its state saved; says what became of it."""
    rng = Random(f"first {seed}")
    text = print_query(with_cut(random_query(rng, rng.choice((1, 2))), rng))
    events = random_stream(rng, 10)
    return compare_rows(ensue.query(text), events, rng, f"seed {seed}:\n{text}\nover {events}")


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
