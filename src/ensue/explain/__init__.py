"""The text of `explain`: the output of every stage's printer, one after the other."""

from ensue.explain.stages import explain, explain_deterministic

__all__ = ["explain", "explain_deterministic"]
