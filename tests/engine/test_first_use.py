"""What a first query after an installation compiles and says, and what `ensue prepare` does beforehand."""

import json
import os
import subprocess
import sys

import pytest
from command_line import run_here

from ensue.preparation import STEPS

#: Runs queries over a few events in a new process, and says which modules had functions compiled.
PROGRAM = """
import json, sys
from numba.core import event

class Listener(event.Listener):
    def on_start(self, event):
        compiled.add(event.data["dispatcher"].py_func.__module__)
    def on_end(self, event):
        pass

compiled = set()
event.register("numba:compile", Listener())
import ensue
events = [{"time": t, "type": kind, "v": v} for t, kind, v in [(1, "A", 1), (2, "B", 2), (4, "A", 3), (5, "B", 1)]]
counts = [len(ensue.match(events, text, unit="s", engine="automaton")) for text in sys.argv[1:]]
print(json.dumps([counts, sorted(m for m in compiled if m.startswith("ensue."))]))
"""
PLAIN = "SELECT * FROM S WHERE A ; B WITHIN 3 s"


def run_in_new_process(*texts, **environment):
    """How many matches each query has, the modules of what was compiled, and what was said."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *texts],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    counts, compiled = json.loads(done.stdout)
    return counts, {m.removeprefix("ensue.kernels.") for m in compiled}, done.stderr


@pytest.mark.slow
def test_a_query_compiles_what_it_needs_and_says_so_once(tmp_path):
    counts, compiled, said = run_in_new_process(PLAIN, NUMBA_CACHE_DIR=str(tmp_path))
    assert counts == [2]
    assert compiled == {"arena", "classes", "evaluate", "enumeration", "match_weights", "stepping"}
    assert said.count("compiling the engine") == 1
    assert "once on this machine; 'ensue prepare' does it beforehand" in said
    assert run_in_new_process(PLAIN, NUMBA_CACHE_DIR=str(tmp_path)) == ([2], set(), "")


@pytest.mark.slow
def test_kernels_need_no_folder_to_be_kept_in():
    """As for a user without a home folder who may not write where the package is installed."""
    counts, compiled, said = run_in_new_process(PLAIN, NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert counts == [2]
    assert compiled
    assert "NUMBA_CACHE_DIR names another" in said


#: How many kernels Python calls, and those of which nothing was compiled or loaded when everything is prepared.
PREPARED = """
import importlib, json, pkgutil
from numba.core.dispatcher import Dispatcher
import ensue, ensue.kernels

ensue.prepare()
modules = [importlib.import_module("ensue.kernels." + m.name) for m in pkgutil.iter_modules(ensue.kernels.__path__)]
made = [d for m in modules for d in vars(m).values() if isinstance(d, Dispatcher) and d.__module__ == m.__name__]
options = [(d, d.targetoptions) for d in made]
called = [d for d, of in options if not of.get("no_cpython_wrapper") and of.get("inline") != "always"]
print(json.dumps([len(called), sorted(d.__qualname__ for d in called if not d.overloads)]))
"""


@pytest.mark.slow
def test_preparing_uses_every_kernel():
    done = subprocess.run([sys.executable, "-c", PREPARED], capture_output=True, text=True, check=True)
    kernels, unused = json.loads(done.stdout)
    assert kernels > 15
    of_kernels = {"keep_best", "_new_table", "_choose_largest"}  # kernels call these
    small = {"put_all_on_front", "drop_dead", "drop_other_epochs"}  # they make room for aggregates of long streams
    of_slices = {"_run_from_each"}  # on Spark
    assert set(unused) <= of_kernels | small | of_slices
    assert done.stderr == ""


@pytest.mark.slow
def test_the_command_says_what_it_does():
    done = run_here("prepare")
    assert done.code == 0
    *rows, last = done.out.decode().splitlines()
    assert [row.split("s  ")[1] for row in rows] == [step.kind for step in STEPS]
    assert "of processor time in all; kept in " in last
