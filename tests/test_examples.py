"""The examples over real data print what is stored beside them; `UPDATE_GOLDEN=1` writes it anew: read it then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(p.stem for p in EXAMPLES.glob("*.py"))


def test_there_are_three():
    assert NAMES == ["aftershocks", "office_temperature", "pulse"]


@pytest.mark.parametrize("name", NAMES)
def test_example(name, tmp_path):
    more = [str(tmp_path / "page.html")] if name == "office_temperature" else []
    program = [sys.executable, str(EXAMPLES / f"{name}.py"), *more]
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=tmp_path)
    stored = EXAMPLES / "printed" / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(done.stdout, encoding="utf-8")
    assert done.stdout == stored.read_text(encoding="utf-8")
    assert all(Path(page).read_text(encoding="utf-8").startswith("<!doctype html>") for page in more)


def test_strong_quakes_with_aftershocks_are_those_of_the_source():
    """The number in the description of the data set, found by another program."""
    printed = (EXAMPLES / "printed" / "aftershocks.txt").read_text(encoding="utf-8")
    assert printed.splitlines()[0].endswith("8 strong quakes with three or more aftershocks")
