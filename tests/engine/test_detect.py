"""`Query.detect` says what grouping the matches by their last event would say, however it finds it out."""

from __future__ import annotations

from random import Random

import pytest
from engines import plan_of
from strategies import events_table, random_query, random_selecting_query, random_stream

from ensue import reference
from ensue.engine import run_plan
from ensue.events import read_events
from ensue.found import Found
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.matches import Matches

#: The earliest start and the events of each end.
Ends = dict[int, tuple[int, tuple[int, ...]]]


def by_end(matches: Matches) -> Ends:
    """What is to be detected, from the matches."""
    found: dict[int, tuple[int, set[int]]] = {}
    for m in range(len(matches)):
        start, marked = found.get(int(matches.end[m]), (len(matches._stream), set()))
        marked |= {int(k) for marks in matches.marks.values() for k in marks.of(m)}
        found[int(matches.end[m])] = (min(start, int(matches.start[m])), marked)
    return {end: (start, tuple(sorted(marked))) for end, (start, marked) in found.items()}


def rows_of(found: Found) -> list[tuple[int, int, tuple[int, ...]]]:
    return [
        (
            int(found.end[m]),
            int(found.start[m]),
            tuple(found.position[found.offset[m] : found.offset[m + 1]].tolist()),
        )
        for m in range(len(found))
    ]


def compare(seed: int, *, selecting: bool = False) -> str:
    """One random query over a random stream: the walk, its slices and its shares against the reference's matches."""
    rng = Random(seed)
    query = random_selecting_query(rng) if selecting else random_query(rng)
    text = print_query(query)
    stream = read_events(events_table(random_stream(rng, 12)), query.streams, unit="s")
    checked = check(parse_query(text), text, stream.schema)
    plan = plan_of(checked)
    if plan is None:
        return "refused"
    told = f"seed {seed}:\n{text}\nover {stream.table.to_pylist()}"
    found = rows_of(run_plan(plan, stream, union=True, threads=1, batch=rng.choice([1, 2, 5, 100])))
    if query.limit is None:
        wanted = by_end(Matches(checked, stream, reference.evaluate(checked, stream)))
    else:  # which of the matches are taken is not laid down
        wanted = by_end(Matches(checked, stream, run_plan(plan, stream, threads=1)))
    assert found == sorted((end, *rest) for end, rest in wanted.items()), told
    assert rows_of(run_plan(plan, stream, union=True, threads=rng.choice([2, 3]))) == found, told
    return "enumerated" if plan.decided_last else "walked"


@pytest.mark.parametrize("first", range(100_000, 104_000, 1_000))
def test_random_queries(first: int) -> None:
    became = [compare(seed) for seed in range(first, first + 1_000)]
    assert became.count("walked") > 200
    assert became.count("enumerated") > 50


def test_random_queries_with_selectors_at_any_depth() -> None:
    became = [compare(seed, selecting=True) for seed in range(300)]
    assert became.count("walked") > 100
