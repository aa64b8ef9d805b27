"""Checked query to Plan: what the evaluator needs, and nothing else."""

from ensue.logic.window import Window, peel_windows
from ensue.plan.compile import Plan, compile_plan

__all__ = ["Plan", "Window", "compile_plan", "peel_windows"]
