"""Python code in a process of its own, with a limit on its memory and its time; it tells how much memory it took."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

_MEGABYTE = 1 << 20
#: What stands before the code: it sets the limit, and says in the end what was taken. The highest that the process has
#: had in memory is its own: what its parent had before does not count.
_BEFORE = """
import atexit, json, os, resource, sys

def _kilobytes(entry):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(entry))

def measure_from_here():
    \"\"\"What was taken before is no growth.\"\"\"
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    global _begin
    _begin = _kilobytes("VmRSS")

def _tell():
    os.write({pipe}, json.dumps([_begin, _kilobytes("VmHWM")]).encode())

resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
_begin = _kilobytes("VmRSS")
atexit.register(_tell)
"""


@dataclass(frozen=True)
class Outcome:
    """How a process ended, what it printed, how long it took, and by how much its memory grew."""

    returned: int  # negative: the signal that ended it
    out: str
    err: str
    seconds: float
    grown: float | None  # megabytes; None where the process could not say it any more

    @property
    def ended_well(self) -> bool:
        return self.returned == 0


def run_limited(code: str, *, megabytes: int, seconds: float) -> Outcome:
    """Runs the code with at most so much address space; after so many seconds it is killed.

    The code may call `measure_from_here()` when all that it needs is loaded: what was in memory by then is no growth.
    """
    read, write = os.pipe()
    program = _BEFORE.format(pipe=write, limit=megabytes * _MEGABYTE) + code
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(write,),
        start_new_session=True,
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
    grown = None
    if said:
        begin, peak = json.loads(said)
        grown = (peak - begin) / 1024
    return Outcome(process.returncode, out, err, taken, grown)
