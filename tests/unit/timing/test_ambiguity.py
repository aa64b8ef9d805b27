"""Where matches need not be compared, no two runs that the engine tells apart give the same complex event."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest
from timed_runs import after, random_automaton, words

from ensue.automata.ambiguity import is_ambiguous
from ensue.automata.build import build
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import Automaton
from ensue.language.parser import parse_pattern


def found_twice(automaton: Automaton, word: tuple[Any, ...]) -> bool:
    """Whether accepting runs over the word mark alike and do different things with their clocks."""
    runs: list[tuple[int, dict[str, Any], tuple[Any, ...], tuple[Any, ...]]] = [(0, {}, (), ())]
    for event in word:
        runs = [
            (t.target, clocks, (*marked, t.marks), (*done, t.actions))
            for state, had, marked, done in runs
            for t in automaton.outgoing.get(state, ())
            if (clocks := after(t, had, event)) is not None
        ]
    ways: dict[Any, set[Any]] = defaultdict(set)
    for state, _, marked, done in runs:
        if state in automaton.finals:
            ways[marked].add(done)
    return any(len(done) > 1 for done in ways.values())


def test_against_all_words_of_a_length() -> None:
    rng = Random(1)
    said = {False: 0, True: 0}
    seen_twice = 0
    for _ in range(300):
        automaton = pruned(random_automaton(rng, clocks=rng.choice([1, 2]), most=1))
        if not automaton.registers:
            continue
        ambiguous = is_ambiguous(automaton)
        said[ambiguous] += 1
        twice = any(found_twice(automaton, word) for n in (1, 2, 3) for word in words(n, 1))
        assert ambiguous or not twice
        seen_twice += twice
    assert said[False] > 20
    assert seen_twice > 50  # times can keep runs apart that are said to be ambiguous, but seldom do


@pytest.mark.parametrize(
    ("text", "ambiguous"),
    [
        ("A+[<= 1 s]", False),  # a run that goes on stores, one that ends does not: they end at different events
        ("A+ ;[<= 1 s] B", False),
        ("A{2,5}[<= 1 s] ;[> 1 s] B", False),
        ("(A+ WITHIN 1 s)+", True),
        ("PROJECT () (A ; A ;[= 1 s] A)", True),
        ("(A ;[< 1 s] B) OR (A ;[> 2 s] B)", False),  # no time passes both checks
        ("(A ;[< 2 s] B) OR (A ;[> 1 s] B)", True),
    ],
)
def test_of_patterns(text: str, ambiguous: bool) -> None:
    assert is_ambiguous(pruned(with_shared_registers(build(parse_pattern(text))))) == ambiguous
