"""The budget of memory: how it is said, what it comes to by default, and what its error tells."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue import EngineError
from ensue.data import machine_memory
from ensue.data.budget import Budget, Large, memory_of, shown_count, shown_size
from ensue.data.machine_memory import physical_memory, usual_budget
from ensue.language.parser import parse_query
from ensue.logic.memory_advice import advice_for

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30
EVENTS = [{"time": 1, "type": "A"}, {"time": 2, "type": "B"}]


# ---------------------------------------------------------------- how it is said


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("512 MB", 512 * MEGABYTE),
        ("512mb", 512 * MEGABYTE),
        ("2g", 2 * GIGABYTE),
        (" 1.5 GiB ", 3 * GIGABYTE // 2),
        ("65536K", 64 * MEGABYTE),
        ("1 TB", 1024 * GIGABYTE),
        (str(GIGABYTE), GIGABYTE),
        (GIGABYTE, GIGABYTE),
    ],
)
def test_amounts(said: str | int, size: int) -> None:
    assert memory_of(said) == size


@pytest.mark.parametrize("said", ["", "much", "-1 GB", "1 XB", "GB", "1e9", 1.5, True, [1]])
def test_what_is_no_amount(said: object) -> None:
    with pytest.raises(EngineError, match=r"is not an amount of memory: write memory='512 MB', or a number of bytes"):
        memory_of(said)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [0, -5, "1 KB", "15 MB"])
def test_what_is_too_little(said: str | int) -> None:
    with pytest.raises(EngineError, match="is too little for any query: give at least 16 MB"):
        memory_of(said)


def test_the_environment_says_it_where_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory_of(None, {"ENSUE_MEMORY": "1 GB"}) == GIGABYTE
    assert memory_of("2 GB", {"ENSUE_MEMORY": "1 GB"}) == 2 * GIGABYTE
    assert memory_of(None, {"ENSUE_MEMORY": " "}) == memory_of(None, {})
    monkeypatch.setenv("ENSUE_MEMORY", "lots")
    with pytest.raises(EngineError, match="ENSUE_MEMORY='lots' is not an amount of memory"):
        ensue.match(EVENTS, "SELECT * FROM S WHERE A ; B", unit="s")


def test_run_and_detect_take_it() -> None:
    query = ensue.query("SELECT * FROM S WHERE A ; B")
    assert len(query.run(EVENTS, unit="s", memory="64 MB")) == len(query.detect(EVENTS, unit="s", memory="64 MB")) == 1
    for method in (query.run, query.detect):
        with pytest.raises(EngineError, match="memory='a lot' is not an amount of memory"):
            method(EVENTS, unit="s", memory="a lot")


def test_numbers_as_people_read_them() -> None:
    assert [shown_size(s) for s in (0, 999, 1000, 1 << 40, 1e30)] == [
        "0 bytes",
        "999 bytes",
        "1 KB",
        "1 TB",
        "10^21 GB",
    ]
    assert shown_size(float("inf")) == "10^300 GB"
    assert [shown_count(c) for c in (7, 1e6, 1e15, 1.5e300)] == [
        "7",
        "1,000,000",
        "about 1.0 * 10^15",
        "more than 10^300",
    ]


# ---------------------------------------------------------------- what it comes to by default


def machine(root: Path, *, total: int = 16, free: int = 12, groups: str = "", **limits: Any) -> Path:
    """A machine with so many gigabytes, in a folder; `limits` are the files of its control groups."""
    files = {
        "proc/meminfo": f"MemTotal: {total << 20} kB\nMemAvailable: {free << 20} kB\n",
        "proc/self/cgroup": groups,
        "proc/self/status": "VmSize: 1048576 kB\n",
        **limits,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit on the address space, whatever these tests run under."""
    monkeypatch.setattr(machine_memory, "_address_space", lambda root: (None, 0))


@pytest.mark.usefixtures("unlimited")
def test_a_quarter_of_the_machine(tmp_path: Path) -> None:
    assert usual_budget(machine(tmp_path)) == 4 * GIGABYTE
    assert physical_memory(tmp_path) == 16 * GIGABYTE
    assert usual_budget(tmp_path, shared_by=4) == GIGABYTE


@pytest.mark.usefixtures("unlimited")
def test_at_most_half_of_what_is_free(tmp_path: Path) -> None:
    assert usual_budget(machine(tmp_path, free=2)) == GIGABYTE


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize(
    ("groups", "limits"),
    [
        ("0::/app/query\n", {"sys/fs/cgroup/app/memory.max": f"{2 * GIGABYTE}\n", "sys/fs/cgroup/memory.max": "max\n"}),
        ("0::/outside/name\n", {"sys/fs/cgroup/memory.max": f"{2 * GIGABYTE}\n"}),
        ("5:cpu:/\n4:memory:/app\n0::/\n", {"sys/fs/cgroup/memory/app/memory.limit_in_bytes": f"{2 * GIGABYTE}\n"}),
        (
            "4:memory:/app\n",
            {
                "sys/fs/cgroup/memory/app/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GIGABYTE}\n",
            },
        ),
    ],
    ids=["v2, a group around it", "v2, in a container", "v1", "v1, a group around it"],
)
def test_a_quarter_of_the_container(tmp_path: Path, groups: str, limits: dict[str, Any]) -> None:
    assert usual_budget(machine(tmp_path, groups=groups, **limits)) == GIGABYTE // 2


@pytest.mark.parametrize(("limit", "budget"), [(2, 0.5), (1.5, 0.25), (40, 4)])
def test_a_limit_of_the_process_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float, budget: float
) -> None:
    """Of 1.5 gigabytes of address space, the process that was made up has taken one."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (int(limit * GIGABYTE), -1))
    assert usual_budget(machine(tmp_path)) == budget * GIGABYTE


@pytest.mark.usefixtures("unlimited")
def test_a_machine_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_memory, "_from_sysconf", list)
    assert usual_budget(tmp_path) == 2 * GIGABYTE


# ---------------------------------------------------------------- what is held


def advised(text: str) -> Budget:
    return Budget(128 * MEGABYTE, advice_for(parse_query(text)))


def test_what_is_held_anew_takes_the_place_of_what_was() -> None:
    holder = advised("SELECT * FROM S WHERE A").holder()
    for _ in range(10):
        holder.hold(Large.OPEN, 100 * MEGABYTE, 10)
    with pytest.raises(EngineError, match=r"needs at least 1\d\d MB of memory and may take 128 MB: 10 nodes"):
        holder.hold(Large.MATCHES, 50 * MEGABYTE, 7)


def test_the_largest_is_what_is_told() -> None:
    budget = advised("SELECT * FROM S WHERE A")
    budget.holder().hold(Large.KEYS, 90 * MEGABYTE, 1_000_000)
    with pytest.raises(EngineError, match="1,000,000 keys of PARTITION BY are known\n  hint: PARTITION BY attributes"):
        budget.holder().hold(Large.OPEN, 60 * MEGABYTE, 3)


def test_threads_share_a_budget() -> None:
    budget = advised("SELECT * FROM S WHERE A")
    refused = []

    def fill() -> None:
        holder = budget.holder()
        try:
            for k in range(100):
                holder.hold(Large.MATCHES, k * MEGABYTE // 2, k)
        except EngineError as e:
            refused.append(e)

    threads = [threading.Thread(target=fill) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused
    assert budget.left > -MEGABYTE


def test_what_is_released_is_free() -> None:
    budget = advised("SELECT * FROM S WHERE A")
    holder = budget.holder()
    holder.hold(Large.MATCHES, 100 * MEGABYTE, 1)
    holder.hold(Large.MATCHES, 0, 0)
    budget.holder().hold(Large.OPEN, 100 * MEGABYTE, 1)
    assert budget.unspent().left > 110 * MEGABYTE


@pytest.mark.parametrize("error", [MemoryError("Unable to allocate 1 TiB"), pa.ArrowMemoryError("malloc of 1 TiB")])
def test_no_other_memory_error_is_seen(error: Exception) -> None:
    budget = advised("SELECT * FROM S WHERE A")
    budget.holder().hold(Large.OPEN, 100 * MEGABYTE, 77)
    with (
        pytest.raises(
            EngineError, match="the process got no more memory, though the query may take 128 MB; what takes most of it"
        ),
        budget.explaining_memory_errors(),
    ):
        raise error


def test_a_column_that_is_too_long_is_told() -> None:
    with (
        pytest.raises(EngineError, match="larger than an Arrow array can be"),
        Budget(GIGABYTE).explaining_memory_errors(),
    ):
        raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")


# ---------------------------------------------------------------- what to write instead


def hints(what: Large, text: str, engine: str = "auto", *, on_spark: bool = False) -> str:
    return "; ".join(advice_for(parse_query(text), engine, on_spark=on_spark)(what))


def test_only_what_the_query_has_not_is_advised() -> None:
    plain = hints(Large.ENDING, "SELECT * FROM S WHERE A+")
    for advice in ("a window: WITHIN", "LIMIT 10", "SELECT NEXT", "instead of *", "Query.detect"):
        assert advice in plain
    full = hints(Large.ENDING, "SELECT NEXT x FROM S WHERE (A AS x)+ WITHIN 5 s LIMIT 3")
    assert full == "a window tighter than WITHIN 5 s"
    assert "Query.detect" in hints(Large.ENDING, "SELECT * FROM S WHERE A+", on_spark=True)


def test_a_window_inside_the_pattern_is_there_too() -> None:
    assert "tighter than WITHIN 7 EVENTS" in hints(Large.OPEN, "SELECT * FROM S WHERE (A+ WITHIN 7 EVENTS) ; B")


def test_comparisons_are_advised_where_conditions_are_none() -> None:
    sums = "SELECT * FROM S WHERE A AS x ; B AS y FILTER abs(x.v - y.v) < 1"
    assert "x.a < y.a + 1" in hints(Large.JUDGED, sums)
    assert "x.a < y.a + 1" not in hints(Large.JUDGED, "SELECT * FROM S WHERE A AS x ; B AS y FILTER x.v < y.v")


def test_partitions_are_advised_where_there_are_none() -> None:
    assert "PARTITION BY" in hints(Large.OPEN, "SELECT * FROM S WHERE A+")
    assert "PARTITION BY" not in hints(Large.OPEN, "SELECT * FROM S WHERE A+ PARTITION BY k")


def test_the_reference_advises_another_engine() -> None:
    assert "engine='auto'" in hints(Large.PARTS, "SELECT * FROM S WHERE A+", "reference")
    assert "explain says" in hints(Large.PARTS, "SELECT * FROM S WHERE A+")


@pytest.mark.parametrize("what", Large)
def test_there_is_advice_for_everything(what: Large) -> None:
    assert hints(what, "SELECT * FROM S WHERE A+")
