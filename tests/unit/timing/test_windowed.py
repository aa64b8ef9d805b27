"""Windowed patterns: the grammar before theorem 5.5, what it promises, and that fewer clocks mean the same."""

from __future__ import annotations

from random import Random

import pytest
from timed_runs import delays, outputs, words

from ensue.automata.build import build
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import Builder, Label
from ensue.automata.predicates import ALWAYS
from ensue.automata.registers import Since, Store
from ensue.automata.timing.clocks import clocks_of, fewest_clocks, most_clocks
from ensue.automata.timing.synchronous import Answer, synchronous_resets
from ensue.language.parser import parse_interval, parse_pattern
from ensue.logic.windowed import is_windowed


@pytest.mark.parametrize(
    "text",
    [
        "A ;[<= 1 s] B",
        "A ;[<= 1 s] B ;[1 s .. 2 s] C WITHIN 5 s",
        "(A ;[<= 1 s] B WITHIN 5 s) AND (A ; B WITHIN [> 1 s])",
        "((A ;[<= 1 s] B WITHIN 5 s) OR A+[= 1 s]) AS x FILTER x.v > 1",
        "PROJECT A (A ; B) WITHIN 5 s",  # a pattern without times may have a projection
        "(ANY AS x) ;[<= 1 s] (ANY AS y FILTER y.v > 1)",
        "(A ;[<= 1 s] B) UNLESS C",
        "A ;[<= 1 s] (B ; NOT C ; D)",
        "STRICT(A ;[<= 1 s] B WITHIN 3 EVENTS)",
        "PROJECT x, y (A AS x ;[<= 1 s] B AS y)",
        "PROJECT x (A AS x ;[<= 1 s] (B ;[<= 1 s] C) AS x)",
    ],
)
def test_windowed(text: str) -> None:
    assert is_windowed(parse_pattern(text))


@pytest.mark.parametrize(
    "text",
    [
        "(A ; B WITHIN 1 s) ; C",
        "((A ; B) WITHIN 5 s)+ ;[<= 1 s] C",
        "PROJECT () (A ; A ;[= 1 s] A)",
        "PROJECT x (A AS x ;[<= 1 s] B)",
        "ANY ;[<= 1 s] B",
        "(ANY ; A) AS x ;[<= 1 s] B",  # AS marks what is marked
        "A ALL (B ;[<= 1 s] C)",
        "NEXT(A ;[<= 1 s] B)",
        "(A ; B) UNLESS (C ;[<= 1 s] D)",
        "(A AS x ;[<= 1 s] B AS y) FILTER x.v < y.v",
    ],
)
def test_not_windowed(text: str) -> None:
    assert not is_windowed(parse_pattern(text))


@pytest.mark.parametrize(
    ("text", "shown", "windowed"),
    [
        ("A AS x ;[<= 1 s] B AS y", "x y", True),
        ("A AS x ;[<= 1 s] B AS y", "x B", True),
        ("A AS x ;[<= 1 s] B AS y", "x", False),
        ("(A ;[<= 1 s] B) AS x", "x", True),
        ("A ; B WITHIN 1 s", "A", True),
        ("(A AS x ;[<= 1 s] B AS y) OR (A ; B)", "x y", True),
    ],
)
def test_the_items_of_a_query_are_a_projection(text: str, shown: str, windowed: bool) -> None:
    assert is_windowed(parse_pattern(text), frozenset(shown.split())) == windowed


def simple(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["A", "B", "A AS x", "ANY AS x"])
    gap = rng.choice(["", "[<= 1 s]", "[= 1 s]", "[> 1 s]", "[1 s .. 2 s]"])
    one, other = simple(rng, depth - 1), simple(rng, depth - 1)
    return rng.choice(
        [
            f"({one}) ;{gap} ({other})",
            f"({one}) :{gap} ({other})",
            f"({one})+{gap}",
            f"({one}):+{gap}",
            f"({one}) OR ({other})",
            f"({one}) AND ({other})",
        ]
    )


def windowed(rng: Random, depth: int) -> str:
    if depth == 0:
        return simple(rng, 2)
    one, other = windowed(rng, depth - 1), windowed(rng, rng.randrange(depth))
    window = rng.choice(["1 s", "[> 1 s]", "[1 s .. 2 s]"])
    return rng.choice([f"(({one}) WITHIN {window})"] * 2 + [f"({one}) OR ({other})", f"({one}) AND ({other})"])


def test_theorem_5_5_windowed_patterns_have_synchronous_resets() -> None:
    """By our own construction and with a clock for each gap and window, where the resets of unread clocks are left out.

    The theorem is about an automaton made for it, with two clocks.
    """
    rng = Random(55)
    with_clocks = literally = 0
    for _ in range(300):
        pattern = parse_pattern(windowed(rng, 2))
        assert is_windowed(pattern)
        automaton = pruned(with_shared_registers(build(pattern)))
        if len(automaton.transitions) > 60:
            continue
        with_clocks += len(clocks_of(automaton)) > 1
        assert synchronous_resets(automaton, read=True, budget=100_000).answer is Answer.YES
        literally += synchronous_resets(automaton, budget=100_000).answer is Answer.YES
    assert with_clocks > 50
    assert 50 < literally < 290


def test_fewer_and_more_clocks_mean_the_same() -> None:
    rng = Random(7)
    fewer = more = accepted = 0
    for _ in range(60):
        text = f"({simple(rng, 2)}) ;[<= 1 s] (({simple(rng, 1)}) OR ({simple(rng, 1)}))"
        automaton = pruned(with_shared_registers(build(parse_pattern(text))))
        least, most = fewest_clocks(automaton), most_clocks(automaton)
        fewer += len(clocks_of(least)) < len(clocks_of(automaton))
        more += len(clocks_of(most)) > len(clocks_of(automaton))
        longer = [[(rng.choice("AB"), rng.choice(delays(5, 2))) for _ in range(5)] for _ in range(50)]
        for word in [*words(2, 2), *longer]:
            expected = outputs(automaton, word)
            accepted += bool(expected)
            assert outputs(least, word) == expected, word
            assert outputs(most, word) == expected, word
    assert fewer > 20
    assert more > 10
    assert accepted > 100


def test_a_clock_that_may_not_run_is_not_shared() -> None:
    """A check of a clock that was not reset holds; with the clock of another gap it might not."""
    one, other = (frozenset({Since(c, parse_interval("[<= 1 s]"))}) for c in ("$1", "$2"))
    made = Builder(0)
    made.add(0, ALWAYS, Label(actions=frozenset({Store("$1")})), 1)
    made.add(1, ALWAYS, Label(actions=one), 2)
    made.add(1, ALWAYS, Label(actions=one | {Store("$2")}), 2)
    made.add(2, ALWAYS, Label(actions=other), 3, final=True)
    automaton = made.build()
    assert fewest_clocks(automaton) == automaton
