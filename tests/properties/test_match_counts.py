"""The bound that `explain` tells for the matches of one end holds for random queries and streams."""

from __future__ import annotations

import dataclasses
from collections import Counter
from random import Random

import pytest
import strategies
from amounts import shares
from running import run

import ensue
from ensue.language import ast
from ensue.language.parser import parse_pattern
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.logic.match_counts import MatchCount, matches_of_one_end
from ensue.logic.outputs import projected


def tightness(seed: int) -> float:
    """Compares the most matches of one end with the bound; gives how much of it they are."""
    rng = Random(seed)
    made = strategies.random_query(rng)
    n = rng.randrange(1, 7)
    pattern = ast.Within(made.pattern, ast.EventCount(n))
    query = dataclasses.replace(made, pattern=pattern, limit=None, consume=ast.Consume.NONE, selector=ast.Selector.ALL)
    checked = check(query, print_query(query))
    bound = matches_of_one_end(query.pattern, projected(checked.outputs), n).most
    assert bound is not None
    found = run(query, strategies.random_stream(rng, 9), "reference")
    most = max(Counter(found.end.tolist()).values(), default=0)
    assert most <= bound, (seed, print_query(query))
    return most / bound if bound else 1.0


@pytest.mark.parametrize("seeds", shares(600, each=300))
def test_no_stream_has_more_matches_at_one_end(seeds):
    found = [tightness(seed) for seed in seeds]
    assert max(found) == 1.0


@pytest.mark.parametrize(
    ("pattern", "shown", "most", "degree"),
    [
        ("A", "A", 1, 0),
        ("A ; B", "AB", 9, 1),
        ("A : B", "AB", 1, 0),
        ("A ; B ; C", "ABC", 36, 2),
        ("A ; B ; C", "C", 8, 1),  # where it starts
        ("A+", "A", 512, None),
        ("A+", "", 10, 1),
        ("A:+", "A", 10, 1),
        ("A->+", "A", 10, 1),
        ("(A : B):+", "AB", 5, 1),
        ("(A ; B):+", "AB", 88, None),
        ("A{3}", "A", 36, 2),
        ("A ; B? ; C", "ABC", 45, 2),
        ("A ALL B", "AB", 22, 1),
        ("STRICT(A+ ; B)", "AB", 9, 1),
        ("(A AS x OR B AS y)+", "xy", 512, None),
        ("SPAN(A+) AS w", "w", 10, 1),
    ],
)
def test_counts(pattern, shown, most, degree):
    names = list(shown)
    assert matches_of_one_end(parse_pattern(pattern), names, 10) == MatchCount(most, degree)
    assert matches_of_one_end(parse_pattern(pattern), names, None) == MatchCount(None, degree)


def told(text: str) -> list[str]:
    """The lines from `matches` to the end of the section."""
    before, matches, after = ensue.query(text).explain().partition("\n  matches ")
    assert before
    lines = f"{matches}{after}".partition("\nformula")[0].splitlines()
    return [line.strip() for line in lines if line.strip()]


def test_explain_tells_it():
    assert told("SELECT x FROM S WHERE (A AS x)+ WITHIN 60 EVENTS") == [
        "matches       of one end: up to about 10^17, with the 60 events of the window",
        "bounded by    a window tighter than WITHIN 60 EVENTS",
        "LIMIT 10 PER END, for at most ten matches at each end",
        "SELECT NEXT, LAST or MAX, for the best match at each end",
        "Query.detect, for the events that end a match and took part in one, without the matches",
        "AGGREGATE count(*) AS n instead of SELECT, for their number, sums and extremes",
        "Query.sample, for some of them, drawn at random",
    ]
    assert told("SELECT * FROM S WHERE A+ PARTITION BY k")[0] == (
        "matches       of one end: they may double with each event of a partition"
    )
    assert told("SELECT * FROM S WHERE A ; B ; C WITHIN 1 h") == [
        "matches       of one end: they may grow like n^2 with the n events in the window"
    ]
    assert told("SELECT * FROM S WHERE A ; B ; C WITHIN 50 EVENTS")[0] == (
        "matches       of one end: up to 1,176, with the 50 events of the window"
    )


@pytest.mark.parametrize("text", ["A ; B", "A:+", "A+ LIMIT 1 PER END", "A{9} WITHIN 9 EVENTS"])
def test_nothing_is_told_where_there_are_few(text):
    assert told(f"SELECT * FROM S WHERE {text}") == []
    assert told("SELECT NEXT * FROM S WHERE A+") == []
