"""Parameters: whatever literal of a query is handed over instead, the query is the same; errors name the parameter."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from amounts import most, shares
from parameterising import with_parameters
from strategies import random_query
from syntax import random_syntax_query

import ensue
from ensue.data.events import read_events
from ensue.errors import EngineError, QueryError
from ensue.language import ast
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.results.running_query import RunningQuery


@pytest.mark.quick
@pytest.mark.parametrize("seeds", shares(600, each=300))
def test_every_literal_can_be_a_parameter(seeds: range) -> None:
    replaced = 0
    for seed in seeds:
        rng = Random(f"parameters {seed}")
        text = print_query(rng.choice((random_query, random_syntax_query))(rng))
        written, values = with_parameters(text, rng)
        try:
            wanted = parse_query(text)
        except QueryError:  # of any syntax, some numbers are too long
            continue
        assert parse_query(written, values) == wanted, (seed, text, written)
        replaced += len(values)
    assert replaced > most(seeds, 2)


TIME = datetime.datetime(2024, 1, 31, 12, 30, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (3, "3"),
        (-3, "-3"),
        (np.int16(-3), "-3"),
        (True, "TRUE"),
        (np.bool_(False), "FALSE"),
        (None, "NULL"),
        (0.25, "0.25"),
        (np.float32(0.5), "0.5"),
        (-1e300, "-1e300"),
        (2.0, "2.0"),
        (Decimal("-1.10"), "-1.10"),
        (Decimal(7), "7.0"),
        (math.inf, "CAST('inf' AS float)"),
        ("it's", "'it''s'"),
        (np.str_("$a -- 'b"), "'$a -- ''b'"),
        (TIME, "timestamp('2024-01-31 12:30:00+00:00')"),
        (datetime.date(2024, 1, 31), "timestamp('2024-01-31')"),
        (pd.Timestamp("2024-01-31 00:00:00.000000001"), "timestamp('2024-01-31 00:00:00.000000001')"),
        (datetime.timedelta(minutes=90), "90 min"),
        (datetime.timedelta(0), "0 s"),
        (-datetime.timedelta(seconds=1.5), "-(1500 ms)"),
        (pd.Timedelta(3, "ns"), "3 ns"),
    ],
)
def test_the_type_is_that_of_the_value(value: Any, literal: str) -> None:
    text = "SELECT x FROM S WHERE A AS x FILTER x.v = {}"
    found = parse_query(text.format("$value"), {"value": value})
    assert found == parse_query(text.format(literal))
    assert print_query(found) == print_query(parse_query(text.format(literal)))


@pytest.mark.parametrize(
    ("written", "values", "meant"),
    [
        ("x.v IN $some", {"some": [1, 2]}, "x.v IN (1, 2)"),
        ("x.v NOT IN $some", {"some": ("a", None)}, "x.v NOT IN ('a', NULL)"),
        ("x.v IN ($some)", {"some": {2, 1}}, "x.v IN (1, 2)"),
        ("x.v IN (0, $some, $one)", {"some": np.array([1.5]), "one": -4}, "x.v IN (0, 1.5, -4)"),
        ("x.v IN $one", {"one": 4}, "x.v IN (4)"),
    ],
)
def test_lists_stand_behind_in(written: str, values: dict[str, Any], meant: str) -> None:
    text = "SELECT x FROM S WHERE A AS x FILTER {}"
    assert parse_query(text.format(written), values) == parse_query(text.format(meant))


def test_in_every_place() -> None:
    text = (
        "SELECT x.v + $more AS w FROM S WHERE (A AS x){$a,$b} ;[>= $gap, < $n s] ANY[v IN $vs] ; NOT C WITHIN [< $gap] "
        "FILTER x.t AT TIME ZONE $zone > $now AND PREV(x.v, $k) IS NULL WITHIN $n EVENTS LIMIT $n -- $comment '"
    )
    gap = datetime.timedelta(seconds=2)
    values = {"more": 1, "a": 2, "b": 3, "gap": gap, "n": 5, "vs": [1], "zone": "UTC", "now": TIME, "k": 2}
    meant = (
        "SELECT x.v + 1 AS w FROM S WHERE (A AS x){2,3} ;[>= 2 s, < 5 s] ANY[v IN (1)] ; NOT C WITHIN [< 2 s] FILTER "
        "x.t AT TIME ZONE 'UTC' > timestamp('2024-01-31 12:30:00+00:00') AND PREV(x.v, 2) IS NULL WITHIN 5 EVENTS "
        "LIMIT 5"
    )
    assert parse_query(text, values) == parse_query(meant)


MESSAGES: dict[str, tuple[str, dict[str, Any], str]] = {
    "no value": ("x.v > $least", {}, "the parameter $least has no value\nhand it over: params={'least': 3}"),
    "misspelt": ("x.v > $laest", {"least": 3}, "the parameter $laest has no value\ndid you mean 'least'?"),
    "no number": ("x.v > 1 LIMIT $n", {"n": "5"}, "$n, which is '5', cannot stand here: expected a whole number"),
    "negative": ("x.v > 1 LIMIT $n", {"n": -5}, "$n, which is (-5), cannot stand here: expected a whole number"),
    "a name": (
        "x.v > 1 EXPECT ($type)",
        {"type": "A"},
        "$type, which is 'A', cannot stand here: expected a pattern or NOT\n"
        "a parameter stands for a value, and not for a name",
    ),
    "a text as a time": (
        "x.v > 1 WITHIN $d",
        {"d": "5 min"},
        "$d, which is '5 min', cannot stand here: expected a number or '['\n"
        "a time is a timedelta in params, or a number with its unit here: WITHIN $d min",
    ),
    "a list": ("abs($l) > 1", {"l": [1]}, "$l, which is a list, cannot stand here: expected an expression, ')' or '*'"),
    "no list": (
        "x.v IN $l",
        {"l": []},
        "the list $l is empty, and IN takes a value at least\nleave the condition out: nothing is in an empty list",
    ),
    "a list in a list": (
        "x.v IN $l",
        {"l": [[1]]},
        "the parameter $l is of type list: it can be a number, a text, a truth value, a time, or a list",
    ),
    "a fraction": (
        "x.v > $f",
        {"f": object},
        "the parameter $f is of type type: it can be a number, a text, a truth value, a time, or a list",
    ),
    "no time": ("x.v > $t", {"t": pd.NaT}, "the parameter $t is no time: for a missing value, give None"),
    "a time of NumPy": (
        "x.v > $t",
        {"t": np.timedelta64(3, "s")},
        "the parameter $t is a timedelta64 of NumPy: it can be a datetime or a timedelta of Python",
    ),
    "too large": ("x.v > $n", {"n": 2**63}, "the number does not fit 64 bits"),
    "no name": (
        "x.v > $1",
        {},
        "unexpected character '$'\na parameter has a name: write $least, and hand over params={'least': 3}",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_errors_name_the_parameter(name: str) -> None:
    condition, values, told = MESSAGES[name]
    text = f"SELECT x FROM S WHERE A AS x FILTER {condition}"
    with pytest.raises(QueryError) as e:
        ensue.query(text, params=values)
    (problem,) = e.value.problems
    assert "\n".join(t for t in (problem.message, problem.hint) if t) == told
    assert text[problem.span.start] == "$"


def test_every_parameter_without_a_value_is_told_at_once() -> None:
    with pytest.raises(QueryError) as e:
        ensue.query("SELECT x FROM S WHERE A AS x FILTER x.v > $a AND x.w > $b LIMIT $c", params={"b": 1})
    assert [p.message for p in e.value.problems] == [f"the parameter ${n} has no value" for n in "ac"]


def test_later_errors_point_at_the_parameter() -> None:
    text = "SELECT x FROM S WHERE A AS x FILTER x.v > $least FILTER x.v +"
    with pytest.raises(QueryError, match="the text ends too early"):
        ensue.query(text, params={"least": 1})
    with pytest.raises(QueryError) as e:
        ensue.query("SELECT x FROM S WHERE A AS x FILTER length($long) > 1", params={"long": 12345})
    (problem,) = e.value.problems
    assert (problem.span.start, problem.span.end) == (43, 48)


def test_a_value_without_a_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match=r"params: the query has no \$most"):
        ensue.query("SELECT x FROM S WHERE A AS x FILTER x.s = '$most'", params={"most": 3})
    made = ensue.query("SELECT * FROM S WHERE A")
    with pytest.raises(TypeError, match=r"give them to ensue\.query"):
        ensue.match([{"time": 1, "type": "A"}], made, params={"least": 3})


@pytest.mark.parametrize("engine", ["automaton", "reference"])
def test_it_runs_with_its_values(engine: str) -> None:
    events = [{"time": k, "type": "A", "v": k} for k in range(9)]
    text = "SELECT x.v FROM S WHERE A AS x FILTER x.v >= $least AND x.v % $by = 0 LIMIT $n"
    for least, by, n, wanted in ((3, 2, 9, [4, 6, 8]), (0, 4, 2, [0, 4]), (8.5, 1, 3, [])):
        found = ensue.match(events, text, params={"least": least, "by": by, "n": n}, unit="s", engine=engine)
        assert [row["x_v"] for row in found] == wanted
    assert str(ensue.query(text, params={"least": 1, "by": 2, "n": 3})).endswith("x.v >= 1 AND x.v % 2 = 0\nLIMIT 3")


def test_a_stream_refuses_the_state_of_other_values() -> None:
    text = "SELECT x.v FROM S WHERE A AS x ; B FILTER x.v > $least WITHIN $time"
    stream = read_events([{"time": 1, "type": "A", "v": 2}], ("S",), unit="s")

    def running(least: float, seconds: int) -> RunningQuery:
        query = ensue.query(text, params={"least": least, "time": datetime.timedelta(seconds=seconds)})
        return RunningQuery(choose(check(query.ast, text, stream.schema)), stream.tick)

    state = running(3, 5).save()
    running(3, 5).load(state)
    for least, seconds in ((4, 5), (3, 6), (3.0, 5)):
        with pytest.raises(EngineError, match="query"):
            running(least, seconds).load(state)


def test_no_node_of_a_parameter_is_left() -> None:
    tree = parse_query("SELECT x FROM S WHERE A AS x FILTER x.v > $a WITHIN $b s", {"a": 1, "b": 2})
    assert not any(isinstance(n, ast.Parameter | ast.WrittenInterval) for n in ast.walk(tree))
