"""Rewritten query to automaton to Plan: what the kernels need, and nothing else."""

from ensue.logic.window import Window
from ensue.plan.absence import Absence
from ensue.plan.automaton_spec import AutomatonSpec
from ensue.plan.from_automaton import plan_automaton
from ensue.plan.from_query import automaton_of, compile_plan
from ensue.plan.plan import Plan

__all__ = ["Absence", "AutomatonSpec", "Plan", "Window", "automaton_of", "compile_plan", "plan_automaton"]
