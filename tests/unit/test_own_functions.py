"""Functions of one's own: named in the call or for the program, over Arrow arrays or compiled, in both engines."""

import functools
import subprocess
import sys
from typing import Any

import numba
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ensue
from ensue.data.schema import Schema
from ensue.language.own import digest_of
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.own import registry
from ensue.plan.choice import choose

NO_FUNCTION: Any = 3
A_FUNCTION: Any = abs
EVENTS = pa.table(
    {
        "time": pa.array(range(8)),
        "type": ["A", "B"] * 4,
        "v": [1, 2, None, 4, 5, 6, 7, 0],
        "f": [0.5, float("nan"), None, 1.5, -2.0, 0.0, float("inf"), 3.0],
        "s": ["a", "b", None, "a", "", "c", "a", "b"],
        "t": pa.array([0, 1, 2, 3, None, 5, 6, 7]).cast(pa.timestamp("s", "UTC")),
    }
)


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


def own(fn: Any, takes: Any, returns: Any, **options: Any) -> Any:
    return ensue.function("own", fn, takes=takes, returns=returns, registered=False, **options)


def both(text, **things):
    """The rows, which both engines give."""
    query = ensue.query(text, **things)
    found, expected = (
        query.run(EVENTS, unit="s", engine=engine).to_arrow().to_pylist() for engine in ("automaton", "reference")
    )
    assert str(found) == str(expected)  # as text, for NaN
    return found


def items(text, **things):
    return [row["i"] for row in both(f"SELECT {text} AS i FROM S WHERE ANY AS x", **things)]


def test_over_arrow_arrays_in_items_and_filters():
    twice = own(lambda v: pc.multiply(v, 2), "integer", "integer")
    assert items("own(x.v)", own=twice) == [2, 4, None, 8, 10, 12, 14, 0]
    related = both("SELECT x.v, y.v FROM S WHERE A AS x ; B AS y FILTER own(y.v) = own(x.v) + 2", own=twice)
    assert [(r["x_v"], r["y_v"]) for r in related] == [(1, 2), (5, 6)]
    assert len(both("SELECT x FROM S WHERE A[own(v) > 2] AS x", own=twice)) == 2
    assert [r["n"] for r in both("SELECT sum(own(x.v)) AS n FROM S WHERE A AS x :+", own=twice)][:1] == [2]


def test_names_are_in_any_case_and_builder_queries_take_them():
    twice = own(lambda v: pc.multiply(v, 2), "integer", "integer")
    assert items("OWN(x.v) + 1", Own=twice)[0] == 3
    (x,) = ensue.dsl.variables("x")
    built = ensue.dsl.select(ensue.dsl.call("own", x.v).named("i")).from_("S").matching(ensue.dsl.ANY.named(x))
    assert ensue.query(built, own=twice).run(EVENTS, unit="s").to_arrow().column("i").to_pylist()[1] == 4


def test_a_registered_function_is_known_to_later_queries_and_a_given_one_goes_before_it():
    ensue.function("score", lambda v: pc.add(v, 1), takes=int, returns=int)
    first = ensue.query("SELECT score(x.v) AS i FROM S WHERE ANY AS x")
    ensue.function("score", lambda v: pc.add(v, 10), takes=int, returns=int)  # as when a cell of a notebook runs again
    assert [len({r["i"] for r in first.run(EVENTS, unit="s")}), items("score(x.v)")[0]] == [8, 11]
    assert next(iter(first.run(EVENTS, unit="s")))["i"] == 2
    given = own(lambda v: pc.add(v, 100), int, int)
    assert items("score(x.v)", score=given)[0] == 101


def test_null_is_null_and_is_not_shown_unless_the_function_takes_it():
    shown = []

    def count(v):
        shown.append(v.null_count)
        return pc.is_null(v)

    assert items("own(x.v)", own=own(count, int, bool)) == [False, False, None, *[False] * 5]
    assert set(shown) == {0}
    taking = own(lambda v: pc.is_null(v), int, bool, takes_nulls=True)
    assert items("own(x.v)", own=taking) == [False, False, True, *[False] * 5]
    assert items("own(NULL)", own=taking) == [True] * 8
    assert items("own(NULL)", own=own(count, int, bool)) == [None] * 8


def test_every_type_and_constants():
    assert items("own(x.s, 'a')", own=own(pc.equal, [str, str], bool))[:3] == [True, False, None]
    assert items("own(x.v)", own=own(lambda v: pc.divide(v, 2.0), float, pa.float32()))[:2] == [0.5, 1.0]
    assert items("own(x.f)", own=own(lambda v: v, float, float))[4] == -2.0
    hour = own(lambda t: pc.add(t, pa.scalar(3600, pa.duration("s"))), "timestamptz", "timestamptz")
    assert [str(t) for t in items("own(x.t)", own=hour)[:2]] == [
        "1970-01-01 01:00:00+00:00",
        "1970-01-01 01:00:01+00:00",
    ]
    lists = own(lambda s: pa.array([[v] for v in s.to_pylist()]), str, pa.list_(pa.string()))
    assert items("own(x.s)[1]", own=lists)[:3] == ["a", "b", None]
    assert items("own(x.t - x.t)", own=own(lambda d: d, "duration", "duration"))[0].total_seconds() == 0
    assert items("own(1)", own=own(lambda v: v, int, int)) == [1] * 8


def test_a_dictionary_is_asked_once_for_each_of_its_values():
    asked = []

    def shout(s):
        asked.append(len(s))
        return pc.utf8_upper(s)

    table = EVENTS.set_column(4, "s", EVENTS.column("s").dictionary_encode())
    query = ensue.query("SELECT x FROM S WHERE ANY AS x FILTER own(x.s) = 'A'", own=own(shout, str, str))
    assert len(query.run(table, unit="s", engine="automaton")) == 3
    assert max(asked) <= 5


def test_compiled_by_numba():
    by = own(lambda v, f: v + f * 2, ["integer", "float"], "float", compiled=True)
    assert items("own(x.v, x.f)", own=by)[:1] == [2.0]
    assert items("own(x.v, x.f)", own=by)[6] == float("inf")
    assert items("own(x.v)", own=own(lambda v: 10 // v, int, int, compiled=True)) == [10, 5, None, 2, 2, 1, 1, None]
    assert items("own(x.v)", own=own(numba.njit(lambda v: v > 3), int, bool))[:4] == [False, False, None, True]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ensue.function("sum", abs, takes=int, returns=int), "the language has a function 'sum'"),
        (lambda: ensue.function("filter", abs, takes=int, returns=int), "'filter' is a keyword of the language"),
        (lambda: ensue.function("a b", abs, takes=int, returns=int), "'a b' is no name of a function"),
        (lambda: ensue.function("f", NO_FUNCTION, takes=int, returns=int), "something to call, not int"),
        (lambda: ensue.function("f", abs, takes=[], returns=int), "needs an argument"),
        (lambda: ensue.function("f", abs, takes="flaot", returns=int), "did you mean 'float'"),
        (lambda: ensue.function("f", abs, takes=pa.decimal128(5), returns=int), "not of type decimal128"),
        (
            lambda: ensue.function("f", abs, takes=str, returns=int, compiled=True),
            "numbers and truth values, not of string",
        ),
        (lambda: ensue.function("f", lambda v: v.x, takes=int, returns=int, compiled=True), "Unknown attribute 'x'"),
        (
            lambda: ensue.function("f", abs, takes=int, returns=int, compiled=True, takes_nulls=True),
            "no number is NULL",
        ),
        (lambda: ensue.query("SELECT x FROM S WHERE A AS x", f=A_FUNCTION), "f=: a query takes what ensue.function"),
        (
            lambda: ensue.query("SELECT x FROM S WHERE A AS x", f=own(abs, int, int)),
            "f: the query does not use this name",
        ),
        (
            lambda: ensue.query("SELECT sum(x.v) AS i FROM S WHERE A+ AS x", sum=own(abs, int, int)),
            "has a function 'sum'",
        ),
    ],
)
def test_what_is_refused_when_it_is_made(make, message):
    with pytest.raises((TypeError, ValueError, ensue.EnsueError), match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("own(x.v, 1)", "own takes 1 argument, not 2"),
        ("own(x.s)", "own takes a value of type integer, but x.s is of type string"),
        ("own(x.f)", "own takes a value of type integer, but x.f is of type float"),
        ("owm(x.v)", "did you mean 'own'?"),
    ],
)
def test_what_a_query_is_told(text, message):
    ensue.function("own", lambda v: v, takes=int, returns=int)
    with pytest.raises(ensue.QueryError, match=message.replace("?", r"\?")):
        ensue.query(f"SELECT {text} AS i FROM S WHERE ANY AS x").run(EVENTS, unit="s")


def test_a_time_with_a_zone_is_no_time_without_one():
    with pytest.raises(ensue.QueryError, match=r"takes a value of type timestamp\[us\], but x.t is of type timestamp"):
        items("own(x.t)", own=own(lambda t: t, "timestamp", "timestamp"))


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda v: pa.array([1]), "gave 1 values for 7 rows"),
        (lambda v: 3, "gave int, which is no column of int64"),
        (lambda v: pa.array(["x"] * len(v)), "gave string, which is no column of int64"),
        (lambda v: v.nothing(), "the function 'own' raised AttributeError"),
    ],
)
def test_what_a_function_does_wrong_stops_the_query(fn, message):
    query = ensue.query("SELECT x FROM S WHERE ANY AS x FILTER own(x.v) > 0", own=own(fn, int, int))
    with pytest.raises(ensue.EngineError, match=message):
        query.run(EVENTS, unit="s", engine="automaton")


def made_by(thing):
    text = "SELECT x FROM S WHERE A AS x FILTER own(x.v) > 1"
    tree = registry.bound(parse_query(text), text, {"own": thing})
    return choose(check(tree, text, Schema.of(EVENTS.schema))).made_by(10**9)


def test_a_state_depends_on_what_a_function_does():
    def by(n, **options):
        return made_by(own(lambda v: pc.add(v, n), int, int, **options))

    assert by(1) == by(1)
    assert by(1) != by(2)
    assert by(1, version="1") == by(2, version="1") != by(2, version="2")
    assert by(1) != by(1, takes_nulls=True)
    plain = parse_query("SELECT x FROM S WHERE A AS x")
    assert "functions of one's own" not in choose(check(plain, "", Schema.of(EVENTS.schema))).made_by(1)


def helper(v, names=frozenset(("a", "b", "c"))):
    return v in names or v in {"d", "e", "f"}


@pytest.mark.slow
def test_a_digest_is_the_same_in_every_process():
    made = "functools.partial(helper, names=('a', 1)), [1, pc.add], numba"
    text = f"from test_own_functions import *; print(digest_of({made}))"
    folder = str(__file__).rpartition("/")[0]
    run = functools.partial(subprocess.run, [sys.executable, "-c", text], capture_output=True, text=True, check=True)
    found = {run(env={"PYTHONHASHSEED": str(k), "PYTHONPATH": folder}).stdout for k in (1, 2)}
    assert found == {digest_of(functools.partial(helper, names=("a", 1)), [1, pc.add], numba) + "\n"}
