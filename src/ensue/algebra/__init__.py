"""Operations on automata: union, concatenation, iteration, intersection and, without registers, complement.

A recogniser accepts a stream if a run of its automaton takes all events, from the first to the last. Automata with
registers are closed under union, concatenation and iteration, but not under complement and determinisation (Alevizos et
al., theorem 12): a deterministic automaton would have to store every event that may still be compared, but it has a
fixed number of registers. A window in events bounds the number of these events, so a deterministic automaton exists
again (theorem 14): a detector says for each event whether a match ends there, and which events took part.

>>> rising = Recogniser.of("(A AS x ; A AS y) FILTER y.v > x.v")
>>> events = [{"time": k, "type": "A", "v": v} for k, v in enumerate([1, 5, 3])]
>>> rising.accepts(events), rising.accepts(events[1:])
(True, False)
>>> (~Recogniser.of("A : A")).accepts(events)
True
"""

from ensue.algebra.detector import Detector
from ensue.algebra.formula_of_automaton import formula_of
from ensue.algebra.match_automaton import MatchAutomaton
from ensue.algebra.recogniser import Recogniser

__all__ = ["Detector", "MatchAutomaton", "Recogniser", "formula_of"]
