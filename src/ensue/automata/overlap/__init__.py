"""How many windows can be open at once: the decision, and the events that show that there is no bound."""

from ensue.automata.overlap.finite_ambiguity import Overlap, overlap

__all__ = ["Overlap", "overlap"]
