"""What `explain` advises for conditions that are judged late or interpreted: the same matches, and checked earlier."""

from __future__ import annotations

from random import Random

import pytest
from strategies import events_table, random_stream

import ensue
from ensue.language.parser import parse_expression
from ensue.logic.check import check
from ensue.logic.earlier_forms import earlier_form, is_exact
from ensue.plan.choice import choose

PATTERN = "A AS x ; B AS y"
#: Conditions, each with its earlier form and whether that is exact.
FORMS = [
    ("x.v + y.v > 3", "FILTER x.v > 3 - y.v", False),
    ("y.v - x.v < 1", "FILTER y.v < x.v + 1", False),
    ("-x.v - y.v < -3", "FILTER x.v > 3 - y.v", False),
    ("x.v * 2 - y.v - 1 > x.k", "FILTER x.v * 2 - x.k > y.v + 1", False),
    ("abs(y.v - x.v) < 2", "FILTER y.v < x.v + 2 AND y.v > x.v - 2", False),
    ("abs(y.v - x.v) >= 2", "(p FILTER y.v <= x.v - 2) OR (p FILTER y.v >= x.v + 2)", False),
    ("x.v <> y.v", "(p FILTER x.v < y.v) OR (p FILTER x.v > y.v)", False),
    ("x.v BETWEEN y.v AND y.v + 2", "FILTER x.v >= y.v AND x.v <= y.v + 2", True),
    ("x.v NOT BETWEEN y.v AND y.v + 2", "(p FILTER x.v < y.v) OR (p FILTER x.v > y.v + 2)", True),
    ("x.v > 1 OR y.v > 2", "(p FILTER x.v > 1) OR (p FILTER y.v > 2)", True),
    ("x.v > 1 OR y.v > x.k", "(p FILTER x.v > 1) OR (p FILTER y.v > x.k)", True),
    ("x.v - y.v = 0", "FILTER x.v = y.v", False),
    ("x.v IN (y.v, 3)", "(p FILTER x.v = y.v) OR (p FILTER x.v = 3)", True),
]


@pytest.mark.parametrize(("condition", "form", "exact"), FORMS)
def test_forms(condition: str, form: str, exact: bool) -> None:
    e = parse_expression(condition)
    assert (earlier_form(e), is_exact(e)) == (form, exact)


@pytest.mark.parametrize(
    "condition",
    ["x.v / y.v > 2", "x.v + y.v < z.v", "NOT x.v < y.v", "PREV(x.v) + y.v > 1", "x.s LIKE y.s", "x.v = y.v"],
)
def test_what_has_no_earlier_form(condition: str) -> None:
    assert earlier_form(parse_expression(condition)) is None


def test_each_event_of_a_set_may_choose_for_itself() -> None:
    known = {"x": False, "y": True}
    assert earlier_form(parse_expression("x.v > 1 OR y.v > 2"), known) is None
    assert earlier_form(parse_expression("x.v BETWEEN y.v AND 3"), known) == "FILTER x.v >= y.v AND x.v <= 3"


@pytest.mark.parametrize(("condition", "form", "exact"), FORMS)
def test_the_earlier_form_has_the_same_matches_and_is_not_judged(condition: str, form: str, exact: bool) -> None:
    written = form.replace("p FILTER", f"{PATTERN} FILTER")
    other = written if written.startswith("(") else f"{PATTERN} {written}"
    late = ensue.query(f"SELECT x, y FROM S WHERE {PATTERN} FILTER {condition}")
    early = ensue.query(f"SELECT x, y FROM S WHERE {other}")
    plans = [choose(check(q.ast, q.text)).plan for q in (late, early)]
    assert [bool(p.related or p.formulas) for p in plans[1:] if p is not None] == [False]
    found = 0
    for seed in range(30):
        table = events_table(random_stream(Random(f"{condition} {seed}"), 12))
        ours, theirs = (sorted(map(repr, q.run(table, unit="s"))) for q in (early, late))
        assert ours == theirs
        found += len(ours)
    assert found


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (
            "A AS x ; B AS y FILTER x.v + y.v > 3",
            [
                "interpreted   for each open partial match: x.v + y.v > 3",
                "because it is no comparison with one event on each side",
                "write FILTER x.v > 3 - y.v: it is checked when the second event comes",
                "the two differ for NaN, and where arithmetic rounds or overflows",
            ],
        ),
        ("A AS x ; B AS y ; C AS z FILTER x.v + y.v < z.v", ["because it is about 3 events"]),
        (
            "(A AS x)+ ; B FILTER count(x) > 3",
            ["because it asks a whole set of events, which is complete when the match ends"],
        ),
        ("(A AS x)+ ; B AS y FILTER x.v <> y.v", ["because x stands for a set of events"]),
    ],
)
def test_explain_says_why_and_what_to_write(pattern: str, lines: list[str]) -> None:
    told = [line.strip() for line in ensue.query(f"SELECT * FROM S WHERE {pattern}").explain().splitlines()]
    assert all(line in told for line in lines), told
