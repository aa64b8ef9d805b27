"""The parts of `make soak`: the random tests, with the number of cases in which nothing may differ.

The work of a part is a function from seeds to an iterator of `Checked`, one for each step. It runs in its own process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from traceback import format_exc
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
#: The folders with the functions that compare one case.
FOLDERS = [str(TESTS / name) for name in ("support", "engine", "properties", "row_patterns", "spark")]


@dataclass(frozen=True)
class Checked:
    """The result of one step of a part."""

    compared: int = 0
    refused: int = 0  # the engine refused the query, so there was nothing to compare
    differed: tuple[str, ...] = ()  # texts that show the differences, with their seeds


Work = Callable[[range], Iterator[Checked]]


@dataclass(frozen=True)
class Part:
    """One line of the summary."""

    name: str
    what: str
    count: int
    work: Work


def each(module: str, driver: str = "compare") -> Work:
    """Work by a function of the tests that compares the case of one seed, and raises if the results differ."""
    return partial(_each, module, driver)


def _each(module: str, driver: str, seeds: range) -> Iterator[Checked]:
    compare = getattr(import_module(module), driver)
    for seed in seeds:
        try:
            became = compare(seed)
        except Exception:  # a crash is a fault too, and the other seeds still count
            yield Checked(differed=(f"seed {seed}: {format_exc(limit=-1)}",))
        else:
            yield Checked(refused=1) if became == "refused" else Checked(compared=1)


def laws(seeds: range) -> Iterator[Checked]:
    """The tests that use Hypothesis, each with as many examples as there are seeds."""
    import pytest

    class Seen:
        def __init__(self) -> None:
            self.reports: list[pytest.TestReport] = []

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.when == "call":
                self.reports.append(report)

    seen = Seen()
    os.environ |= {"ENSUE_COUNT": str(len(seeds)), "ENSUE_SEED": str(seeds.start)}
    folders = [str(TESTS / name) for name in ("properties", "engine")]
    pytest.main([*folders, "-m", "hypothesis", "-p", "no:cacheprovider", "-p", "no:terminal"], plugins=[seen])
    for report in seen.reports:
        if report.passed:
            yield Checked(compared=len(seeds))
        elif report.failed:
            yield Checked(differed=(f"{report.nodeid}\n{report.longreprtext[-2000:]}",))


# ---------------------------------------------------------------- on Spark


def in_batch(seeds: range) -> Iterator[Checked]:
    """All cases of the corpus and of the papers, and one random query for each seed."""
    from corpus_cases import CORPUS, paper_cases
    from sparkling import run_in_batch

    tests = import_module("test_cases")
    cases = [*CORPUS, *paper_cases(), *map(tests.random_case, seeds)]
    yield from _on_spark(cases, tests.IN_A_JOB, lambda spark, group, _folder: run_in_batch(spark, group))


def as_a_stream(seeds: range) -> Iterator[Checked]:
    """The same cases and queries as streams."""
    from corpus_cases import TIMED, paper_cases
    from sparkling import on_a_clock

    tests = import_module("test_cases")
    cases = [*TIMED, *map(on_a_clock, paper_cases()), *(on_a_clock(tests.random_case(seed)) for seed in seeds)]
    yield from _on_spark(cases, tests.IN_A_STREAM, partial(tests.streamed, seed=seeds.start))


def _on_spark(cases: Sequence[Any], together: int, run: Callable[[Any, Sequence[Any], Path], Any]) -> Iterator[Checked]:
    from spark_session import session_of_tests
    from sparkling import differences

    spark = session_of_tests()
    try:
        for first in range(0, len(cases), together):
            group = cases[first : first + together]
            with tempfile.TemporaryDirectory() as folder:
                told = differences(group, run(spark, group, Path(folder)))
            yield Checked(compared=len(group) - len(told), differed=tuple(told))
    finally:
        spark.stop()


def kills(disorder: str, seeds: range) -> Iterator[Checked]:
    """One kill for each seed, ten in each stream."""
    killed_often = import_module("test_kill").killed_often
    for seed in seeds[::10]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                killed_often(Path(folder), Random(f"kill {seed}"), disorder)
            except AssertionError:
                yield Checked(differed=(f"seed {seed}: {format_exc(limit=-1)}",))
            else:
                yield Checked(compared=10)


def kills_in_a_cluster(seeds: range) -> Iterator[Checked]:
    """One kill for each seed, ten in each run of the jobs."""
    tests = import_module("test_cluster")
    for seed in seeds[::10]:
        rng = Random(f"cluster {seed}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                tests.killed_in_all_jobs(Path(folder), rng, tests.shuffled(rng), going_on=0.5)
            except AssertionError:
                yield Checked(differed=(f"seed {seed}: {format_exc(limit=-1)}",))
            else:
                yield Checked(compared=10)


def chains_of_two(seeds: range) -> Iterator[Checked]:
    """Queries over the matches of queries on a stream, against the same chains over tables."""
    from spark_session import session_of_tests

    compared = import_module("test_chains").compared
    spark = session_of_tests()
    try:
        for first in seeds[::4]:
            group = range(first, min(first + 4, seeds.stop))
            with tempfile.TemporaryDirectory() as folder:
                _, told = compared(spark, Path(folder), group)
            yield Checked(compared=len(group) - len(told), differed=tuple(told))
    finally:
        spark.stop()


def aggregates_in_batch(seeds: range) -> Iterator[Checked]:
    """Random AGGREGATE queries on Spark, one job for some of them."""
    from spark_session import session_of_tests

    tests = import_module("test_aggregates_in_buckets")
    spark = session_of_tests()
    try:
        for first in seeds[:: tests.IN_A_JOB]:
            group = range(first, min(first + tests.IN_A_JOB, seeds.stop))
            told = tests.compare_in_batch(spark, group)
            yield Checked(compared=len(group) - len(told), differed=tuple(told))
    finally:
        spark.stop()


#: The longest part comes first, so that it does not run alone at the end.
PARTS = (
    Part("kills", "kill -9 of a Spark stream's driver or worker", 100, partial(kills, "wait")),
    Part(
        "commits", "the same between output and commit, of a stream that corrects itself", 100, partial(kills, "revise")
    ),
    Part("groups", "the same of a stream that aggregates its matches", 20, partial(kills, "groups")),
    Part("cluster", "kill -9 of a cluster's executor, worker or driver", 100, kills_in_a_cluster),
    Part("streams", "all cases, and random queries, as Spark streams", 200, as_a_stream),
    Part("chains", "random queries over matches on Spark streams", 100, chains_of_two),
    Part("batches", "all cases, and random queries, as Spark batches", 2_000, in_batch),
    Part("laws", "examples of each test that Hypothesis drives", 1_000, laws),
    Part("queries", "random queries by both engines", 50_000, each("test_fuzz")),
    Part("words", "all that the language has learnt, run in every way", 20_000, each("test_all_words")),
    Part("first-rows", "LIMIT and ORDER BY, run in every way", 5_000, each("test_first_rows")),
    Part("next", "the same with -> and absences in time", 20_000, each("test_fuzz", "compare_following")),
    Part("selectors", "the same with selectors at any depth", 20_000, each("test_fuzz", "compare_selecting")),
    Part("relations", "conditions that relate events", 20_000, each("test_related")),
    Part("formulas", "conditions checked by instructions", 10_000, each("test_formulas")),
    Part("disjoint", "gaps that only differ in their bounds", 10_000, each("test_disjoint_checks")),
    Part("same", "same and contains, against random streams", 5_000, each("test_same_patterns")),
    Part("local", "combinations of conditions on single events", 10_000, each("test_local_conditions")),
    Part("layers", "absences that compare events, a layer over the automaton", 10_000, each("test_layers")),
    Part("judged-rounds", "conditions on rounds that no register holds", 10_000, each("test_judged_rounds")),
    Part("selectors-apart", "selectors inside, in layers", 10_000, each("test_selectors_apart")),
    Part("algebra", "operations on automata that report matches", 10_000, each("test_match_automata")),
    Part("clocks", "automata with clocks, and the formulas made of them", 10_000, each("test_formula_of_clocks")),
    Part("shared", "several queries that share what they begin with", 10_000, each("test_shared_prefixes")),
    Part("ranks", "NEXT and LAST by ranks of states", 10_000, each("test_ranks", "always_by_ranks")),
    Part("windows", "choices among what a window holds", 10_000, each("test_selectors")),
    Part("folded", "aggregates of random windows, by brute force", 10_000, each("test_window_aggregates")),
    Part(
        "folded-and-chosen",
        "the same under selectors and consumption, with marks",
        5_000,
        each("test_window_aggregates", "compare_chosen"),
    ),
    Part("until", "windows that wait for what closes them, by brute force", 10_000, each("test_until")),
    Part(
        "positions",
        "formulas over positions and sets, by all assignments",
        2_000,
        each("test_formulas_over_positions"),
    ),
    Part("open", "how many windows can be open, by all short streams", 5_000, each("test_open_windows")),
    Part("counts", "the same, by exploring all counts", 20_000, each("test_open_windows", "compare_counts")),
    Part("open-by-values", "the same with look-back, by runs", 5_000, each("test_open_windows", "compare_with_runs")),
    Part("expected", "events that are not as EXPECT says", 2_000, each("test_expect")),
    Part("same-windows", "whether two queries define the same", 5_000, each("test_same_windows")),
    Part("deadlines", "absences with a deadline", 10_000, each("test_deadlines_random")),
    Part("detection", "where matches end, and what took part", 20_000, each("test_detect")),
    Part("cuts", "random queries over batches, saved between them", 2_000, each("test_running_query")),
    Part("live", "live queries over events in any order", 10_000, each("live_runs")),
    Part("revised", "the same in the buckets of a Spark stream", 2_000, each("test_revised_buckets")),
    Part("buckets", "the state of a Spark stream without Spark", 2_000, each("test_buckets")),
    Part("row-patterns", "random clauses MATCH_RECOGNIZE by both engines", 10_000, each("test_random")),
    Part("arriving-rows", "the same over rows in parts: what is told holds", 10_000, each("test_arriving")),
    Part("row-buckets", "the same in the buckets of a Spark stream", 2_000, each("test_row_pattern_streams")),
    Part("aggregates", "AGGREGATE beside its definition, at once and in pieces", 40_000, each("test_aggregation")),
    Part(
        "aggregates-in-buckets",
        "the same in the buckets of a Spark stream",
        5_000,
        each("test_aggregates_in_buckets", "compare_in_bucket"),
    ),
    Part("aggregates-in-batches", "the same on Spark", 1_000, aggregates_in_batch),
    Part("sampled", "every match has one rank, and samples are matches", 10_000, each("test_sampling")),
    Part("oracle", "random queries by the membership oracle", 20_000, each("test_membership")),
    Part("following", "the same with -> and absences in time", 20_000, each("test_membership", "compare_following")),
    Part("rules", "random patterns before and after rewriting", 20_000, each("test_rewriting")),
)
