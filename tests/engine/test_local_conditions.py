"""Boolean combinations of conditions on single events: checked at each event, with the reference's matches."""

import re
from collections import Counter
from random import Random

import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_in_pieces, run_plan
from strategies import Event, events_table

import ensue
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.language.parser import parse_pattern, parse_query
from ensue.logic.check import check
from ensue.logic.local_conditions import local_conditions
from ensue.logic.scope import named_twice
from ensue.rewrite import rewrite_pattern
from ensue.rewrite.split_cases import conditions_on_outer_events, split_cases

#: A pattern, and the names that a filter around it can use.
WHOLE = [
    ("A AS x ; B AS y", "xy"),
    ("A AS x ; (B AS y)+", "xy"),
    ("(A AS x)+ ; B AS y ; A AS z", "xyz"),
    ("A AS x ; (B AS y OR C AS z)", "xyz"),
    ("A AS x ALL B AS y", "xy"),
    ("A AS x ; (B AS y)? ; C AS z", "xyz"),
]
#: Patterns with a place for a condition in a choice, and the names that it can use: `x` is bound outside.
INSIDE = [
    ("A AS x ; ((A AS y FILTER {0}) OR (B AS y FILTER {1}))", "xxy"),
    ("A AS x ; (B AS y FILTER {0})", "xy"),
    ("A AS x ; ((A FILTER {0}) OR (B AS y FILTER {1}))+ ; C", "x"),
    ("((A FILTER {0}) OR B) ALL A AS x", "x"),
    ("A AS x ; (B AS y FILTER {0})? ; C", "xy"),
    ("A AS x ; ((B AS y FILTER {0}) UNLESS (C FILTER {1}))", "x"),
    ("A AS x ; B ; NOT (C FILTER {0}) ; A", "x"),
    ("(A AS x ; ((A AS y FILTER {0}) OR (B AS y FILTER {1})))+", "xy"),
]


def condition(rng: Random, names: str, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.2:
        return f"{rng.choice(names)}.{rng.choice('vk')} {rng.choice(['<', '>', '=', '>='])} {rng.randrange(3)}"
    left, right = condition(rng, names, depth - 1), condition(rng, names, depth - 1)
    joined = f"({left} {rng.choice(['AND', 'OR', 'OR'])} {right})"
    return f"NOT {joined}" if rng.random() < 0.3 else joined


def compare(seed: int) -> str:
    rng = Random(seed)
    if rng.random() < 0.5:
        pattern, names = rng.choice(WHOLE)
        pattern = f"({pattern}) FILTER {condition(rng, names, rng.choice([1, 2, 3]))}"
        if rng.random() < 0.3:
            pattern = f"({pattern})+"
    else:
        shape, names = rng.choice(INSIDE)
        pattern = shape.format(*(condition(rng, names, rng.choice([0, 1, 2])) for _ in range(2)))
    selector = rng.choice(["", "", "", "NEXT ", "MAX "])
    text = f"SELECT {selector}* FROM S WHERE {pattern}{rng.choice(['', ' WITHIN 4 EVENTS', ' CONSUME BY PARTITION'])}"
    events: list[Event] = [
        {"time": t, "type": rng.choice("AABBC"), "v": rng.choice([0, 1, 2, None]), "k": rng.randrange(3)}
        for t in range(rng.randrange(3, 9))
    ]
    query = parse_query(text)
    stream = read_events(events_table(events), query.streams, unit="s")
    checked = check(query, text, stream.schema)
    plan = plan_of(checked)
    if plan is None:
        return "refused"
    wanted = found_events(reference.evaluate(checked, stream))
    found = run_in_pieces(plan, stream, rng)
    assert Counter(found) == Counter(wanted), (seed, text, events)
    assert found_events(run_plan(plan, stream)) == found
    return "compared" if wanted else "without a match"


@pytest.mark.parametrize("seeds", shares(200, each=100))
def test_random_combinations(seeds):
    assert Counter(map(compare, seeds))["compared"] > most(seeds, 0.4)


# ---------------------------------------------------------------- what becomes of a formula


def explained(pattern: str) -> dict[str, str]:
    shown = ensue.query(f"SELECT * FROM S WHERE {pattern} WITHIN 9 EVENTS").explain()
    return {m[1]: m[2] for m in re.finditer(r"^  (\S+(?: \S+)?) {2,}(.*)$", shown, re.MULTILINE)}


@pytest.mark.parametrize(
    "pattern",
    [
        "T AS x ; H AS y FILTER x.v > 998 OR y.v < 1",
        "T AS x ; ((T AS y FILTER x.temp >= 40) OR (H AS y FILTER x.temp < 40))",  # the thesis's sixth formula
        "(T AS x ; H AS y FILTER x.v > 3 OR NOT (y.v < 1 AND x.w = 2))+ ; B AS z",
        "T AS x ; (H AS y)+ FILTER x.v > 998 OR y.v < 1",
    ],
)
def test_no_value_is_kept_and_nothing_is_judged_late(pattern):
    lines = explained(pattern)
    assert lines["engine"] == "automaton: constant time per event, plus the size of the matches"
    assert "related" not in lines["filters"]
    assert "judged" not in lines


def test_beyond_the_limit_explain_says_so():
    chosen = " AND ".join(f"(x.a{k} > 1 OR y.b{k} > 2)" for k in range(5))
    lines = explained(f"A AS x ; B AS y FILTER {chosen}")
    assert lines["local"].count("OR") == 3  # 27 times larger
    assert lines["not local"].endswith("with it the automaton could be more than 64 times larger")
    asked = " OR ".join(f"(B FILTER x.a{k} > 1)" for k in range(5))
    lines = explained(f"A AS x ; ({asked})")
    assert lines["not local"] == "5 conditions on earlier events inside of choices: each can double the pattern"


def test_cases_are_made_of_what_a_choice_asks_of_an_earlier_event():
    p = parse_pattern("A AS x ; ((A AS y FILTER x.v > 1 AND y.v < x.v) OR B AS y)")
    assert len(conditions_on_outer_events(p)) == 1
    assert not conditions_on_outer_events(rewrite_pattern(split_cases(p)))
    assert not conditions_on_outer_events(parse_pattern("A AS x ; NOT (B FILTER x.v > 1) ; C"))
    assert split_cases(parse_pattern("A AS x ; B AS y")) == parse_pattern("A AS x ; B AS y")


def test_local_conditions_are_those_of_single_events():
    p = parse_pattern("A AS x ; B AS y FILTER (x.v > 1 OR y.v > 2) AND (x.v > y.v OR x.v = 1) AND x.v > 3")
    assert len(local_conditions(p)) == 1


def test_a_formula_is_safe_if_no_name_stands_on_both_sides():
    for text, twice in [
        ("A AS x ; B AS y", []),
        ("A AS x ; B AS x", ["x"]),
        ("(A AS x)+ ; B AS x", []),
        ("(A AS x OR B AS x) ; C", []),
        ("(A AS x ALL B AS x) ; A", ["x"]),
        ("A AS x ; NOT (B AS x) ; C", []),
    ]:
        assert named_twice(parse_pattern(text)) == twice, text
