"""`parse(print(q)) == q`, for everything that can be written and for the queries that mean something."""

import strategies
import syntax
from amounts import amount
from hypothesis import given, note, settings

from ensue.language.parser import parse_expression, parse_interval, parse_pattern, parse_query
from ensue.language.printer import print_expression, print_interval, print_pattern, print_query


def assert_round_trip(node, print_, parse):
    text = print_(node)
    note(text)
    assert parse(text) == node
    assert print_(parse(text)) == text


@given(syntax.syntax_queries)
@settings(max_examples=amount(500))
def test_every_query_is_read_as_it_is_printed(query):
    assert_round_trip(query, print_query, parse_query)


@given(syntax.syntax_patterns)
@settings(max_examples=amount(500))
def test_every_pattern_is_read_as_it_is_printed(pattern):
    assert_round_trip(pattern, print_pattern, parse_pattern)


@given(syntax.expressions)
@settings(max_examples=amount(500))
def test_every_expression_is_read_as_it_is_printed(expression):
    assert_round_trip(expression, print_expression, parse_expression)


@given(syntax.intervals)
def test_every_interval_is_read_as_it_is_printed(interval):
    assert_round_trip(interval, print_interval, parse_interval)


@given(strategies.queries())
@settings(max_examples=amount(300))
def test_every_well_formed_query_is_read_as_it_is_printed(query):
    assert_round_trip(query, print_query, parse_query)


@given(strategies.patterns())
@settings(max_examples=amount(300))
def test_every_well_formed_pattern_is_read_as_it_is_printed(pattern):
    assert_round_trip(pattern, print_pattern, parse_pattern)
