"""EXPECT changes no result, and the events that break it are counted: against its definition, by all continuations."""

from __future__ import annotations

import itertools
import re
from functools import cache
from random import Random

import pyarrow as pa
import pytest
from amounts import shares
from two_letters import random_regex

import ensue
from ensue import dsl
from ensue.data.events import read_events
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.results.running_query import RunningQuery

WINDOWS = "SELECT count(w) AS n FROM S WINDOW w AS (IS a:* : b)"
AT_MOST_THREE = "((a:{1,3} : b) OR b):*"
#: As many further letters as any of the random expressions needs to end.
MORE = 8


def table_of(letters: str, keys: str | None = None) -> pa.Table:
    columns = {
        "time": list(range(len(letters))),
        "type": list(letters),
        "k": [int(c) for c in keys or "0" * len(letters)],
    }
    return pa.table(columns)


def broken(letters: str, expected: str) -> int:
    """How many letters leave no way to go on to a word of the expression; each of them is passed over."""
    fits = re.compile(expected)

    @cache
    def goes_on(word: str) -> bool:
        more = ("".join(u) for n in range(MORE + 1) for u in itertools.product("ab", repeat=n))
        return any(fits.fullmatch(word + u) for u in more)

    kept = ""
    for letter in letters:
        kept += letter if goes_on(kept + letter) else ""
    return len(letters) - len(kept)


def counted_in_batches(text: str, table: pa.Table, cuts: list[int]) -> int:
    """The same by a running query that is saved and loaded at each cut."""
    query = ensue.query(text)
    stream = read_events(table, query.ast.streams, unit="s")
    choice = choose(check(query.ast, text, stream.schema))
    running, count = RunningQuery(choice, stream.tick), 0
    for first, last in itertools.pairwise([0, *sorted(cuts), len(stream)]):
        running.push(stream.slice(first, last - first))
        count += running.unexpected()
        state, running = running.save(), RunningQuery(choice, stream.tick)
        running.load(state)
    return count


def compare(seed: int) -> int:
    """A random expression over a random stream, whole, in batches and by key; says how many events are unexpected."""
    rng = Random(f"expect {seed}")
    ours, theirs = random_regex(rng, 2)
    if rng.random() < 0.6:
        ours, theirs = f"({ours}):+", f"(?:{theirs})+"
    letters = "".join(rng.choice("aab") for _ in range(12))
    keys = "".join(rng.choice("01") for _ in letters)
    text = f"{WINDOWS} EXPECT ({ours})"
    found, plain = (ensue.match(table_of(letters), q, unit="s") for q in (text, WINDOWS))
    assert found.to_arrow().equals(plain.to_arrow()), (seed, text)
    assert found.unexpected == broken(letters, theirs), (seed, text, letters)
    cuts = [rng.randrange(len(letters)) for _ in range(3)]
    assert counted_in_batches(text, table_of(letters), cuts) == found.unexpected, (seed, text, letters)
    by_key = f"{WINDOWS} PARTITION BY k EXPECT ({ours})"
    parts = ["".join(x for x, k in zip(letters, keys, strict=True) if k == key) for key in "01"]
    apart = sum(broken(part, theirs) for part in parts)
    assert ensue.match(table_of(letters, keys), by_key, unit="s").unexpected == apart, (seed, text, letters, keys)
    assert counted_in_batches(by_key, table_of(letters, keys), cuts) == apart, (seed, text, letters, keys)
    return int(found.unexpected)


@pytest.mark.parametrize("seeds", shares(200, each=50))
def test_random_expectations(seeds):
    unexpected = [compare(seed) for seed in seeds]
    assert 0 in unexpected
    assert any(unexpected)


@pytest.mark.parametrize("engine", ["automaton", "reference"])
def test_counted_and_told(engine, caplog):
    found = ensue.match(table_of("aabaaaaabab"), f"{WINDOWS} EXPECT ({AT_MOST_THREE})", unit="s", engine=engine)
    assert (len(found), found.unexpected) == (11, 2)
    assert "2 events are not as EXPECT says, the first one at 6" in caplog.messages


def test_one_event_is_told_in_the_singular(caplog):
    assert ensue.match(table_of("aaaab"), f"{WINDOWS} EXPECT ({AT_MOST_THREE})", unit="s").unexpected == 1
    assert "1 event is not as EXPECT says, the first one at 3" in caplog.messages


def test_look_back_reads_the_stream_and_not_what_was_passed_over():
    """The third event breaks it; the fourth is compared with it nevertheless."""
    events = [{"time": k, "v": v} for k, v in enumerate([1, 2, 0, 1])]
    text = "SELECT count(w) AS n FROM S WINDOW w AS (IS ANY) EXPECT (ANY[PREV(v) IS NULL OR v > PREV(v)]:*)"
    assert ensue.match(events, text, unit="s").unexpected == 1


def test_nothing_is_unexpected_without_it():
    assert ensue.match(table_of("aab"), WINDOWS, unit="s").unexpected == 0


def test_an_expectation_that_no_stream_satisfies():
    query = ensue.query(f"{WINDOWS} EXPECT (a[v > 1 AND v < 0])")
    (warning,) = query.warnings
    assert warning.startswith("warning: no stream is as EXPECT says: v > 1 AND v < 0")
    assert "with EXPECT   no stream is as EXPECT says: every event is unexpected" in query.explain()


def test_that_it_is_empty_is_also_found_by_its_automaton():
    text = f"{WINDOWS} EXPECT ((a : a) AND (a : b))"
    assert ensue.match(table_of("ab"), text, unit="s").unexpected == 2


def test_builder():
    a, b = dsl.types("a", "b")
    defined = dsl.window("w").being(a.repeated(link=":").optional().directly(b))
    (w,) = dsl.variables("w")
    made = dsl.select(dsl.call("count", w).named("n")).from_("S").matching(defined)
    expected = (a.repeated(1, 3, link=":").directly(b) | b).repeated(link=":").optional()
    assert ensue.query(made.expecting(expected)) == ensue.query(f"{WINDOWS} EXPECT ({AT_MOST_THREE})")


def test_a_state_of_another_expectation_is_refused():
    states = []
    for expected in (AT_MOST_THREE, "ANY:*"):
        query = ensue.query(f"{WINDOWS} EXPECT ({expected})")
        stream = read_events(table_of("aab"), ("S",), unit="s")
        states.append(RunningQuery(choose(check(query.ast, query.text, stream.schema)), stream.tick))
    with pytest.raises(ensue.EngineError, match="query"):
        states[1].load(states[0].save())
