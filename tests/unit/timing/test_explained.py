"""What `explain` says of the clocks of a query, and that it says nothing where there are none."""

from __future__ import annotations

import pytest

import ensue
from ensue.automata.register_moves import slow_moves
from ensue.automata.timing.synchronous import Answer
from ensue.explain.timing_lines import timing_lines
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.plan.timed_classes import timing_of


def choice_of(text: str) -> Choice:
    query = ensue.query(text)
    return choose(check(query.ast, query.text), "automaton")


def lines_of(text: str) -> list[str]:
    choice = choice_of(text)
    assert choice.plan is not None
    return timing_lines(choice, slow_moves(choice.plan.automaton))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE A ; B WITHIN 5 s",
        "SELECT * FROM S WHERE A AS x ; B AS y FILTER x.v < y.v WITHIN 5 s",
        "SELECT NEXT * FROM S WHERE A ; B+ WITHIN 5 EVENTS",
    ],
)
def test_nothing_is_said_without_clocks(text: str) -> None:
    assert lines_of(text) == []


@pytest.mark.parametrize(
    ("text", "clocks", "windowed", "monotonic"),
    [
        # The window and the gap run from the same event, so one clock does (example 4.1).
        ("SELECT X, Y FROM S WHERE T AS X ;[<= 1 s] T ; H AS Y WITHIN 5 s", 1, False, True),
        ("SELECT * FROM S WHERE T AS X ;[<= 1 s] T ; H AS Y WITHIN 5 s", 1, True, True),
        # The window that gaps come to is no clock of its own.
        ("SELECT * FROM S WHERE A ;[<= 1 s] B ;[<= 1 s] C", 1, True, True),
        ("SELECT * FROM S WHERE A ;[<= 1 s] B ;[<= 1 s] C WITHIN 9 s", 2, True, False),
        ("SELECT * FROM S WHERE STRICT(A ;[<= 1 s] B WITHIN 1 s)", 1, True, True),
        ("SELECT * FROM S WHERE A ;[> 1 s] B", 1, True, True),
        ("SELECT * FROM S WHERE A AS x ;[> 1 s] B AS y FILTER x.k = y.k", 1, True, True),  # keys are a partition
        # One clock would do for both ways, but runs that mark alike would differ in it.
        ("SELECT * FROM S WHERE PROJECT () ((A : A :[<= 1 s] B) OR (A : A : B WITHIN 1 s))", 2, False, False),
    ],
)
def test_classes(text: str, clocks: int, windowed: bool, monotonic: bool) -> None:
    timing = timing_of(choice_of(text))
    assert timing is not None
    assert timing.resets.answer is Answer.YES
    assert (len(timing.clocks), timing.windowed, timing.monotonic is not None) == (clocks, windowed, monotonic)


def test_upper_and_lower_bounds() -> None:
    assert lines_of("SELECT * FROM S WHERE (A ; B WITHIN [> 1 s]) ; C")[0] == (
        "clocks        1: monotonic (lower bounds only)"
    )
    assert lines_of("SELECT * FROM S WHERE A ;[< 1 s] B")[0] == (
        "clocks        1: windowed (times since the first event, or since the last marked)"
        " and monotonic (upper bounds only)"
    )


@pytest.mark.parametrize(
    ("more", "clocks", "why"),
    [
        ("", 4, "more than 4,000 pairs of steps to compare"),
        (" ALL E+[<= 5 s]", 5, "the automaton has more than 1,500 transitions"),
    ],
)
def test_what_is_too_large_to_decide(more: str, clocks: int, why: str) -> None:
    text = f"SELECT * FROM S WHERE A+[<= 1 s] ALL B+[<= 2 s] ALL C+[<= 3 s] ALL D+[<= 4 s]{more}"
    assert lines_of(text) == [
        f"clocks        {clocks}: neither windowed nor monotonic",
        f"resets        not decided whether synchronous: {why}",
        "evaluator     ordered trees: some events handle partial matches one by one: these keep other values or must"
        " pass two bounds",
    ]


@pytest.mark.parametrize(
    ("text", "witness"),
    [
        ("(A ; A ;[= 1 s] A)", "A at 0 s, A at 1 s, A at 2 s"),
        ("(A ; A ;[= 1 ms] A)", "A at 0 ms, A at 1 ms, A at 2 ms"),
        ("((A ; B WITHIN 0.5 s) ; (A ;[> 1 h] B))", "A at 0 ms, B at 250 ms, A at 750 ms, A at 1250 ms"),
    ],
)
def test_witnesses_in_units_that_fit(text: str, witness: str) -> None:
    found = lines_of(f"SELECT * FROM S WHERE PROJECT () {text}")[1]
    assert found == f"resets        not synchronous: partial matches with equal marks differ in a clock after {witness}"
