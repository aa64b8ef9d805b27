"""The builder and the text make the same AST, method by method."""

from datetime import timedelta

import pytest

import ensue
from ensue.errors import QueryError
from ensue.language.expression_builder import attribute, call, lastof, param, variables
from ensue.language.parser import parse_expression, parse_pattern, parse_query
from ensue.language.pattern_builder import ANY, types, window
from ensue.language.position_builder import exists, forall, from_to, position_sets, positions
from ensue.language.query_builder import select

A, B, C = types("A", "B", "C")
x, y = variables("x", "y")
b, e, p = positions("b", "e", "p")
(P,) = position_sets("P")

EXPRESSIONS = [
    (x.v == 1, "x.v = 1"),
    (x.v != y.v, "x.v <> y.v"),
    (x.v < 1, "x.v < 1"),
    (x.v <= 1, "x.v <= 1"),
    (x.v > 1, "x.v > 1"),
    (x.v >= 1, "x.v >= 1"),
    (1 < x.v, "x.v > 1"),  # noqa: SIM300  # Python asks the right side
    (x.v + 1, "x.v + 1"),
    (1 + x.v, "1 + x.v"),
    (x.v - 1, "x.v - 1"),
    (1 - x.v, "1 - x.v"),
    (x.v * 2, "x.v * 2"),
    (2 * x.v, "2 * x.v"),
    (x.v / 2, "x.v / 2"),
    (2 / x.v, "2 / x.v"),
    (x.v % 2, "x.v % 2"),
    (-x.v, "-x.v"),
    ((x.v + 1) * 2, "(x.v + 1) * 2"),
    (x.v - (y.v - 1), "x.v - (y.v - 1)"),
    ((x.v > 1) & (x.k < 2), "x.v > 1 AND x.k < 2"),
    ((x.v > 1) & ((x.k < 2) | (x.k > 3)), "x.v > 1 AND (x.k < 2 OR x.k > 3)"),
    (~(x.v > 1), "NOT x.v > 1"),
    (x.name.concat("!"), "x.name || '!'"),
    (x.v.is_null(), "x.v IS NULL"),
    (x.v.is_not_null(), "x.v IS NOT NULL"),
    (x.v.isin(1, 2), "x.v IN (1, 2)"),
    (x.v.not_in(1, y.v), "x.v NOT IN (1, y.v)"),
    (x.v.between(1, 2), "x.v BETWEEN 1 AND 2"),
    (x.name.like("a%"), "x.name LIKE 'a%'"),
    (x["odd name"] == x["select"], "x.`odd name` = x.select"),
    (x.each(attribute("v") > 1), "x[v > 1]"),
    (call("PREV", x.v, 2) > 0, "prev(x.v, 2) > 0"),
    (call("count", x), "count(x)"),
    (x.v > lastof(x).v, "x.v > LASTOF(x).v"),
    (lastof(x)["odd name"] > call("avg", y.v), "LASTOF(x).`odd name` > avg(y.v)"),
    (x.v == None, "x.v = NULL"),  # noqa: E711  # it builds an expression
    (x.flag == True, "x.flag = TRUE"),  # noqa: E712
    (x.v == -1, "x.v = -1"),
    (x.v == 0.5, "x.v = 0.5"),
    (x.v == -0.5, "x.v = -0.5"),
    (x.name == "it's", "x.name = 'it''s'"),
]

PATTERNS = [
    (A, "A"),
    (ANY, "ANY"),
    (A.named(x), "A AS x"),
    (A.named(x).where(x.v > 1), "A AS x FILTER x.v > 1"),
    ((A >> B).within("5 s"), "A ; B WITHIN 5 s"),
    ((A >> B).within("> 2 s, <= 5 s"), "A ; B WITHIN [> 2 s, <= 5 s]"),
    ((A >> B).within("[2 s .. 5 s]"), "A ; B WITHIN [2 s .. 5 s]"),
    ((A >> B).within(3), "A ; B WITHIN 3 EVENTS"),
    (A >> B >> C, "A ; B ; C"),
    (A >> (B >> C), "A ; (B ; C)"),
    (A.then(B), "A ; B"),
    (A.then(B, gap="1 s"), "A ;[<= 1 s] B"),
    (A.then(B, "> 1.5 min"), "A ;[> 1.5 min] B"),
    (A.directly(B), "A : B"),
    (A.directly(B, gap="= 1 s"), "A :[= 1 s] B"),
    (A | B | C, "A OR B OR C"),
    (A & B, "A AND B"),
    ((A | B) & C, "(A OR B) AND C"),
    (A.all(B), "A ALL B"),
    ((A >> B).unless(C), "A ; B UNLESS C"),
    (A.without(C, then=B), "A ; NOT C ; B"),
    (A.not_followed_by(B, "10 min"), "A ; NOT B WITHIN 10 min"),
    ((A | C).not_followed_by(B, "< 10 min"), "(A OR C) ; NOT B WITHIN [< 10 min]"),
    (A.repeated(), "A+"),
    (A.repeated(link=":"), "A:+"),
    (A.repeated(gap="1 s"), "A+[<= 1 s]"),
    (A.repeated(link=":", gap="< 1 s"), "A:+[< 1 s]"),
    (A.repeated(2), "A{2,}"),
    (A.repeated(2, 2), "A{2}"),
    (A.repeated(1, 3), "A{1,3}"),
    (A.repeated(2, 3, link=":"), "A:{2,3}"),
    (A.repeated(2, 3, link="->", gap="< 1 s"), "A->{2,3}[< 1 s]"),
    (A.repeated(link="->"), "A->+"),
    (A.followed_by(B), "A -> B"),
    (A.followed_by(B, "> 1 s"), "A ->[> 1 s] B"),
    (A.without(B, A, "<= 1 s"), "A ; NOT B ;[<= 1 s] A"),
    (A.not_preceded_by(B, "10 min"), "NOT B WITHIN 10 min ; A"),
    ((A >> B).repeated(), "(A ; B)+"),
    (A.optional() >> B, "A? ; B"),
    ((A >> B).strict(), "STRICT(A ; B)"),
    ((A >> B).next(), "NEXT(A ; B)"),
    ((A >> B).last(), "LAST(A ; B)"),
    ((A >> B).max(), "MAX(A ; B)"),
    ((A.named(x) >> B.named(y)).project(x, y), "PROJECT x, y (A AS x ; B AS y)"),
    (A.project(), "PROJECT () (A)"),
    (A[attribute("v") > 1], "A[v > 1]"),
    (ANY[attribute("v").is_null()].named(x), "ANY[v IS NULL] AS x"),
    (A.repeated().optional() >> B, "A* ; B"),
    (A.repeated(link=":").optional() >> B, "A:* ; B"),
    (A.after(B), "A AFTER B"),
    (A.after(None) | B, "(A AFTER ()) OR B"),
    ((A >> B).span("w"), "SPAN(A ; B) AS w"),
    (A.repeated().optional().span(x), "SPAN(A*) AS x"),
    (from_to(b, e, (b < e) & b.is_(A)), "(b TO e WHERE b < e AND b IS A)"),
    (from_to(b, e, (b <= e + 1) | ~(e - 2 > b)), "(b TO e WHERE b <= e + 1 OR NOT e - 2 > b)"),
    (from_to(b, e, ((b == p) | (p != e)).implies(b >= e)), "(b TO e WHERE b = p OR p <> e => b >= e)"),
    (from_to(b, e, exists(p, p[attribute("v") > 1])), "(b TO e WHERE EXISTS p (p[v > 1]))"),
    (
        from_to(b, e, forall(p.within(b, e), P, p.is_in(P).iff(p.is_(B[attribute("v") > 1])))),
        "(b TO e WHERE FORALL p IN [b, e], SET P (p IN P <=> p IS B[v > 1]))",
    ),
]

rises = ANY[attribute("v") > call("prev", attribute("v"))].repeated(link=":")
w = variables("w")[0]
pair = A.named(x) >> B.named(y)
some = A.named(x) >> B.named(y).repeated()
QUERIES = [
    (
        select().from_("S").matching(window("w").given_by(from_to(b, e, b < e)).being(A)),
        "SELECT * FROM S WINDOW w AS (b TO e WHERE b < e) OR (IS A)",
    ),
    (select().from_("S").matching(window("w").being(rises)), "SELECT * FROM S WINDOW w AS (IS ANY[v > PREV(v)]:+)"),
    (
        select(w).from_("S").matching(window(w).after(A | B).being(C).being(A).after(None).being(B)),
        "SELECT w FROM S WINDOW w AS (AFTER A OR B IS C) OR (IS A) OR (AFTER () IS B)",
    ),
    (
        select(call("sum", w.v).named("n"))
        .from_("S")
        .matching(window(w).being(A).where(call("sum", w.v) > 1).within(9)),
        "SELECT sum(w.v) AS n FROM S WINDOW w AS (IS A) FILTER sum(w.v) > 1 WITHIN 9 EVENTS",
    ),
    (select().from_("S").matching(A), "SELECT * FROM S WHERE A"),
    (select(x, y.v).from_("S").matching(pair), "SELECT x, y.v FROM S WHERE A AS x ; B AS y"),
    (
        select(x, call("sum", y.v).named("total"), (x.v + 1).named("more")).from_("S").matching(some),
        "SELECT x, sum(y.v) AS total, x.v + 1 AS more FROM S WHERE A AS x ; (B AS y)+",
    ),
    (select().from_("S", "R").matching(A), "SELECT * FROM S, R WHERE A"),
    (select().from_("S").matching(A >> B).selecting("next"), "SELECT NEXT * FROM S WHERE A ; B"),
    (select().from_("S").matching(A >> B).selecting("ALL"), "SELECT ALL * FROM S WHERE A ; B"),
    (select().from_("S").matching(A).partition_by("k", "v"), "SELECT * FROM S WHERE A PARTITION BY k, v"),
    (select().from_("S").matching(A).consume_by("any"), "SELECT * FROM S WHERE A CONSUME BY ANY"),
    (select().from_("S").matching(A).limit(3), "SELECT * FROM S WHERE A LIMIT 3"),
    (select().from_("S").matching(A).limit(3, per="end"), "SELECT * FROM S WHERE A LIMIT 3 PER END"),
    (
        select().from_("S").matching(A).partition_by("k").limit(3, per="partition"),
        "SELECT * FROM S WHERE A PARTITION BY k LIMIT 3 PER PARTITION",
    ),
    (
        select(x.v.named("n")).from_("S").matching(A.named(x)).order_by(attribute("n").descending(), x.w + 1).limit(3),
        "SELECT x.v AS n FROM S WHERE A AS x ORDER BY n DESC, x.w + 1 LIMIT 3",
    ),
    (
        select(x)
        .from_("S")
        .matching(A.named(x))
        .order_by(x.v.ascending(nulls_first=True), x.w.descending(nulls_first=False)),
        "SELECT x FROM S WHERE A AS x ORDER BY x.v NULLS FIRST, x.w DESC NULLS LAST",
    ),
    (
        select(x).from_("S").matching(pair.where(x.v == y.v).within("1 h")).partition_by("k").limit(1),
        "SELECT x FROM S WHERE A AS x ; B AS y FILTER x.v = y.v WITHIN 1 h PARTITION BY k LIMIT 1",
    ),
]


@pytest.mark.parametrize(("built", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions(built, text):
    assert built.node == parse_expression(text)


@pytest.mark.parametrize(("built", "text"), PATTERNS, ids=[text for _, text in PATTERNS])
def test_patterns(built, text):
    assert built.node == parse_pattern(text)


@pytest.mark.parametrize(("built", "text"), QUERIES, ids=[text for _, text in QUERIES])
def test_queries(built, text):
    assert built.build() == parse_query(text)


def test_parameters():
    """The values are given when the query is made, as those of a text are."""
    pattern = A.named(x).repeated(param("low"), param("high"), gap="<= $gap").then(B.named(y), "[2 s .. $n min]")
    filtered = pattern.where((y.v > param("least")) & y.k.isin(1, param("more"))).within("$n h")
    made = select(y).from_("S").matching(filtered).limit(param("n"))
    values = {"low": 2, "high": 3, "gap": timedelta(seconds=5), "n": 4, "least": -0.5, "more": [2, 3]}
    text = (
        "SELECT y FROM S WHERE (A AS x){2,3}[<= 5 s] ;[2 s .. 4 min] B AS y FILTER y.v > -0.5 AND y.k IN (1, 2, 3) "
        "WITHIN 4 h LIMIT 4"
    )
    assert made.build(values) == parse_query(text)
    assert ensue.query(made, params=values) == ensue.query(text)
    assert select().from_("S").matching(A.within(param("n"))).build({"n": 7}) == parse_query(
        "SELECT * FROM S WHERE A WITHIN 7 EVENTS"
    )
    with pytest.raises(QueryError, match="no value"):
        made.build()


@pytest.mark.parametrize("wrong", [lambda: param("1"), lambda: A.repeated(x.v), lambda: A.within(x.v + 1)])
def test_what_is_no_parameter(wrong):
    with pytest.raises((ValueError, TypeError), match=r"letter|whole number"):
        wrong()
