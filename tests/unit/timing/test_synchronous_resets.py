"""Synchronous resets: the decision procedure against all timed words of a length, and what it says of patterns."""

from __future__ import annotations

from collections.abc import Set
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from timed_runs import SECOND, after, asked_later, random_automaton, resets, shortest_differing, with_loops_at_the_end

import ensue
from ensue.automata.build import build
from ensue.automata.determinize import Determinizer
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.predicates import ALWAYS, TypeIs
from ensue.automata.registers import Action, Since, Store
from ensue.automata.timing.synchronous import Answer, Verdict, Witness, synchronous_resets
from ensue.language import ast
from ensue.language.parser import parse_pattern
from ensue.logic.check import check
from ensue.plan.choice import choose

LENGTH = 4
MANY = 100_000


def runs_of(automaton: Automaton, witness: Witness, *, read: bool) -> None:
    """Runs both runs of a witness over its events: they mark alike, and reset differently at the last event alone."""
    states, before = [0, 0], Fraction(0)
    clocks: list[dict[str, Fraction]] = [{}, {}]
    last = len(witness.steps) - 1
    for n, (step, time) in enumerate(zip(witness.steps, witness.times, strict=True)):
        name = next((p.name for p, positive in step.guard if isinstance(p, TypeIs) and positive), "A")
        assert step.one.marks == step.other.marks
        for run, t in enumerate((step.one, step.other)):
            assert t in automaton.outgoing[states[run]]
            taken = after(t, clocks[run], (name, (time - before) / SECOND))
            assert taken is not None
            states[run], clocks[run] = t.target, taken
        differ: Set[str] = resets(step.one) ^ resets(step.other)
        if read:
            differ = {c for c in differ if all(asked_later(automaton, s, c) for s in states)}
        assert bool(differ) == (n == last)
        before = time


@pytest.mark.slow
@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("clocks", [1, 2])
def test_against_all_words_of_a_length(clocks: int, read: bool) -> None:
    """The procedure finds a shortest witness, so up to the length that is tried the two must agree to the event."""
    rng = Random(10 * clocks + read)
    said = dict.fromkeys(Answer, 0)
    longest = 0
    for _ in range(150):
        automaton = random_automaton(rng, clocks=clocks, most=rng.choice([1, 2]))
        verdict = synchronous_resets(automaton, read=read, budget=MANY)
        said[verdict.answer] += 1
        found = shortest_differing(automaton, LENGTH if clocks == 1 else 3, 2, read=read)
        if verdict.answer is Answer.YES:
            assert found is None
            continue
        assert verdict.witness is not None
        runs_of(automaton, verdict.witness, read=read)
        shortest = len(verdict.witness.steps)
        longest = max(longest, shortest)
        assert found == (shortest if shortest <= (LENGTH if clocks == 1 else 3) else None)
    assert said[Answer.NOT_DECIDED] == 0  # every guard is one type, and no values are compared
    assert said[Answer.YES] > 25
    assert said[Answer.NO] > 25
    assert longest >= 3


@pytest.mark.slow
@pytest.mark.parametrize("clocks", [1, 2, 3])
def test_theorem_5_4_is_as_hard_as_emptiness(clocks: int) -> None:
    """Where times alone decide: whether the final state is reached, and two loops there reset differently."""
    rng = Random(clocks)
    length = 4 if clocks < 3 else 5
    said = dict.fromkeys(Answer, 0)
    longest = 0
    for _ in range(250):
        automaton = with_loops_at_the_end(rng, clocks=clocks, most=1)
        verdict = synchronous_resets(automaton, budget=MANY)
        said[verdict.answer] += 1
        found = shortest_differing(automaton, length, 1, read=False, types="A")
        if verdict.answer is Answer.YES:
            assert found is None
            continue
        assert verdict.witness is not None
        runs_of(automaton, verdict.witness, read=False)
        shortest = len(verdict.witness.steps)
        longest = max(longest, shortest)
        assert found == (shortest if shortest <= length else None)
    assert said[Answer.YES] > 5  # though without times the end is always reached
    assert said[Answer.NO] > 100
    assert longest > length


def seconds(low: int | None, high: int | None) -> ast.Interval:
    return ast.Interval(*(b if b is None else ast.Bound(ast.Duration(Decimal(b), "s"), True) for b in (low, high)))


def automaton_of(*moves: tuple[int, str, set[Action], int], final: int) -> Automaton:
    made = Builder(0)
    for source, mark, actions, target in moves:
        made.add(source, ALWAYS, Label(frozenset({mark}), frozenset(actions)), target, final=target == final)
    return made.build()


def test_a_place_is_looked_at_again_with_more_clock_values() -> None:
    """A short way to state 3 comes there with both clocks the same, a longer one with any difference."""
    late: set[Action] = {Since("$1", seconds(1, None)), Since("$2", seconds(None, 0))}
    automaton = automaton_of(
        (0, "a", {Store("$1"), Store("$2")}, 1),
        (1, "b", {Since("$1", seconds(None, 0)), Store("$2")}, 3),
        (1, "c", set(), 2),
        (2, "b", {Store("$2")}, 3),
        (3, "d", late, 4),
        (3, "d", late | {Store("$1")}, 3),
        final=4,
    )
    verdict = synchronous_resets(automaton)
    assert verdict.witness is not None
    assert len(verdict.witness.steps) == shortest_differing(automaton, 4, 1, read=False, types="A") == 4
    runs_of(automaton, verdict.witness, read=False)


def test_a_reset_that_nothing_asks_for_is_not_that_of_the_other_run() -> None:
    """At b one run resets the first clock in vain; the other has it at 1 or more, so that it does not pass c."""
    automaton = automaton_of(
        (0, "a", {Store("$1")}, 1),
        (1, "b", {Since("$1", seconds(1, None))}, 2),
        (1, "b", {Since("$1", seconds(1, None)), Store("$1")}, 3),
        (2, "c", {Since("$1", seconds(None, 0)), Store("$2")}, 4),
        (3, "c", set(), 5),
        (4, "d", {Since("$2", seconds(None, 1))}, 6),
        (5, "d", {Since("$2", seconds(None, 1))}, 6),
        final=6,
    )
    assert shortest_differing(automaton, 4, 1, read=True, types="A") is None
    assert synchronous_resets(automaton, read=True) == Verdict(Answer.YES)


def said_of(text: str, *, read: bool = True, budget: int = MANY) -> Verdict:
    return synchronous_resets(pruned(with_shared_registers(build(parse_pattern(text)))), read=read, budget=budget)


#: A gap at each step and one window (section 3, formula (*)).
SUBSET_GAP = [
    "A ;[<= 1 s] B ;[1 s .. 2 s] C WITHIN 5 s",
    "A ;[<= 1 s] A ;[1 s .. 2 s] A WITHIN 5 s",
    "A ;[= 1 s] A ;[> 2 s] A ;[< 3 s] A",
    "(A AS x FILTER x.v > 1) ;[<= 1 s] (ANY AS y FILTER y.v < 1) ;[< 1 ms] (ANY AS z) WITHIN 12 h",
    "A ;[<= 1 s] B ;[<= 1 s] C",
]


@pytest.mark.parametrize("text", SUBSET_GAP)
def test_subset_gap_queries_are_synchronous(text: str) -> None:
    """By the letter of the definition."""
    assert said_of(text, read=False).answer is Answer.YES


@pytest.mark.parametrize("text", SUBSET_GAP)
def test_subset_gap_queries_are_determinised_on_the_fly(text: str) -> None:
    """What the engine makes of them while it runs is deterministic: an event and marks lead to one set of states."""
    query = ensue.query(f"SELECT * FROM S WHERE {text}")
    plan = choose(check(query.ast, query.text)).plan
    assert plan is not None
    determinizer = Determinizer(plan.automaton, plan.predicates, plan.marks, plan.actions)
    waiting = [frozenset({0})]
    seen = set(waiting)
    while waiting:
        subset = waiting.pop()
        for word in range(2 ** len(plan.predicates)):
            steps = determinizer.step(subset, word)
            assert len({mark for mark, *_ in steps}) == len(steps)
            new = {after for _, _, after, _ in steps if after} - seen
            seen |= new
            waiting += new
    assert len(seen) == plan.automaton.size - 1  # a final state has nothing after it
    assert not plan.judged


@pytest.mark.parametrize(
    ("text", "by_the_letter", "as_read"),
    [
        ("A+[<= 1 s]", Answer.NO, Answer.YES),  # the last A of a match resets nothing, and no one asks
        ("A+ ;[<= 1 s] B", Answer.NO, Answer.YES),
        ("A ; (B ;[<= 1 s] C)?", Answer.YES, Answer.YES),
        ("(A ; B WITHIN 1 s) ; C", Answer.YES, Answer.YES),
        ("(A ;[< 1 s] B) OR (A ;[> 2 s] B)", Answer.YES, Answer.YES),
        ("(A+ WITHIN 1 s)+", Answer.NO, Answer.NO),
        ("PROJECT () (A ; A ;[= 1 s] A)", Answer.NO, Answer.NO),
        ("PROJECT () (A ;[= 1 s] A)", Answer.YES, Answer.YES),
        # At B one side resets a clock that the other does not: whether an event can be both is a matter of times.
        ("PROJECT () ((A :[<= 1 s] B :[= 1 s] C) OR (A :[> 1 s] B : C :[= 2 s] D))", Answer.YES, Answer.YES),
        ("PROJECT () ((A :[<= 1 s] B :[= 1 s] C) OR (A :[>= 1 s] B : C :[= 2 s] D))", Answer.NO, Answer.YES),
    ],
)
def test_of_patterns(text: str, by_the_letter: Answer, as_read: Answer) -> None:
    assert said_of(text, read=False).answer is by_the_letter
    assert said_of(text).answer is as_read


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "PROJECT () ((A AS x ; A AS y ;[= 1 s] A) FILTER x.v < y.v)",
            "it depends on whether one event can satisfy A & $2 < v",
        ),
        (
            "PROJECT () ((A AS x FILTER x.v < 1) :[= 1 s] A OR (A AS y FILTER y.v > 2) : A)",
            "it depends on whether one event can satisfy A & v < 1 & v > 2",
        ),
    ],
)
def test_a_no_that_may_not_be_is_not_said(text: str, why: str) -> None:
    assert said_of(text, read=False) == Verdict(Answer.NOT_DECIDED, why=why)


def test_what_does_not_depend_on_it_is_decided() -> None:
    assert said_of("A AS x ;[<= 1 s] B AS y FILTER x.v < y.v").answer is Answer.YES
    compared_after = "PROJECT () ((A ; A ;[= 1 s] A AS x ; B AS y) FILTER x.v < y.v)"
    assert said_of(compared_after).answer is Answer.NO
    # The shortest example may not be: an event of both sides. A longer one is.
    doubtful = "(A AS x FILTER x.v < 1) :[= 1 s] A OR (A AS y FILTER y.v > 2) : A"
    assert said_of(f"PROJECT () (({doubtful}) OR (B ; B ;[= 1 s] B))", read=False).answer is Answer.NO


def test_the_budget_is_kept_and_told() -> None:
    text = "PROJECT () (A ; A ;[= 1 s] A)"
    assert said_of(text, budget=4) == Verdict(Answer.NOT_DECIDED, why="more than 4 pairs of steps to compare")
    assert said_of(text, budget=50).answer is Answer.NO


def test_bounds_of_any_size_and_unit() -> None:
    """There are as many regions as milliseconds in a day; there are few zones."""
    assert said_of("A ;[<= 1 ms] B ;[1 h .. 2 h] C ;[<= 0.5 us] D WITHIN 1 d", budget=100).answer is Answer.YES
    found = said_of("PROJECT () (A ; A ;[= 1 d] A) WITHIN 2 d", budget=100)
    assert found.answer is Answer.NO
