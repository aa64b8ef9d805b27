"""Runs the engine without the compiler, in a new process."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def counted_without_jit(test: str, *expressions: str) -> list[int]:
    """The values of expressions that use the names of a test file of the engine."""
    code = f"import sys; sys.path[:0] = sys.argv[1:]\nfrom {test} import *\n" + "\n".join(
        f"print({e})" for e in expressions
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(TESTS / "engine"), str(TESTS / "support")],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]
