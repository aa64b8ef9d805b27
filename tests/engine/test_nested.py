"""Random queries over fields, elements and keys: engine, reference and the same query over plain columns."""

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_at_once, run_in_pieces
from nesting import nested_table, with_nested_terms
from strategies import random_query, random_stream

import ensue
from ensue.columns.key_columns import with_keys
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check

TOLD = "seed {}:\n{}\nover {}"


def compare(seed: int) -> str:
    """Runs one random query in all ways; says what became of it."""
    rng = Random(seed)
    flat = random_query(rng)
    text = print_query(with_nested_terms(rng, flat))
    events = random_stream(rng, 10)
    told = TOLD.format(seed, text, events)
    table = nested_table(events)
    stream = read_events(table, flat.streams, unit="s")
    query = parse_query(text)
    checked = check(query, text, stream.schema)
    stream = with_keys(stream, query)
    wanted = found_events(reference.evaluate(checked, stream))
    plain = print_query(flat)
    assert found_events(reference.evaluate(check(parse_query(plain), plain, stream.schema), stream)) == wanted, told
    _same_rows(text, plain, table, told, limited=flat.limit is not None)
    plan = plan_of(checked, rewriting=rng.random() < 0.7)
    if plan is None:
        return "refused"
    found = run_in_pieces(plan, stream, rng)
    assert run_at_once(plan, stream) == found, told
    if flat.limit is None:
        assert Counter(found) == Counter(wanted), told
    return "compared"


def _same_rows(text: str, plain: str, table: pa.Table, told: str, *, limited: bool) -> None:
    """What `run` shows of the nested query, by whichever engine, is what the reference shows of the plain one."""
    shown = [list(row.values()) for row in ensue.query(text).run(table, unit="s")]
    wanted = [list(row.values()) for row in ensue.query(plain).run(table, unit="s", engine="reference")]
    if limited:
        assert len(shown) == len(wanted), told
    else:
        assert sorted(map(repr, shown)) == sorted(map(repr, wanted)), told


@pytest.mark.parametrize("seeds", shares(800, each=400))
def test_random_queries_over_nested_columns(seeds):
    became = Counter(map(compare, seeds))
    assert became["compared"] > most(seeds, 0.3)
