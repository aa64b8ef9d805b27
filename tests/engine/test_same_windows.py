"""`ensue.windows`: queries with the same windows, or with more, against all short streams of two letters."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from amounts import shares
from two_letters import random_regex

import ensue
from ensue.windows import contains, same

LENGTH = 6


def defined(pairs: str) -> str:
    return f"SELECT count(w) AS n FROM S WINDOW w AS {pairs}"


class Windows:
    """The windows of a pair of expressions over every word of two letters, by Python's `re`."""

    def __init__(self, rng: Random, next_event: str = "") -> None:
        ours, theirs = random_regex(rng, 2)
        past = closing = ""
        self._past = None
        if rng.random() < 0.4:
            before, their_before = random_regex(rng, 1)
            past, self._past = f"AFTER ({before}):* ", re.compile(f"(?:{their_before})*")
        self._closed_by = next_event
        if next_event:
            closing = f" UNTIL {'ANY' if next_event == '.' else next_event}"
        self.text = defined(f"({past}IS {ours}{closing}) EXPECT ((a OR b):+)")
        self._window = re.compile(theirs)

    def of(self, word: str) -> set[tuple[int, int]]:
        closed = [j for j in range(len(word)) if not self._closed_by or re.match(self._closed_by, word[j + 1 :])]
        starts = [i for i in range(len(word)) if self._past is None or self._past.fullmatch(word[:i])]
        return {(i, j) for i in starts for j in closed if i <= j and self._window.fullmatch(word[i : j + 1])}


def windows_of(text: str, found: ensue.windows.Comparison) -> set[tuple[int, int]]:
    assert found.events is not None
    unit = "ns" if pa.types.is_integer(found.events.column("time").type) else None
    matches = ensue.query(text).run(found.events, unit=unit)
    return set(zip(matches.start.tolist(), matches.end.tolist(), strict=True))


def compare(seed: int) -> str:
    rng = Random(f"same windows {seed}")
    of_next = Random(f"closed {seed}")
    closing = [of_next.choice("ab.")] * 2 if of_next.random() < 0.3 else ["", ""]
    if closing[0] and of_next.random() < 0.3:
        closing[1] = of_next.choice("ab.")
    first, second = (Windows(rng, next_event) for next_event in closing)
    words = ["".join(w) for n in range(LENGTH + 1) for w in itertools.product("ab", repeat=n)]
    equal = all(first.of(w) == second.of(w) for w in words)
    held = all(first.of(w) >= second.of(w) for w in words)
    for asked, expected in ((same, equal), (contains, held)):
        found = asked(first.text, second.text)
        assert not (found and not expected), (seed, first.text, second.text)
        if not found:
            assert found.events is not None
            had = [found.window in windows_of(q.text, found) for q in (first, second)]
            assert had == [found.only_in == 1, found.only_in == 2], (seed, first.text, second.text)
            assert not expected or len(found.events) > LENGTH, (seed, first.text, second.text)
    return "same" if equal else "contained" if held else "different"


@pytest.mark.parametrize("seeds", shares(300, each=100))
def test_random_expressions(seeds):
    said = Counter(compare(seed) for seed in seeds)
    assert min(said["same"], said["contained"], said["different"]) > 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("(IS ANY[v = PREV(v)])", "(IS ANY[NOT v <> PREV(v)])"),  # NOT of what is unknown is unknown
        ("(IS ANY[v > 1 OR v <= 1])", "(IS ANY[v = v])"),
        ("(IS ANY[v BETWEEN 1 AND 3])", "(IS ANY[v >= 1 AND v <= 3])"),
        ("(IS a : b?)", "(IS a) OR (IS a : b)"),
        ("(AFTER () IS ANY:+)", "(IS ANY[PREV(time) IS NULL] : ANY:*)"),
        ("(b TO e WHERE b IS login AND e IS logout AND NOT EXISTS x IN [b, e] (x IS login AND b < x))",
         "(IS login : (ANY:* : logout UNLESS login))"),
        ("(IS ANY[v > PREV(v) AND PREV(v) > PREV(v, 2) AND v < PREV(v, 2)])", "(IS ANY[v > 1 AND v < 0])"),
        ("(IS ANY[sqrt(v) > 2 AND u > 3])", "(IS ANY[u > 3 AND sqrt(v) > 2])"),
        ("(AFTER c IS a:+ UNTIL ANY[v > 1] OR b AS x)", "(AFTER c IS a : a:* UNTIL b OR ANY[v > 1])"),
        ("(IS a:+ UNTIL b) OR (IS a UNTIL c)", "(IS a UNTIL c) OR (IS a : a:* UNTIL b)"),
    ],
)  # fmt: skip
def test_the_same(first, second):
    assert same(defined(first), defined(second))


@pytest.mark.parametrize(
    ("first", "second", "window", "only_in"),
    [
        ("(IS ANY[v > PREV(v)])", "(IS ANY[v >= PREV(v)])", (1, 1), 2),
        ("(IS ANY[v > PREV(v)])", "(IS ANY[NOT v <= PREV(v)])", (1, 1), 2),  # NaN is neither more nor less
        ("(IS ANY[v > 1 OR v <= 1])", "(IS ANY[v IS NOT NULL])", (0, 0), 2),
        ("(IS ANY[v IS NOT NULL])", "(IS ANY)", (0, 0), 2),
        ("(IS ANY[name = 'x'])", "(IS ANY[name >= 'x'])", (0, 0), 2),
        ("(IS a)", "(AFTER ANY:* : c IS a)", (0, 0), 1),
        ("(IS ANY[time - PREV(time) > 5 s])", "(IS ANY[time - PREV(time) >= 5 s])", (1, 1), 2),
        ("(IS a : a UNTIL b)", "(IS a : a UNTIL ANY[v > 3])", (0, 1), 2),
        ("(IS a UNTIL ANY[v < PREV(v)])", "(IS a UNTIL ANY)", (0, 0), 2),
    ],
)
def test_different(first, second, window, only_in):
    found = same(defined(first), defined(second))
    assert (bool(found), found.window, found.only_in) == (False, window, only_in)
    for text, had in ((first, only_in == 1), (second, only_in == 2)):
        assert (window in windows_of(defined(text), found)) == had


def test_a_schema_says_what_values_there_are():
    """No whole number is between 1 and 2, but no proof of that is looked for."""
    texts = defined("(IS ANY[v > 1 AND v < 2])"), defined("(IS ANY[v > 1 AND v < 0])")
    assert not same(*texts)
    with pytest.raises(ensue.EngineError, match="no events were found on which they differ"):
        same(*texts, schema=pa.schema([("time", pa.int64()), ("v", pa.int64())]))


def test_what_is_expected_is_taken_into_account():
    texts = [defined("(IS a : a)"), defined("(IS a : a : a)")]
    assert not same(*texts)
    assert same(*(f"{t} EXPECT ((a : b):*)" for t in texts))


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("SELECT a FROM S WHERE a", defined("(IS a)"), "the first query defines no windows: WINDOW w AS (...) alone"),
        (defined("(IS a)"), defined("(IS a) WITHIN 5 s"), "the second query defines no windows, or filters or bounds"),
        (defined("(IS a)"), defined("(IS a) FILTER count(w) > 1"), "defines no windows, or filters or bounds them"),
        (defined("(IS a) CONSUME BY ANY"), defined("(IS a)"), "the first query chooses among its windows"),
        (defined("(IS a) PARTITION BY k"), defined("(IS a)"), "the queries have other keys"),
        (defined("(IS a) EXPECT (a)"), defined("(IS a)"), "the queries expect other streams"),
        (defined("(IS ANY[sqrt(v) > 2])"), defined("(IS ANY[v > 4])"), "nothing is decided of sqrt(v)"),
        (defined("(IS a AS x : b AS y FILTER x.v < y.v)"), defined("(IS a)"), "the windows of the first query cannot"),
        (defined("(IS ANY[type <> 'a'])"), defined("(IS a)"), None),
        (defined("(IS a UNTIL b)"), defined("(IS a)"), "UNTIL closes the windows of one query only"),
        (defined("(IS a UNTIL (b OR END))"), defined("(IS a UNTIL b)"), "are closed by END as well"),
        (defined("(IS a UNTIL b : b)"), defined("(IS a UNTIL b)"), "the first query are closed by more than one event"),
        (defined("(IS a UNTIL b)"), defined("(IS a) OR (IS b UNTIL a)"), "the second query are not all closed"),
    ],
)
def test_what_is_not_compared(first, second, said):
    if said is None:
        assert not same(first, second)
        return
    with pytest.raises(ensue.EngineError, match=re.escape(said)):
        same(first, second)


def test_the_answer_in_words():
    assert str(same(defined("(IS a)"), defined("(IS a)"))) == "it holds for every stream"
    assert str(same(defined("(IS a)"), defined("(IS b)"))).splitlines() == [
        "only the first has the window from event 0 to event 0", "time  type", "----  ----", "0     a",
    ]  # fmt: skip
