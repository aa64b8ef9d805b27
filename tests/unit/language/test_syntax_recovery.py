"""Several syntax errors at once: a part of a query that is right is never told to be wrong."""

import tomllib
from pathlib import Path
from random import Random

import pytest
from amounts import shares
from strategies import random_query

import ensue
from ensue.language import parser, syntax_recovery
from ensue.language.printer import print_query

CORPUS = Path(__file__).parents[2] / "corpus"
QUERIES = [case["query"] for file in sorted(CORPUS.glob("*.toml")) for case in tomllib.loads(file.read_text())["case"]]


def parts_that_are_wrong(text):
    """Each part of a text that can be parsed, read on its own, as it would be behind an error."""
    lark = parser._lark("query_text")
    tokens = syntax_recovery._tokens(lark, text)
    parts = list(syntax_recovery._parts(tokens))
    assert [part.first for part in parts[1:]] == [part.after for part in parts[:-1]]
    wrong = []
    for part in parts:
        try:
            syntax_recovery._fed(lark, text, "query_text", part.before, tokens, part.first, part.after)
        except syntax_recovery._Wrong as e:
            wrong.append(e.problem)
    return wrong


def test_no_part_of_a_query_of_the_corpus_is_wrong():
    assert len(QUERIES) > 300
    for text in QUERIES:
        assert not parts_that_are_wrong(text), text


@pytest.mark.parametrize("seeds", shares(500, each=250))
def test_no_part_of_a_random_query_is_wrong(seeds):
    for seed in seeds:
        text = print_query(random_query(Random(seed)))
        assert not parts_that_are_wrong(text), text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x.v FROM S WHERE NOT B WITHIN 5 s ; A AS x ; NOT C ; NOT D WITHIN 5 s WITHIN 3 EVENTS FILTER x.v = 1",
        "SELECT x.v FROM S WHERE A AS x FILTER x.v BETWEEN 1 AND 3 AND x.w > 1 AND NOT x.w NOT BETWEEN 2 AND x.v",
        "SELECT CASE WHEN x.v > 1 AND x.w > 2 THEN 1 ELSE 2 END AS c, extract(hour FROM x.t) AS h FROM S WHERE A AS x",
        "SELECT x.filter, x.from FROM `from` WHERE A AS x : B AS y ->[<= 1 s] C CONSUME BY PARTITION LIMIT 1",
        "SELECT NEXT max(x.v) AS m FROM S, T WHERE (A AS x)+ ; (B WITHIN 5 s) FILTER x[v = 1 AND w = 2] WITHIN 5 s",
    ],
)
def test_no_part_of_a_query_with_many_words_is_wrong(text):
    ensue.query(text)
    assert not parts_that_are_wrong(text)


def test_only_so_many_problems_are_told():
    with pytest.raises(ensue.QueryError) as error:
        ensue.query("SELECT * FROM S WHERE A FILTER " + " AND ".join(["x.v == 1"] * 50))
    assert len(error.value.problems) == syntax_recovery.MOST


def test_a_text_of_signs_is_answered_at_once():
    with pytest.raises(ensue.QueryError) as error:
        ensue.query("SELECT * FROM S WHERE " + "#@" * 100_000)
    assert len(error.value.problems) == 1
