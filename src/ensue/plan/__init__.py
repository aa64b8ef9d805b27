"""Checked query to Plan: what the evaluator needs, and nothing else."""

from ensue.plan.compile import Plan, compile_plan
from ensue.plan.window import Window, peel_windows

__all__ = ["Plan", "Window", "compile_plan", "peel_windows"]
