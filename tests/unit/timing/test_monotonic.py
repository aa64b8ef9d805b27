"""Monotonic automata with one clock: what is made is deterministic, monotonic, and means the same."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from amounts import amount, most
from timed_runs import delays, outputs, random_automaton, words

from ensue.automata.build import build
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import Automaton
from ensue.automata.predicates import conjunction
from ensue.automata.registers import Since
from ensue.automata.timing.clocks import clocks_of, fewest_clocks
from ensue.automata.timing.monotonic import monotonic
from ensue.automata.timing.synchronous import Answer, synchronous_resets
from ensue.language.parser import parse_pattern


def is_deterministic(automaton: Automaton) -> bool:
    """Section 5, the definition: what can be taken at once has different marks.

    All bounds are on one side here, so clock conditions never exclude each other.
    """
    return not any(
        t.marks == u.marks and conjunction(t.guard, u.guard) is not None
        for out in automaton.outgoing.values()
        for t, u in itertools.combinations(out, 2)
    )


def is_monotonic(automaton: Automaton) -> bool:
    """Section 6, the definition, with strict bounds too."""
    asked = [a.interval for t in automaton.transitions for a in t.actions if isinstance(a, Since)]
    return all(i.low is None for i in asked) or all(i.high is None for i in asked)


@pytest.mark.parametrize("side", ["low", "high"])
def test_what_is_made_means_the_same(side: str) -> None:
    """Over all words of three events, and some longer ones."""
    rng = Random(side)
    made_any = needed = 0
    tried = range(amount(300))
    for _ in tried:
        automaton = pruned(random_automaton(rng, clocks=1, sides=[side]))
        if not clocks_of(automaton) or synchronous_resets(automaton, read=True).answer is not Answer.YES:
            continue
        made = monotonic(automaton)
        if made is None:
            continue
        made_any += 1
        needed += not is_deterministic(automaton)
        assert is_deterministic(made)
        assert is_monotonic(made)
        longer = [[(rng.choice("AB"), rng.choice(delays(6, 2))) for _ in range(6)] for _ in range(50)]
        for word in [*words(1, 2), *words(2, 2), *words(3, 2), *longer]:
            assert outputs(made, word) == outputs(automaton, word), word
    assert made_any > most(tried, 0.1)
    assert needed > most(tried, 0.026)


def found(text: str) -> Automaton | None:
    return monotonic(fewest_clocks(pruned(with_shared_registers(build(parse_pattern(text))))))


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("A ;[<= 1 s] B", True),
        ("A ;[< 1 s] B ;[<= 3 s] C", True),
        ("A ;[>= 1 s] B ;[> 3 s] C", True),
        ("(A ; B WITHIN 5 s) ; C", True),
        ("A+[<= 1 s] WITHIN 5 s", False),  # two clocks, both needed at once
        ("A ;[>= 1 s] B ;[<= 1 s] C", False),
        ("A ;[= 1 s] B", False),
        ("A ;[1 s .. 2 s] B", False),
        ("A ;[0 s .. 2 s] B", True),  # no time is less than 0
        ("A{2,4}[<= 1 s]", True),
        # Whether the B counts depends on the clock, and the C may come either way.
        ("PROJECT A, C (A ;[<= 1 s] B ; C OR A ; C)", False),
        ("A AS x ;[<= 1 s] B AS y FILTER x.v < y.v", False),
        # Resets that are not synchronous.
        ("PROJECT () (A ; A ;[<= 1 s] A)", False),
        ("PROJECT () ((A : A :[<= 1 s] B) OR (A : A : B WITHIN 1 s))", False),
    ],
)
def test_of_patterns(text: str, is_found: bool) -> None:
    made = found(text)
    assert (made is not None) == is_found
    if made is not None:
        assert is_deterministic(made)
        assert is_monotonic(made)


def test_the_budget_is_kept() -> None:
    automaton = fewest_clocks(pruned(build(parse_pattern("A ;[<= 1 s] B ;[<= 1 s] C"))))
    assert monotonic(automaton, budget=3) is None  # 0, after A, after B, after C
    assert monotonic(automaton, budget=4) is not None
