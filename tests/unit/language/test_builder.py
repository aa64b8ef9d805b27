"""The builder makes the tree that the text makes."""

import pytest

import ensue
from ensue import dsl
from ensue.language.parser import parse_query

A, B, C = dsl.types("A", "B", "C")
x, y = dsl.variables("x", "y")


def query_of(pattern):
    return dsl.select().from_("S").matching(pattern).build()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (A >> B, "A ; B"),
        (A.then(B, "<= 5 s"), "A ;[<= 5 s] B"),
        (A.then(B, "5 s"), "A ;[<= 5 s] B"),
        (A.directly(B, "1 s .. 2 s"), "A :[1 s .. 2 s] B"),
        (A | B, "A OR B"),
        (A & B, "A AND B"),
        (A.all(B), "A ALL B"),
        (A.unless(B), "A UNLESS B"),
        (A.without(B, C), "A ; NOT B ; C"),
        (A.not_followed_by(B, "5 s"), "A ; NOT B WITHIN 5 s"),
        (A.repeated(), "A+"),
        (A.repeated(2), "A{2,}"),
        (A.repeated(2, 3, link=":", gap="> 1 s"), "A:{2,3}[> 1 s]"),
        (A.optional() >> B, "A? ; B"),
        (A.within("5 s"), "A WITHIN 5 s"),
        (A.within("> 2 s, <= 5 s"), "A WITHIN [> 2 s, <= 5 s]"),
        (A.within(3), "A WITHIN 3 EVENTS"),
        (A.strict(), "STRICT(A)"),
        (A.next(), "NEXT(A)"),
        (A.last(), "LAST(A)"),
        (A.max(), "MAX(A)"),
        (A.named(x).project(x), "PROJECT x (A AS x)"),
        (A.project(), "PROJECT () (A)"),
        (dsl.ANY.named(x), "ANY AS x"),
        ((A | B) >> C, "(A OR B) ; C"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_patterns(made, text):
    assert query_of(made) == parse_query(f"SELECT * FROM S WHERE {text}")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (x.v > 1, "x.v > 1"),
        (x["odd name"] == "it's", "x.`odd name` = 'it''s'"),
        ((x.v + 1) * 2 != -3, "(x.v + 1) * 2 <> -3"),
        (1 - x.v / 2 >= 2 * x.w % 3, "1 - x.v / 2 >= 2 * x.w % 3"),
        ((x.v < 1) & ~(x.w <= 2.5) | (x.b == True), "x.v < 1 AND NOT x.w <= 2.5 OR x.b = TRUE"),  # noqa: E712
        (x.v.is_null() | x.w.is_not_null(), "x.v IS NULL OR x.w IS NOT NULL"),
        (x.v.isin(1, 2) & x.v.not_in(3), "x.v IN (1, 2) AND x.v NOT IN (3)"),
        (x.v.between(1, None), "x.v BETWEEN 1 AND NULL"),
        (x.s.like("a%"), "x.s LIKE 'a%'"),
        (x.s.concat("b") == "ab", "x.s || 'b' = 'ab'"),
        (x.each(dsl.attribute("v") > 1), "x[v > 1]"),
        (dsl.call("prev", x.v, 2) > 1, "PREV(x.v, 2) > 1"),
        (x.v > dsl.lastof(x).v, "x.v > LASTOF(x).v"),
        (-x.v < 0, "-x.v < 0"),
        (2 / x.v > 1, "2 / x.v > 1"),
        (1 + x.v > 1, "1 + x.v > 1"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_expressions(made, text):
    assert query_of(A.named(x).where(made)) == parse_query(f"SELECT * FROM S WHERE A AS x FILTER {text}")


def test_computed_keys():
    day = dsl.call("date", dsl.attribute("time")).named("day")
    made = dsl.select(x).from_("S").matching(A.named(x)).partition_by("k", day, dsl.attribute("v") % 2)
    assert made.build() == parse_query("SELECT x FROM S WHERE A AS x PARTITION BY k, date(time) AS day, v % 2")


def test_counting_different_values():
    made = dsl.select(dsl.count_distinct(x.v).named("n")).from_("S").matching(A.named(x).repeated())
    assert made.build() == parse_query("SELECT count(DISTINCT x.v) AS n FROM S WHERE (A AS x)+")


def test_queries():
    made = (
        dsl.select(x, y.v, (y.v + 1).named("w"), dsl.call("count", x).named("n"))
        .from_("S", "R")
        .matching(A.named(x).repeated() >> B.named(y))
        .selecting("next")
        .partition_by("k", "l")
        .consume_by("any")
        .limit(3)
    )
    text = (
        "SELECT NEXT x, y.v, y.v + 1 AS w, count(x) AS n FROM S, R WHERE (A AS x)+ ; B AS y "
        "PARTITION BY k, l CONSUME BY ANY LIMIT 3"
    )
    assert made.build() == parse_query(text)
    assert ensue.query(made) == ensue.query(text)


def test_what_is_refused():
    with pytest.raises(TypeError, match="write & for AND"):
        bool(x.v > 1)
    with pytest.raises(TypeError, match="cannot stand in an expression"):
        A.where(x.v > object())  # type: ignore[operator]
    with pytest.raises(ValueError, match="matches nothing"):
        A.repeated(0)
    with pytest.raises(ValueError, match="needs from_"):
        dsl.select().build()
    with pytest.raises(ensue.QueryError, match="the deadline of an absence is an upper bound"):
        dsl.select().from_("S").matching(A.not_followed_by(B, "> 5 s")).build()
    with pytest.raises(ensue.QueryError, match="unknown unit"):
        A.within("5 parsec")
    with pytest.raises(ensue.QueryError, match="unknown variable 'y'"):
        ensue.query(dsl.select(y).from_("S").matching(A.named(x)))
