"""Hostile queries over tables: each answers or is refused, in time and within its memory, and says what to do."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hostile_queries import QUERIES, Hostile
from limited_process import Outcome, run_limited

import ensue
from ensue.language import ast
from ensue.language.parser import parse_query

if not sys.platform.startswith("linux"):
    pytest.skip("the memory of a process is measured as Linux tells it", allow_module_level=True)

#: What a query may take, and the address space of the process: kernels and Arrow reserve more than they use.
MEMORY, ADDRESS_SPACE = 512, 3_000
SECONDS = 120
#: Loads the kernels, so that it is no growth. What a query left behind is given back before the next.
_CODE = """
import ctypes, gc, json, time
import pyarrow as pa
import ensue
from hostile_queries import QUERIES, THEN, events_of

WARM_UP = (
    "SELECT * FROM S WHERE A ; B WITHIN 3 EVENTS",
    "SELECT * FROM S WHERE A AS x ; (B AS y FILTER y.v > LASTOF(y).v)+ WITHIN 3 EVENTS",
    "SELECT * FROM S WHERE A AS x ;[<= 2 s] B AS y FILTER y.v * x.v > 20",
)
for text in WARM_UP:
    ensue.match(events_of("AB 40"), text).to_arrow().to_pandas()

def seen(query):
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    events = events_of(query.events)
    measure_from_here()
    began, outcome, message = time.perf_counter(), "answered", ""
    try:
        found = getattr(ensue.query(query.text), query.method)(events, memory="{memory} MB", engine=query.engine)
        THEN[query.then](found)
    except ensue.EngineError as e:
        outcome, message = "refused", str(e)
    taken = time.perf_counter() - began
    return dict(name=query.name, outcome=outcome, message=message, seconds=taken, grown=memory_now("VmHWM") - _begin)

for query in QUERIES:
    if query.name in {names!r}:
        print(json.dumps(seen(query)), flush=True)
"""
#: Several queries share a process, one after the other, since most of the time goes into loading it.
_TOGETHER = 6
GROUPS = [QUERIES[i : i + _TOGETHER] for i in range(0, len(QUERIES), _TOGETHER)]


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """The kernels are compiled before a limit is set: the compiler takes time and memory of its own."""
    done = run_limited(_CODE.format(memory=MEMORY, names=[]), megabytes=16_000, seconds=900)
    assert done.returned == 0, done


def seen_of(queries: list[Hostile]) -> list[dict[str, Any]]:
    names = [q.name for q in queries]
    code = _CODE.format(memory=MEMORY, names=names)
    done: Outcome = run_limited(code, megabytes=ADDRESS_SPACE, seconds=SECONDS * len(names))
    seen = [json.loads(line) for line in done.out.splitlines()]
    assert [s["name"] for s in seen] == names, done
    assert done.returned == 0, done
    return seen


def assert_told_clearly(message: str, text: str) -> None:
    said, *hints = message.splitlines()
    assert " needs at least " in said or "would take too long" in said, message
    assert hints, message
    assert hints[0].startswith("  hint: "), message
    assert all(h.startswith("    or: ") for h in hints[1:]), message
    if any(ast.find(parse_query(text).pattern, ast.Within)):
        assert "a window: WITHIN" not in message, "it advises a window that is there"
    if "LIMIT" in text:
        assert "LIMIT 10" not in message, "it advises a limit that is there"


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].name)
@pytest.mark.slow
def test_it_answers_or_is_refused(group: list[Hostile]) -> None:
    for query, seen in zip(group, seen_of(group), strict=True):
        assert seen["grown"] < MEMORY, seen
        assert seen["seconds"] < SECONDS, seen
        if seen["outcome"] == "refused":
            assert_told_clearly(seen["message"], query.text)


QUICK = ["powers of two in a window", "fourth powers", "a swarm near a big one", "three quakes"]


def test_what_cannot_fit_is_refused_at_once() -> None:
    """No memory is filled to find out: a second, and a tenth of what the query may take."""
    for seen in seen_of([q for q in QUERIES if q.name in QUICK]):
        assert seen["outcome"] == "refused", seen
        assert seen["seconds"] < 5, seen  # a tenth of a second on a machine that does nothing else
        assert seen["grown"] < MEMORY / 4, seen


def test_the_error_says_what_is_large_and_what_to_write_instead() -> None:
    events = [{"time": k, "type": "A"} for k in range(60)]
    with pytest.raises(ensue.EngineError) as e:
        ensue.match(events, "SELECT * FROM S WHERE A+ WITHIN 60 EVENTS", unit="s", memory="512 MB")
    assert str(e.value) == (
        "the query needs at least 185 EB of memory and may take 512 MB: about 5.8 * 10^17 matches end at one event\n"
        "  hint: a window tighter than WITHIN 60 EVENTS\n"
        "    or: LIMIT 10 PER END, for at most ten matches at each end\n"
        "    or: SELECT NEXT, LAST or MAX, for the best match at each end\n"
        "    or: SELECT the variables you need instead of *: matches that agree in them become one\n"
        "    or: Query.detect, for the events that end a match and took part in one, without the matches\n"
        "    or: AGGREGATE count(*) AS n instead of SELECT, for their number, sums and extremes\n"
        "    or: Query.sample, for some of them, drawn at random"
    )
