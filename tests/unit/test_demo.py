"""The demo, whose end code tells whether Spark finds what the embedded engine finds."""

import subprocess
import sys

import pytest

PROGRAM = """
import ensue
from ensue.demo import DEPARTURES, RECOVERED
from ensue.demo.__main__ import _on_spark

found = ensue.match(DEPARTURES, RECOVERED).to_arrow()
raise SystemExit(_on_spark({RECOVERED: found, RECOVERED + " ": found.slice(1)}))
"""


@pytest.mark.slow
def test_it_says_whether_both_agree():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    # A first run after an installation says that it compiles; Spark says nothing.
    assert [line for line in done.stderr.splitlines() if "compiling the engine" not in line] == []
    assert done.returncode == 1
    assert "query 1: 4 matches here, 4 on Spark: the same" in done.stdout
    assert "query 2: 3 matches here, 4 on Spark: NOT the same" in done.stdout
