"""The cases of the corpus and of the papers as cases for Spark."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from sparkling import Case, case_of, on_a_clock

from ensue.language import ast
from ensue.language.parser import parse_query

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


def _asks_for_the_whole(case: Case) -> bool:
    query = parse_query(case.text)
    return bool(query.order) or (query.limit is not None and query.per is ast.Per.RESULT)


#: The same cases with timestamps, for streams, which have no whole result. Cases with nanoseconds are left out: Spark's
#: timestamps have none.
TIMED = [on_a_clock(c) for c in CORPUS if c.options.get("unit") != "ns" and not _asks_for_the_whole(c)]


# ---------------------------------------------------------------- the papers


@cache
def paper_cases() -> list[Case]:
    """Every query that a test of the papers runs, with its events. A plugin notes the queries of one run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs"
        command = [sys.executable, "-m", "pytest", str(TESTS / "papers"), "-k", "reference", "-p", "written_down"]
        paths = [str(Path(__file__).parent), *sys.path]
        environment = {**os.environ, "RUNS": str(file), "PYTHONPATH": os.pathsep.join(paths)}
        subprocess.run([*command, "-p", "no:cacheprovider"], env=environment, check=True, stdout=subprocess.DEVNULL)
        runs = pickle.loads(file.read_bytes())
    cases = []
    for name, text, events, options in runs:
        if options.get("closed"):  # on Spark in `test_until_on_spark.py`
            continue
        # All examples of the papers have one stream and no tie-break.
        assert set(options) <= {"time", "unit", "engine"}, options
        given = {k: v for k, v in options.items() if k != "engine" and (k == "time" or v is not None)}
        cases.append(case_of(name, text, events, **given))
    return cases
