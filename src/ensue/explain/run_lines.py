"""The lines of `explain` about automata of the user's own: their arcs, and how runs with a register are evaluated."""

from __future__ import annotations

from ensue.language.printer import print_interval
from ensue.logic.own_automata import Arc, OwnAutomaton
from ensue.plan.runs_plan import RunsPlan


def run_lines(plan: RunsPlan) -> list[str]:
    """How the engine evaluates it."""
    alone, related = len(plan.conditions), sum(bool(a.checks or a.formulas or a.calls) for a in plan.arcs)
    lines = ["engine        automaton: time per event linear in its open runs, plus the size of the matches"]
    lines.append(f"fences        {alone} on events alone, over columns; {related} arcs ask for the register")
    if plan.calls:
        lines.append(f"functions     {len(plan.calls)}, compiled by Numba once in each process, which takes seconds")
    return lines


def arc_lines(own: OwnAutomaton) -> list[str]:
    """The arcs as they were given, and what the register holds at first."""
    shape = own.shape
    steps = "all events of one time are a step" if shape.by_time else "each event is a step"
    register = ", ".join(f"{f.name} = {'NULL' if f.initial is None else f.initial}" for f in shape.fields)
    lines = [f"starts in {', '.join(shape.starts)}; {steps}{f'; register {register}' if register else ''}"]
    return [*lines, *(_line(arc, own) for arc in shape.arcs)]


def _line(arc: Arc, own: OwnAutomaton) -> str:
    accepting = "*" if arc.target in own.shape.accepts else ""
    types = (name if wanted else f"NOT {name}" for name, wanted in arc.types)
    clocks = (f"{c} {print_interval(i)} ago" for c, i in arc.since)
    when = " AND ".join([*types, *map(str, arc.when), *clocks]) or "true"
    does = [", ".join(sorted(arc.marks)), *(f"{name} := {value}" for name, value in arc.then)]
    does += [f"{clock} := 0" for clock in sorted(arc.resets)]
    return f"{arc.source} -> {arc.target}{accepting}  {when} / {'; '.join(d for d in does if d)}".rstrip()
