"""What `explain` says of a query: the printers of all stages, one after the other."""

from ensue.explain.stages import explain, explain_deterministic

__all__ = ["explain", "explain_deterministic"]
