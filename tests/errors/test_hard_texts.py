"""Texts that no person writes on purpose: mutated, deep, huge, not text at all. Each parses or is told clearly."""

import pickle
import random
import re
import signal
import time

import pytest

import ensue
from ensue import QueryError
from ensue.language import ast
from ensue.language.parser import parse_expression, parse_interval, parse_pattern

QUERIES = [
    "SELECT x, y.hum FROM sensors WHERE T AS x ; H AS y FILTER x.temp > 40 AND y.hum < 25 PARTITION BY id WITHIN 5 s",
    "SELECT NEXT * FROM S WHERE (A AS x)+ ; B AS y",
    "SELECT count(y) AS n, sum(y.v) AS total FROM S WHERE A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z CONSUME BY ANY",
    "SELECT * FROM S, R WHERE A : B :+ ;[<= 1 s] C +[1 s .. 2 s] WITHIN [> 2 s, <= 5 min]",
    "SELECT a.v AS w FROM S WHERE A AS a ; NOT B ; C UNLESS D FILTER a.v IN (1, 2.5) OR a.s LIKE 'x%' AND a.v IS NULL",
    "SELECT * FROM S WHERE STRICT(A ; B{2,4}) OR MAX(A:{3} ; C?) WITHIN 10 EVENTS",
    "SELECT * FROM S WHERE PROJECT x, y (A AS x ALL B AS y) AND (A AS x ALL B AS y) LIMIT 3",
    "SELECT max(x.v) AS top, collect(x.s) AS names FROM `odd stream` WHERE (T AS x)+ FILTER x[v > 0 AND s <> 'it''s']",
    "SELECT x.v * 2 + 1 AS w FROM S WHERE ANY AS x FILTER PREV(x.v, 2) BETWEEN 1 AND x.v % 7 /* note */ LIMIT 10",
    "SELECT x.t - y.t AS d FROM S WHERE A AS y ; B AS x FILTER x.t > timestamp('2024-01-31') AND x.t < y.t + 9 min",
    "SELECT LAST x FROM S WHERE (A AS x OR B AS x) ; (C? ; D) -- the end",
    "select strict x.`odd name`, y.select from S where `type` as x : T as y filter not (x.a = y.b or x.c is not null)",
    "SELECT first(x.v) AS a, last(x.v) AS b, avg(x.v) AS c FROM S WHERE (A AS x):{2,}[<= 1 h] PARTITION BY k, l",
    "SELECT coalesce(x.v, -1) AS v, upper(x.s) || '!' AS s FROM S WHERE A AS x WITHIN 1.5 ms CONSUME BY PARTITION",
    "SELECT * FROM S WHERE A ; NOT B ; NOT C ; D ;[= 0 s] (E OR F)",
]
TOKEN_NAMES = re.compile(
    r"\b(?:[LR](?:PAR|SQB|BRACE)|SEMICOLON|COLON|QMARK|COMMA|DOT|NAME|QUOTED|INTEGER|DECIMAL|STRING|STAR|PLUS|MINUS|SLASH"
    r"|PERCENT|CONCAT|[LG][ET]|EQ|NE|WS|COMMENT|__\w+|Token|Tree|Lark|lark)\b|\$END"
)


def mutate(text: str, chance: random.Random) -> str:
    """One to three small accidents: of characters, or of tokens."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        tokens = re.findall(r"\w+|\s+|[^\w\s]", text)
        units: list[str] = chance.choice(([*text], tokens))
        at, other = chance.randrange(len(units)), chance.randrange(len(units))
        match chance.randrange(4):
            case 0:
                del units[at]
            case 1:
                units.insert(at, units[at])
            case 2:
                units[at], units[other] = units[other], units[at]
            case 3:
                units[at] = chance.choice(
                    [*"()[]{};:+?*.,'`\"<>=!|&%$#@~\\/-_ \n\t0aé中\0", "FILTER", "NOT", "AS", ".."]
                )
        text = "".join(units) or " "
    return text


MUTATIONS = [mutate(QUERIES[i % len(QUERIES)], random.Random(i)) for i in range(200)]


def error_of(text: str | bytes) -> QueryError | None:
    try:
        ensue.query(text).explain()
    except QueryError as error:
        return error
    return None


def assert_told_clearly(text: str | bytes) -> None:
    error = error_of(text)
    if error is not None:
        assert error.problems
        for problem in error.problems:
            shown = problem.render(error.text).split("\n")
            assert shown[0].startswith("error: ")
            assert re.fullmatch(r"  line \d+, column \d+", shown[1])
            assert re.fullmatch(r"\s+\^+", shown[3])
            assert len(shown) == 4 + (problem.hint is not None)
            # What the message quotes is the user's own text; only our words are looked at.
            own = re.sub(r"'.*'", "''", problem.message) + " " + re.sub(r"'[^']*'|`[^`]*`", "", problem.hint or "")
            assert not TOKEN_NAMES.search(own), own
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("text", QUERIES)
def test_the_originals_are_queries(text):
    assert ensue.query(text).text == text


@pytest.mark.parametrize("number", range(len(MUTATIONS)))
def test_mutation(number):
    assert_told_clearly(MUTATIONS[number])


def test_mutations_differ_and_most_are_wrong():
    assert len(set(MUTATIONS)) > 180
    assert sum(error_of(text) is not None for text in MUTATIONS) > 100


@pytest.mark.parametrize("text", QUERIES)
def test_every_beginning(text):
    for end in range(0, len(text), 3):
        assert_told_clearly(text[:end])


# ---------------------------------------------------------------- depth and size

MANY = 10_000
TOO_DEEP = {
    "parentheses": "SELECT * FROM S WHERE " + "(" * MANY + "A" + ")" * MANY,
    "parentheses never closed": "SELECT * FROM S WHERE " + "(" * MANY,
    "selectors": "SELECT * FROM S WHERE " + "STRICT(" * MANY + "A" + ")" * MANY,
    "projections": "SELECT * FROM S WHERE " + "PROJECT A (" * MANY + "A" + ")" * MANY,
    "sequence": "SELECT * FROM S WHERE " + " ; ".join(["A"] * MANY),
    "or": "SELECT * FROM S WHERE " + " OR ".join(["A"] * MANY),
    "iterations": "SELECT * FROM S WHERE A" + "+" * MANY,
    "names": "SELECT * FROM S WHERE A" + " AS x" * MANY,
    "filters": "SELECT * FROM S WHERE A AS x" + " FILTER x.v > 1" * MANY,
    "not": "SELECT * FROM S WHERE A AS x FILTER " + "NOT " * MANY + "x.v > 1",
    "minus": "SELECT * FROM S WHERE A AS x FILTER x.v > " + "- " * MANY + "1",
    "parentheses in an expression": "SELECT * FROM S WHERE A AS x FILTER " + "(" * MANY + "x.v > 1" + ")" * MANY,
    "and": "SELECT * FROM S WHERE A AS x FILTER " + " AND ".join(["x.v > 1"] * MANY),
    "calls": "SELECT " + "abs(" * MANY + "x.v" + ")" * MANY + " AS v FROM S WHERE A AS x",
    "brackets": "SELECT * FROM S WHERE A AS x FILTER " + "x[" * MANY,
}


@pytest.mark.parametrize("kind", TOO_DEEP)
def test_too_deep(kind):
    began = time.perf_counter()
    with pytest.raises(QueryError, match=r"^error: the query nests more than 200 deep here\n  line 1, column \d+\n"):
        ensue.query(TOO_DEEP[kind])
    assert time.perf_counter() - began < 10


DEEP = 180
DEEP_ENOUGH = {
    "parentheses": "(" * DEEP + "A" + ")" * DEEP,
    "selectors": "STRICT(" * DEEP + "A" + ")" * DEEP,
    "sequence": "A" + " ; A" * DEEP,
    "optional": "A? ; " * DEEP + "A",
    "or": "A" + " OR A" * DEEP,
    "unless": "A" + " UNLESS B" * DEEP,
    "not between": "A" + " ; NOT B ; A" * DEEP,
    "names": "A" + " AS x" * DEEP,
    "filters": "A AS x" + " FILTER x.v > 1" * DEEP,
    "not": "A AS x FILTER " + "NOT " * DEEP + "x.v > 1",
    "and": "A AS x FILTER " + " AND ".join(["x.v > 1"] * DEEP),
}


@pytest.fixture
def in_time():
    """Fails after a minute of computing what would otherwise hang the whole run; others may compute beside it."""

    def stop(*_):
        raise TimeoutError("took more than a minute")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("kind", DEEP_ENOUGH)
def test_what_nests_less_deep_runs(kind):
    query = ensue.query(f"SELECT * FROM S WHERE {DEEP_ENOUGH[kind]}")
    assert ensue.query(str(query)) == query
    assert "variables" in query.explain()
    query.run([{"time": i, "type": "A", "v": 2} for i in range(3)])


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * FROM S WHERE A AS x FILTER x.v IN ({', '.join(map(str, range(MANY)))})",
        f"SELECT {', '.join(f'x.a{i}' for i in range(2000))} FROM S WHERE A AS x",
        f"SELECT * FROM S WHERE A /*{'*' * MANY}*/ -- {'-' * MANY}",
        f"SELECT * FROM S WHERE A AS x FILTER x.s = '{chr(39) * 2 * MANY}'",
        f"SELECT * FROM S WHERE {'a' * MANY}",
    ],
    ids=["numbers", "items", "comment", "string", "name"],
)
def test_long_but_flat_is_fine(text):
    query = ensue.query(text)
    assert ensue.query(str(query)) == query


@pytest.mark.parametrize("digits", [20, 5_000, 100_000])
@pytest.mark.parametrize(
    "form",
    ["A{%s}", "A{1,%s}", "A LIMIT %s", "A WITHIN %s EVENTS", "A WITHIN %s s", "A FILTER A.v > %s", "A ;[> %s.5 s] B"],
)
def test_huge_numbers(form, digits):
    assert_told_clearly("SELECT * FROM S WHERE " + form % ("9" * digits))
    with pytest.raises(QueryError):
        ensue.query("SELECT * FROM S WHERE " + form % ("9" * digits))


@pytest.mark.parametrize(
    "number", ["1e99", "1e-99", "1e999999999", "1e-999999999", "1e99999999999999999999", "0e999999999"]
)
def test_exponents_of_durations(number):
    with pytest.raises(QueryError, match="a duration has at most 19 digits"):
        ensue.query(f"SELECT * FROM S WHERE A WITHIN {number} s")


def test_leading_zeros_are_no_digits():
    assert str(ensue.query(f"SELECT * FROM S WHERE A LIMIT {'0' * 5000}7")).endswith("LIMIT 7")


# ---------------------------------------------------------------- not a query, not text


@pytest.mark.parametrize("text", ["", " ", "\n\t\r\n", "\N{NO-BREAK SPACE}", "-- nothing", "/* nothing */", ";", "\0"])
def test_nothing(text):
    assert_told_clearly(text)
    with pytest.raises(QueryError):
        ensue.query(text)


@pytest.mark.parametrize("parse", [parse_pattern, parse_expression, parse_interval])
def test_nothing_as_a_part(parse):
    with pytest.raises(QueryError, match=r"^error: the (pattern|expression|interval) is empty\n"):
        parse("  ")


def test_bytes():
    assert ensue.query(b"SELECT * FROM S WHERE A") == ensue.query("SELECT * FROM S WHERE A")
    assert ensue.query("SELECT * FROM S WHERE Größe".encode()).ast.pattern == ast.Type("Größe")


def test_bytes_that_are_not_utf_8():
    with pytest.raises(QueryError) as error:
        ensue.query("SELECT *\nFROM S WHERE Größe".encode("latin-1"))
    assert str(error.value) == (
        "error: the text is not UTF-8: byte 0xf6 at offset 24\n"
        "  line 2, column 16\n"
        "    FROM S WHERE Gr\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}e\n"
        "                   ^\n"
        "  hint: save the file as UTF-8"
    )
    assert_told_clearly(b"\xff\xfe\x00")


def test_utf_16():
    assert_told_clearly("SELECT * FROM S WHERE A".encode("utf-16"))


def test_lone_surrogates():
    with pytest.raises(QueryError) as error:
        ensue.query("SELECT * FROM S WHERE A\udcff")
    message = str(error.value)
    assert message.startswith("error: the text is not valid Unicode: a lone surrogate U+DCFF\n  line 1, column 24\n")
    message.encode("utf-8")


def test_a_byte_order_mark_is_told():
    assert_told_clearly("\ufeffSELECT * FROM S WHERE A")
