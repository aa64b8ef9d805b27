"""How many windows can be open at once: the decision, against all short streams and against streams that are run."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from amounts import shares
from two_letters import random_regex

import ensue
from ensue.automata.build import build
from ensue.automata.model import UNMARKED, Automaton, Builder
from ensue.automata.overlap import overlap
from ensue.automata.predicates import ALWAYS, TypeIs
from ensue.engines.open_windows import Answer, OpenWindows, open_windows
from ensue.errors import QueryError
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose

# ---------------------------------------------------------------- windows by regular expressions over two letters

#: Longer streams have no more windows open than these, as far as random expressions of this size go.
LENGTH, MORE = 6, 4


def choice_of(text: str) -> Choice:
    return choose(check(ensue.query(text).ast, text))


def answer(text: str) -> OpenWindows:
    return open_windows(choice_of(text))


class Brute:
    """The windows of every stream of two letters, by the definition: expressions over what stands before, and here."""

    def __init__(self, window: str, past: str | None, expected: str | None) -> None:
        self.window = re.compile(window)
        self.past = None if past is None else re.compile(past)
        self.expected = None if expected is None else re.compile(expected)
        words = ["".join(w) for n in range(1, LENGTH + MORE + 2) for w in itertools.product("ab", repeat=n)]
        whole = set(words) if self.expected is None else {w for w in words if self.expected.fullmatch(w)}
        self.allowed = {w[:n] for w in whole for n in range(1, len(w) + 1)}
        self.fits = cache(lambda w: self.window.fullmatch(w) is not None)

    def open_after(self, word: str) -> int:
        """How many starts have a window that some further letters end."""
        more = ["".join(u) for n in range(1, MORE + 1) for u in itertools.product("ab", repeat=n)]
        allowed = [u for u in more if word + u in self.allowed]
        starts = [i for i in range(len(word)) if self.past is None or self.past.fullmatch(word[:i])]
        return sum(any(self.fits(word[i:] + u) for u in allowed) for i in starts)

    def most(self) -> int:
        words = ("".join(w) for n in range(1, LENGTH + 1) for w in itertools.product("ab", repeat=n))
        return max((self.open_after(w) for w in words if w in self.allowed), default=0)


def compare(seed: int) -> str:
    """A random window, by an expression, behind another one and under an expectation; says what was decided."""
    rng = Random(f"open windows {seed}")
    window, their_window = random_regex(rng, 3)
    past = their_past = expected = their_expected = None
    if rng.random() < 0.4:
        past, their_past = random_regex(rng, 2)
    if rng.random() < 0.5:
        expected, their_expected = random_regex(rng, 2)
        if rng.random() < 0.7:
            expected, their_expected = f"({expected}):+", f"(?:{their_expected})+"
    defined = f"(AFTER {past}:* IS {window})" if past else f"(IS {window})"
    text = f"SELECT count(w) AS n FROM S WINDOW w AS {defined}" + (f" EXPECT ({expected})" if expected else "")
    found = answer(text)
    brute = Brute(their_window, f"(?:{their_past})*" if their_past else None, their_expected).most()
    if found.answer is Answer.BOUNDED:
        assert found.most is not None, text
        assert brute <= found.most, (seed, text, found, brute)
        return "the number that was seen" if brute == found.most else "more than was seen"
    assert found.answer is Answer.NO_BOUND, (seed, text, found)  # conditions on one event: it is exact, and was run
    assert brute >= 1, (seed, text)
    return "no bound"


@pytest.mark.parametrize("seeds", shares(400, each=50))
def test_random_expressions(seeds):
    said = Counter(compare(seed) for seed in seeds)
    assert said["no bound"] > 0
    assert said["the number that was seen"] > 4 * said["more than was seen"]  # that takes longer streams


# ---------------------------------------------------------------- against exploring all counts


def counts_end(automaton: Automaton, limit: int) -> bool:
    """Whether counting the windows in each set of states comes to an end: exploring all counts, with nothing else."""
    letters = [None, "a", "b"]

    def moved(subset: frozenset[int], letter: str | None) -> frozenset[int]:
        said = {t.target for s in subset for t in automaton.outgoing.get(s, ()) if fits(t.guard, letter)}
        return frozenset(said)

    def fits(guard, letter):
        return all((p.name == letter) == positive for p, positive in guard)

    alive = set(automaton.finals)
    while more := {t.source for t in automaton.transitions if t.target in alive} - alive:
        alive |= more
    goes_on = {t.source for t in automaton.transitions}
    first: tuple[tuple[frozenset[int], int], ...] = ()
    seen, waiting = {first}, [first]
    while waiting:
        counts = dict(waiting.pop())
        for letter in letters:
            number: dict[frozenset[int], int] = {}
            for subset, n in [*counts.items(), (frozenset({0}), 1)]:
                after = moved(subset, letter) & alive & goes_on
                if after:
                    number[after] = number.get(after, 0) + n
            if sum(number.values()) > limit:
                return False
            state = tuple(sorted(number.items(), key=lambda x: sorted(x[0])))
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return True


def compare_counts(seed: int) -> bool:
    """A small automaton made of transitions at random; counts above 40 are taken for counts without end."""
    rng = Random(f"small automata {seed}")
    size = rng.randint(2, 5)
    guards = [ALWAYS, *(frozenset({(TypeIs(n), sign)}) for n in "ab" for sign in (True, False))]
    made = Builder(0)
    for _ in range(rng.randint(2, 8)):
        target = rng.randint(1, size)
        made.add(rng.randint(0, size), rng.choice(guards), UNMARKED, target, final=rng.random() < 0.3)
    automaton = made.build()
    found = overlap(automaton)
    assert found.bounded == counts_end(automaton, 40), (seed, automaton.transitions, automaton.finals)
    assert found.bounded or found.rounds is not None
    return bool(found.bounded)


@pytest.mark.parametrize("seeds", shares(1_500, each=250))
def test_against_exploring_all_counts(seeds):
    assert {compare_counts(seed) for seed in seeds} == {True, False}


# ---------------------------------------------------------------- look-back, by streams that are run

VALUES = pa.schema([("time", pa.int64()), ("v", pa.float64()), ("u", pa.float64())])
CONDITIONS = (
    "v > PREV(v)", "v < PREV(v)", "v = PREV(v)", "v >= PREV(v, 2)", "v > 2", "v <= 2", "v = 3", "PREV(v) < 2",
    "PREV(v) IS NULL", "v IS NOT NULL", "u > v", "u < PREV(v)", "NOT v > PREV(v)", "v BETWEEN 1 AND 3", "u IN (1, 2)",
    "v > PREV(v) AND v < 3", "v > PREV(v) OR u = 1", "PREV(u) = v",
)  # fmt: skip


def random_windows(rng: Random) -> str:
    """A window by conditions with look-back and constants."""

    def step() -> str:
        return f"ANY[{rng.choice(CONDITIONS)}]" + rng.choice(("", "", ":+", ":{2}", ":*"))

    steps = " : ".join([f"ANY[{rng.choice(CONDITIONS)}]", *(step() for _ in range(rng.randint(0, 2)))])
    after = f"AFTER (ANY:* : ANY[{rng.choice(CONDITIONS)}])? " if rng.random() < 0.4 else ""
    return f"SELECT count(w) AS n FROM S WINDOW w AS ({after}IS {steps})"


def run_and_count(text: str, rng: Random) -> int:
    """The most windows open at once in a random stream, of those that it also ends."""
    values = [None if rng.random() < 0.1 else float(rng.randint(0, 4)) for _ in range(120)]
    table = pa.table({"time": list(range(60)), "v": values[:60], "u": values[60:]}, VALUES)
    found = ensue.query(text).run(table, unit="s")
    start, end = found.start, found.end
    return max((len(np.unique(start[(start <= k) & (end > k)])) for k in range(60)), default=0)


def compare_with_runs(seed: int) -> Answer:
    rng = Random(f"look-back {seed}")
    text = random_windows(rng)
    found = answer(text)
    if found.answer is Answer.BOUNDED and found.most is not None:
        seen = max(run_and_count(text, rng) for _ in range(3))
        assert seen <= found.most, (seed, text, found, seen)
    # Values are floats, so orders of them that agree can occur: what seems unbounded is.
    assert found.answer is not Answer.NOT_KNOWN, (seed, text, found)
    return found.answer


@pytest.mark.parametrize("seeds", shares(400, each=50))
def test_look_back(seeds):
    assert {compare_with_runs(seed) for seed in seeds} == {Answer.BOUNDED, Answer.NO_BOUND}


# ---------------------------------------------------------------- by hand

FALLS = "ANY[v > PREV(v)] : ANY[v > PREV(v)]:*"


@pytest.mark.parametrize(
    ("rest", "most"),
    [
        ("WINDOW w AS (IS ANY:{5})", 4),
        ("WINDOW w AS (AFTER (ANY:{3}):* IS ANY:{3})", 1),
        ("WINDOW w AS (AFTER (ANY:{2}):* IS ANY:{6})", 3),
        ("WINDOW w AS (IS a:* : b) EXPECT (((a:{1,3} : b) OR b):*)", 3),  # section 6 of Praveen and Hitarth
        ("WINDOW w AS (IS ANY[v <= PREV(v)] : ANY[v > PREV(v)]:+)", 1),
        ("WINDOW w AS (IS ANY[v > 7] : ANY[v > 3 AND v < 2]:* : ANY)", 1),
        ("WINDOW w AS (IS ANY:+) WITHIN 10 EVENTS", 9),
        ("WINDOW w AS (AFTER () IS ANY:+)", 1),
        ("WINDOW w AS (IS ANY[ok] : ANY[NOT ok]:*)", 1),
        ("WINDOW w AS (IS ANY[time - PREV(time) > 5] : ANY[time - PREV(time) <= 5]:*)", 1),
        ("WINDOW w AS (IS a : (b OR a[v > 1 AND v < 0]):* : c)", 1),
    ],
)
def test_bounded(rest, most):
    assert answer(f"SELECT count(w) AS n FROM S {rest}").most == most


def test_the_paper_needs_the_specifier():
    """Section 6: with `a` for ever, a window of a*b stays open from each position."""
    found = answer("SELECT count(w) AS n FROM S WINDOW w AS (IS a:* : b)")
    assert found.answer is Answer.NO_BOUND
    assert found.rounds is not None
    assert [letter.type for letter in found.rounds.round] == ["a"]


def test_lemma_6_2_as_printed_fails_in_its_first_reading():
    """`c c d d d ..`, window `[x_-1 = c] True* e`: all conditions of the lemma hold, and two starts stay open."""
    window = "SELECT count(w) AS n FROM S WINDOW w AS (IS ANY[PREV(t) = 'c'] : ANY:* : ANY[t = 'e'])"
    stream = "ANY[t = 'c']:{2} : ANY[t = 'd']:*"
    assert answer(f"{window} EXPECT ({stream} : ANY[t = 'e'])").most == 2
    assert answer(f"{window} EXPECT ({stream})").most == 0  # no event ever ends a window


@pytest.mark.parametrize(
    "windows",
    [
        "(IS ANY[v IS NOT NULL] : ANY[v IS NOT NULL]:*)",
        "(IS ANY[v IS NULL]:+)",
        "(IS ANY : ANY[time - PREV(time) <= 30 min]:*)",
        "(IS ANY : ANY[v - PREV(v) = 3 AND u > 1]:*)",
        "(IS ANY[name > 'x'] : ANY[name > 'x' AND name < 'y']:*)",
        "(IS ANY[ok] : ANY[NOT ok]:* : ANY[ok]:*)",
        # Neither holds where the name is NULL, although nothing is decided of LIKE.
        "(b TO e WHERE FORALL x IN [b, e] (NOT x[name LIKE 'a%'] AND NOT x[NOT name LIKE 'a%']))",
    ],
)
def test_no_bound_is_shown_by_a_run(windows):
    assert answer(f"SELECT count(w) AS n FROM S WINDOW w AS {windows}").answer is Answer.NO_BOUND


def test_a_column_named_time_need_not_be_the_time():
    """As the time of the events it never falls, so no window can end."""
    choice = choice_of("SELECT count(w) AS n FROM S WINDOW w AS (IS ANY : ANY[time < PREV(time)]:+)")
    assert open_windows(choice).most == 0
    assert open_windows(choice, timed=False).answer is not Answer.BOUNDED


def test_what_a_function_says_is_not_decided():
    found = answer("SELECT count(w) AS n FROM S WINDOW w AS (IS ANY[sqrt(v) > 2] : ANY[sqrt(v) > 2]:*)")
    assert (found.answer, found.why) == (Answer.NOT_KNOWN, "nothing is decided of sqrt(v)")


def test_what_a_function_says_does_not_hide_a_bound():
    found = answer("SELECT count(w) AS n FROM S WINDOW w AS (IS ANY[sqrt(v) > 2] : ANY[sqrt(v) <= 2]:*)")
    assert found.most == 1


def test_between_whole_numbers_may_be_no_room():
    """Each value must lie between the one before and 3: floats have room for it, whole numbers do not."""
    rises = "ANY[v > PREV(v) AND v > 0 AND v < 3] : ANY[v > PREV(v) AND v < 3]:*"
    text = f"SELECT count(w) AS n FROM S WINDOW w AS (IS {rises})"
    tree = ensue.query(text).ast
    said = []
    for kind in (pa.float64(), pa.int64()):
        schema = ensue.data.schema.Schema.of(pa.schema([("time", pa.int64()), ("v", kind)]))
        said.append(open_windows(choose(check(tree, text, schema))).answer)
    assert said == [Answer.NO_BOUND, Answer.NOT_KNOWN]


def test_a_comparison_of_events_is_no_obstacle_to_a_bound():
    assert answer("SELECT a FROM S WHERE (A AS a FILTER a.v > 1) : B AS b FILTER a.v < b.v").most == 1


def test_what_expect_cannot_say():
    with pytest.raises(QueryError, match="no machine tells a comparison of events, or of their times, behind EXPECT"):
        choice_of("SELECT a FROM S WHERE a EXPECT (a AS x : b AS y FILTER x.v < y.v)")


def test_build_is_of_contiguous_events():
    assert overlap(build(ensue.query("SELECT a FROM S WHERE a : b : c").ast.pattern)).longest == 3
