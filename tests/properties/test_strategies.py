"""The generators keep their promises: what they make is well-formed, and a seed gives the same again."""

from random import Random

import strategies
from amounts import amount
from hypothesis import given, settings
from membership import shown, singles

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.logic.functions import AGGREGATES
from ensue.logic.scope import aggregates_of, bindings, free

SCHEMA = Schema.of(strategies.EVENT_SCHEMA)


@given(strategies.queries())
@settings(max_examples=amount(300))
def test_random_queries_are_well_formed(query):
    check(query, print_query(query), SCHEMA)


@given(strategies.patterns())
@settings(max_examples=amount(300))
def test_random_patterns_are_closed(pattern):
    assert not free(pattern)


@given(strategies.patterns())
@settings(max_examples=amount(300))
def test_the_oracle_and_the_checks_agree_on_scope(pattern):
    for p in ast.find(pattern, ast.Pattern):
        assert bindings(p).keys() == shown(p)
        assert {x for x, single in bindings(p).items() if single} == singles(p)


def test_a_seed_gives_the_same_queries_and_streams_again():
    def made(seed):
        rng = Random(seed)
        return [(strategies.random_query(rng), strategies.random_stream(rng)) for _ in range(50)]

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_random_queries_have_every_operator_and_clause():
    rng = Random(0)
    queries = [strategies.random_query(rng) for _ in range(1000)]
    kinds = {type(node) for query in queries for node in ast.walk(query)}
    # UNTIL stands in windows of a query only, and `random_closed_windows` makes these; MATCHES asks for an automaton.
    assert kinds >= {*ast.Pattern.__subclasses__(), ast.LastOf} - {ast.Until, ast.Matches}
    filters = [f for query in queries for f in ast.find(query.pattern, ast.Filter)]
    assert {a.function for f in filters for a in aggregates_of(f.condition)} == set(AGGREGATES) - {"collect"}
    assert {query.selector for query in queries} == set(ast.Selector)
    assert {query.consume for query in queries} == set(ast.Consume)
    assert {query.limit for query in queries} == {None, 1, 2, 3}
    outer = sum(bool(free(p)) for query in queries for p in ast.find(query.pattern, ast.Filter))
    assert outer > 50, "filters on variables from outside"
