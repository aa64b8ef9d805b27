"""Checked query to Plan: what the evaluator needs, and nothing else."""

from ensue.logic.window import Window
from ensue.plan.compile import Plan, compile_plan, window_of

__all__ = ["Plan", "Window", "compile_plan", "window_of"]
