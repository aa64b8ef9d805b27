"""Checked query to Plan: what the evaluator needs, and nothing else."""

from ensue.plan.compile import Plan, Window, compile_plan

__all__ = ["Plan", "Window", "compile_plan"]
