"""Spans, hints and the hierarchy of errors."""

import pickle

import pytest

import ensue
from ensue.errors import Problem, ProblemKind, QueryError, Span, did_you_mean, listed


def test_hierarchy():
    for kind in (ensue.QueryError, ensue.DataError, ensue.EngineError):
        assert issubclass(kind, ensue.EnsueError)
    assert issubclass(ensue.EnsueError, Exception)


@pytest.mark.parametrize("error", [ensue.DataError("no time"), ensue.EngineError("no engine")])
def test_other_errors_pickle(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


def test_problems_are_sorted_by_place():
    problems = [Problem(ProblemKind.NAME, m, Span(at, at + 1)) for m, at in (("second", 5), ("first", 0))]
    assert [p.message for p in QueryError("SELECT z", problems).problems] == ["first", "second"]


def test_spans_join():
    assert Span(3, 5).join(Span(1, 4)) == Span(1, 5)


def test_a_place_over_two_lines_is_shown_on_the_first():
    shown = Problem(ProblemKind.SCOPE, "odd", Span(4, 12)).render("one two\nthree four")
    assert shown == "error: odd\n  line 1, column 5\n    one two\n        ^^^"


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("temprature", ["id", "temperature"], "did you mean 'temperature'?"),
        ("SPEED", ["speed"], "did you mean 'speed'?"),
        ("minut", ["minute", "minutes", "min"], "did you mean 'minute' or 'minutes'?"),
        ("zzz", ["a", "b"], None),
        ("a", [], None),
    ],
)
def test_did_you_mean(name, known, hint):
    assert did_you_mean(name, known) == hint


def test_listed():
    assert listed([]) == ""
    assert listed("abc") == "a, b, c"
    assert listed("abcd", most=2) == "a, b and 2 more"


def test_unknown_engine():
    with pytest.raises(ensue.EngineError, match=r"^unknown engine 'refrence': did you mean 'reference'\?$"):
        ensue.match([{"time": 1}], "SELECT * FROM S WHERE S", engine="refrence")


def test_what_is_wrong_with_the_query_is_told_before_the_data_is_read():
    class Unreadable:
        def __getattribute__(self, name):
            raise AssertionError("the data was touched")

    with pytest.raises(QueryError, match="'x' stands for one event"):
        ensue.match(Unreadable(), "SELECT sum(x.v) AS s FROM S WHERE A AS x")
