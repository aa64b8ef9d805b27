"""`Query.why`: what each step lost and to what, by hand, and over the corpus against the matches themselves."""

from dataclasses import replace

import pytest
from command_line import run_here
from corpus_cases import CORPUS

import ensue
from ensue.api import Query
from ensue.errors import EnsueError
from ensue.language import ast
from ensue.language.parser import parse_query
from ensue.language.printer import print_pattern, print_query
from ensue.why.lifting import lifted
from ensue.why.pattern_steps import length, prefix, steps_of

ROWS = [
    {"time": 0, "type": "smoke", "room": "kitchen", "level": 20},
    {"time": 4, "type": "heat", "room": "kitchen", "level": 35},
    {"time": 12, "type": "heat", "room": "kitchen", "level": 70},
    {"time": 14, "type": "heat", "room": "attic", "level": 80},
    {"time": 20, "type": "repair", "room": "attic", "level": 80},
]


def why(pattern, select="SELECT *"):
    return ensue.query(f"{select} FROM S WHERE {pattern}").why(ROWS, unit="s")


#: A pattern, how many partial matches reach each step, what ends them at the first step that none reaches or else at
#: the last, and what is said of the nearest miss.
CASES = {
    "window": (
        "smoke AS s ; heat AS h FILTER h.level > 40 PARTITION BY room WITHIN 5 s",
        [1, 0],
        [("window", "WITHIN 5 s", 1), ("filter", "h.level > 40", 1)],
        "it takes 12 s",
    ),
    "window of events": (
        "smoke AS s ; repair AS r WITHIN 3 EVENTS",
        [1, 0],
        [("window", "WITHIN 3 EVENTS", 1)],
        "it spans 5 events",
    ),
    "filter": (
        "smoke AS s ; heat AS h ; heat AS g FILTER g.level < h.level",
        [1, 3, 0],
        [("filter", "g.level < h.level", 3)],
        "80 < 70 is not TRUE",
    ),
    "gap": ("smoke AS s ;[<= 2 s] heat AS h", [1, 0], [("gap", "[<= 2 s]", 3)], "4 s lie between"),
    "least gap": (
        "heat AS h ;[>= 17 s] repair AS r",
        [3, 0],
        [("gap", "[>= 17 s]", 3)],
        "16 s lie between",
    ),
    "order": (
        "repair AS r ; heat AS h",
        [1, 0],
        [("order", "after the step before", 3)],
        "it came before, by 6 s",
    ),
    "directly after": (
        "smoke AS s : repair AS r",
        [1, 0],
        [("order", "directly after the step before", 1)],
        "another event came between",
    ),
    "the next one": (
        "smoke AS s -> (heat AS h FILTER h.level > 30) : repair",
        [1, 1, 0],
        [("order", "directly after the step before", 1)],
        "another event came between",
    ),
    "partition": (
        "smoke AS s ; heat AS h FILTER h.level > 75 PARTITION BY room",
        [1, 0],
        [("partition", "PARTITION BY room", 1), ("filter", "h.level > 75", 2)],
        "70 > 75 is not TRUE",
    ),
    "absence between": (
        "smoke AS s ; NOT heat ; repair AS r",
        [1, 0],
        [("absence", "NOT heat", 1)],
        "there is heat: (time=4, type=heat, room=kitchen, level=35)",
    ),
    "absence inside": (
        "(smoke AS s ; repair AS r) UNLESS (heat AS h FILTER h.level > 75)",
        [1, 0],
        [("absence", "UNLESS heat AS h FILTER h.level > 75", 1)],
        "there is heat AS h FILTER h.level > 75: (time=14, type=heat, room=attic, level=80)",
    ),
    "absence before": (
        "NOT smoke WITHIN 20 s ; heat AS h FILTER h.level > 50",
        [0],
        [("absence", "NOT smoke WITHIN 20 s", 2)],
        "there is smoke: (time=0, type=smoke, room=kitchen, level=20)",
    ),
    "absence after": (
        "heat AS h ; NOT repair WITHIN 16 s",
        [0],
        [("absence", "NOT repair WITHIN 16 s", 3)],
        "there is repair: (time=20, type=repair, room=attic, level=80)",
    ),
    "selector inside": (
        "MAX(smoke ; heat+ ; repair AS r) FILTER r.level = 80",
        [1, 7, 1],
        [("selector", "MAX", 6)],
        "another match that ends at the same event is preferred",
    ),
    "rounds": ("smoke ; (heat AS h){4}", [1, 3, 3, 1, 0], [], None),
    "optional": ("heat? ; smoke ; repair ; smoke", [3, 1, 1, 0], [], None),
    "two together": (
        "smoke AS s ; heat AS h FILTER h.level > 75 PARTITION BY room WITHIN 3 s",
        [1, 0],
        [("window", "WITHIN 3 s, and h.level > 75", 2)],
        "it takes 4 s",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_by_hand(name):
    pattern, reached, ended, said = CASES[name]
    found = why(pattern)
    assert [s.reached for s in found.steps] == reached
    front = next((s for s in found.steps if not s.reached), found.steps[-1])
    assert sorted((e.kind, e.text, e.count) for e in front.ended) == sorted(ended)
    assert said is None or found.near_misses[0].said == said
    assert found.matches == reached[-1]


def test_events_are_counted_by_type_and_by_their_own_conditions():
    found = why("smoke AS s ; (heat AS h)+ FILTER h.level > 40 AND h.level > s.level AND s.level IS NULL")
    assert [(s.text, s.events, s.passed) for s in found.steps] == [("smoke AS s", 1, 0), ("(heat AS h)+", 3, 2)]


def test_near_misses_have_the_events():
    miss = why("smoke AS s ; heat AS h WITHIN 3 s").near_misses[0]
    assert miss.events == {"s": [ROWS[0]], "h": [ROWS[1]]}
    assert (miss.kind, miss.constraint, miss.said) == ("window", "WITHIN 3 s", "it takes 4 s")


def test_a_query_s_selector_ends_matches():
    found = why("smoke ; heat+ ; repair", "SELECT NEXT *")
    assert found.matches == 1
    assert [(e.kind, e.text, e.count) for e in found.steps[-1].ended] == [("selector", "SELECT NEXT", 6)]


def test_alternatives_are_told_one_by_one():
    found = why("(smoke AS s ; smok AS h) OR (heat ; smoke)")
    assert [b.text for b in found.branches] == ["smoke AS s ; smok AS h", "heat ; smoke"]
    assert [[s.reached for s in b.steps] for b in found.branches] == [[1, 0], [3, 0]]
    assert found.notes == ("no event has the type 'smok': did you mean 'smoke'?",)


def test_a_type_that_is_a_value_of_another_column():
    rows = [{"time": 1, "kind": "smoke", "room": "attic"}]
    found = ensue.query("SELECT * FROM S WHERE smoke AS s").why(rows, unit="s")
    told = "no event has the type 'smoke': the column 'kind' has this value, is it the one of the types?"
    assert found.notes == (told,)


def test_what_can_never_match_is_told():
    assert why("smoke AS s FILTER s.level = NULL").notes[0].startswith("warning: this query never matches")


def test_no_such_events():
    found = why("no ; nothing")
    assert [s.reached for s in found.steps] == [0, 0]
    assert "there is no such event" in str(found)


def test_what_run_refuses_is_refused():
    with pytest.raises(ensue.DataError, match="say its unit"):
        ensue.query("SELECT * FROM S WHERE smoke ; heat WITHIN 3 s").why(ROWS)
    with pytest.raises(ensue.QueryError, match="unknown attribute"):
        ensue.query("SELECT * FROM S WHERE smoke AS s FILTER s.lvl > 3").why(ROWS, unit="s")


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text("SELECT * FROM S WHERE smoke AS s ; heat AS h WITHIN 3 s")
    (tmp_path / "events.jsonl").write_text('{"time": 0, "type": "smoke"}\n{"time": 9, "type": "heat"}\n')
    done = run_here("why", "q.sql", "-i", "events.jsonl", "--unit", "s")
    assert (done.code, done.err) == (0, b"")
    assert "window WITHIN 3 s: it takes 9 s" in done.out.decode()


# ---------------------------------------------------------------- over the corpus


@pytest.mark.parametrize("case", CORPUS[::7], ids=lambda c: c.name)
def test_the_last_step_is_reached_by_all_matches(case):
    """What is said of the last step is what `run` finds of the same query with all its variables."""
    query = parse_query(case.text)
    whole = replace(query, items=None, order=(), limit=None, per=ast.Per.RESULT, consume=ast.Consume.NONE)
    try:
        found = Query(print_query(whole), whole).run(case.table, **case.options, engine="reference")
    except EnsueError:  # refused before and after
        return
    told = Query(print_query(whole), whole).why(case.table, **case.options, engine="reference")
    assert told.matches == len(found)
    if len(told.branches) == 1:
        assert told.steps[-1].reached == len(found)
    assert all(e.count > 0 for s in told.steps for e in s.ended)
    assert str(told)


#: By their texts, which need not be texts of patterns: UNTIL stands in the clause WINDOW only.
PATTERNS = {print_pattern(p): p for p in (parse_query(c.text).pattern for c in CORPUS)}


def test_steps_and_prefixes_of_the_corpus():
    """Each prefix is a pattern of so many steps that can be read again."""
    asked = 0
    for p in PATTERNS.values():
        assert len(steps_of(p)) == length(p)
        for count in range(1, length(p) + 1):
            assert print_pattern(prefix(p, count))
            for found in lifted(prefix(p, count)):
                assert found.pattern != prefix(p, count)
                asked += 1
    assert asked > len(PATTERNS)
