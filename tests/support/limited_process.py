"""Runs Python code in a new process with a limit on its memory and its time, and says how much memory it took."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

#: This stands before the code. It sets the limit, and reports the largest memory at the end. The process reads that
#: about itself, because the system's figure for a child includes what its parent had when it started the child.
_BEFORE = """
import atexit, json, os, resource

def memory_now(entry="VmRSS"):
    '''Megabytes; VmHWM is the highest so far.'''
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(entry)) / 1024

def measure_from_here():
    '''Growth counts from here on, without what was loaded before.'''
    global _begin
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # sets the highest value to the present one
    _begin = memory_now()

resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
_begin = memory_now()
atexit.register(lambda: os.write({pipe}, json.dumps(memory_now("VmHWM") - _begin).encode()))
"""


@dataclass(frozen=True)
class Outcome:
    """The exit code of a process, what it printed, how long it took, and by how much its memory grew."""

    returned: int  # negative: the signal that ended it
    out: str
    err: str
    seconds: float
    grown: float | None  # megabytes; None if the process ended before it could report it

    def __str__(self) -> str:
        return f"returned {self.returned} after {self.seconds:.1f} s, grown by {self.grown} MB\n{self.out}\n{self.err}"


def run_limited(code: str, *, megabytes: int, seconds: float) -> Outcome:
    """Runs the code with a limit on its address space, and kills it after some seconds.

    The code can import the modules in `tests/support`. It calls `measure_from_here()` when everything is loaded.
    """
    read, write = os.pipe()
    program = _BEFORE.format(pipe=write, limit=megabytes << 20) + code
    folders = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(write,),
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    ) as process:
        os.close(write)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += f"\nkilled after {seconds} seconds"
    taken = time.perf_counter() - began
    with os.fdopen(read) as pipe:
        said = pipe.read()
    return Outcome(process.returncode, out, err, taken, json.loads(said) if said else None)
