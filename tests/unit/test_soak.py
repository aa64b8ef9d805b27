"""`make soak`: what its lines count, and what is run again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import soak
from soak_parts import PARTS, Checked, Part, each


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Part:
    """A driver that refuses odd seeds, finds a difference at seed 4, and crashes at seed 6."""

    def compare(seed: int) -> str:
        assert seed != 4, "the engines differ"
        if seed == 6:
            raise ZeroDivisionError
        return "refused" if seed % 2 else "compared"

    driver = ModuleType("driver_of_a_test")
    driver.compare = compare  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "driver_of_a_test", driver)
    return Part("queries", "of a test", 10, each("driver_of_a_test"))


def test_what_differs_is_counted_and_told_and_does_not_end_the_part(part: Part) -> None:
    steps = list(part.work(range(8)))
    assert (sum(s.compared for s in steps), sum(s.refused for s in steps)) == (2, 4)
    differed = [text for s in steps for text in s.differed]
    assert len(differed) == 2
    assert "seed 4" in differed[0]
    assert "the engines differ" in differed[0]
    assert "seed 6" in differed[1]
    assert "ZeroDivisionError" in differed[1]
    assert list(part.work(range(1))) == [Checked(compared=1)]


@pytest.mark.parametrize(
    ("change", "again"),
    [({}, False), ({"commit": "other"}, True), ({"seed": 1}, True), ({"count": 9}, True), ({"well": False}, True)],
)
def test_what_came_out_well_is_not_run_again(
    change: dict[str, Any], again: bool, part: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "KEPT", tmp_path)
    assert soak.kept_line("abc", part, 0, 10) is None
    line = {"commit": "abc", "seed": 0, "count": 10, "well": True, **change}
    (tmp_path / "queries.json").write_text(json.dumps(line))
    assert (soak.kept_line("abc", part, 0, 10) is None) == again


def test_a_tree_with_changes_is_another_each_time(part: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "KEPT", tmp_path)
    line = {"commit": "abc-dirty", "seed": 0, "count": 10, "well": True}
    (tmp_path / "queries.json").write_text(json.dumps(line))
    assert soak.kept_line("abc-dirty", part, 0, 10) is None


def test_a_process_that_ends_badly_is_not_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that the limit on its memory ends."""
    monkeypatch.setattr(soak, "KEPT", tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    line = soak.run("abc", PARTS[0], 0, 1)
    assert (line["well"], line["differed"]) == (False, 1)
    assert "ended with 1" in (tmp_path / f"{PARTS[0].name}.differed.txt").read_text()


def test_parts_have_names_of_their_own() -> None:
    names = [part.name for part in PARTS]
    assert sorted(names) == sorted(set(names))


def test_each_part_can_be_named_alone() -> None:
    """`--part` takes several names, with blanks between them."""
    assert [part.name.split() for part in PARTS] == [[part.name] for part in PARTS]
