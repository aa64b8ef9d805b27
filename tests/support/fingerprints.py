"""Prints one line for each query of the corpus and for some random ones: the fingerprint of its plan.

It is a program, so that a test can compare two processes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from random import Random

from strategies import events_table, random_query, random_selecting_query, random_stream

from ensue.data.events import read_events
from ensue.data.schema import Schema
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.plan.choice import choose

CORPUS = Path(__file__).parents[1] / "corpus" / "test_corpus.py"


def fingerprint(text: str, schema: Schema | None = None) -> str:
    """The fingerprint of the query's plan; empty if the automaton engine does not evaluate the query."""
    plan = choose(check(parse_query(text), text, schema)).plan
    return "" if plan is None else plan.fingerprint


def _corpus() -> Iterator[tuple[str, Schema | None]]:
    spec = importlib.util.spec_from_file_location("corpus", CORPUS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for parameter in module.CASES:
        (case,) = parameter.values
        table, options = module.read(case)
        streams = parse_query(case["query"]).streams
        reading = {name: options[name] for name in ("time", "type", "unit") if name in options}
        yield case["query"], read_events(table, streams, **reading).schema


def _random() -> Iterator[tuple[str, Schema | None]]:
    schema = read_events(events_table(random_stream(Random(0), 9)), ("S",), unit="s").schema
    for seed in range(100):
        yield print_query(random_query(Random(seed))), schema
        yield print_query(random_selecting_query(Random(seed))), schema


if __name__ == "__main__":
    for text, schema in [*_corpus(), *_random()]:
        print(fingerprint(text, schema))
