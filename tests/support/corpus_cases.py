"""The cases of the corpus and of the papers as cases for Spark."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sparkling import Case, case_of, on_a_clock

import ensue

TESTS = Path(__file__).parents[1]


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _corpus() -> Iterator[Case]:
    module = _module(TESTS / "corpus" / "test_corpus.py")
    for parameter in module.CASES:
        (case,) = parameter.values
        table, options = module.read(case)
        yield case_of(parameter.id, case["query"], table, **options)


#: Every case of the corpus.
CORPUS = list(_corpus())
#: The same with timestamps, for streams: all but those with nanoseconds, which Spark's timestamps do not have.
TIMED = [on_a_clock(c) for c in CORPUS if c.options.get("unit") != "ns"]


# ---------------------------------------------------------------- the papers


def paper_cases() -> list[Case]:
    """Every query that a test of the papers runs, with its events: the tests are run, and their runs written down."""
    found: list[Case] = []
    for path in sorted((TESTS / "papers").glob("test_*.py")):
        for name, test in inspect.getmembers(_module(path), inspect.isfunction):
            if name.startswith("test_"):
                for arguments in _parameters(test):
                    runs = _Runs(f"{path.stem}: {name}", found)
                    fixtures = {f: getattr(runs, f) for f in inspect.signature(test).parameters if hasattr(_Runs, f)}
                    test(**fixtures, **arguments)
    return found


def _parameters(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """What `pytest.mark.parametrize` gives a test."""
    marks = [m for m in getattr(test, "pytestmark", []) if m.name == "parametrize"]
    columns = []
    for mark in marks:
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
        values = [getattr(v, "values", v) if len(names) > 1 else (getattr(v, "values", (v,))[0],) for v in mark.args[1]]
        columns.append([dict(zip((n.strip() for n in names), v, strict=True)) for v in values])
    for chosen in itertools.product(*columns):
        yield {k: v for part in chosen for k, v in part.items()}


class _Runs:
    """The fixtures of the papers' tests, by the reference; they write down what they run."""

    def __init__(self, name: str, found: list[Case]) -> None:
        self._name, self._found = name, found

    @property
    def engine(self) -> str:
        return "reference"

    def run(self, query: str, events: Any, unit: str | None = None) -> ensue.Matches:
        options = {"unit": unit} if unit else {"time": None}
        matches = ensue.query(query).run(events, time="time" if unit else None, unit=unit, engine="reference")
        self._found.append(case_of(self._name, query, events, **options))
        return matches

    def complex_events(self, query: str, events: Any, unit: str | None = None) -> set[Any]:
        matches = self.run(query, events, unit)
        found = set()
        for m, (start, end) in enumerate(zip(matches.start.tolist(), matches.end.tolist(), strict=True)):
            marks = {x: tuple(marked.of(m).tolist()) for x, marked in matches.marks.items()}
            found.add((start, end, frozenset((x, positions) for x, positions in marks.items() if positions)))
        return found

    def supports(self, query: str, events: Any, unit: str | None = None) -> set[Any]:
        return {
            tuple(sorted({k for _, positions in marks for k in positions}))
            for _, _, marks in self.complex_events(query, events, unit)
        }

    def intervals(self, query: str, events: Any, unit: str | None = None) -> set[Any]:
        return {(start, end) for start, end, _ in self.complex_events(query, events, unit)}
