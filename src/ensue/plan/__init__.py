"""Checked query to Plan: what the evaluator needs, and nothing else."""

from ensue.logic.window import Window
from ensue.plan.compile import Absence, Plan, compile_plan

__all__ = ["Absence", "Plan", "Window", "compile_plan"]
