"""`STRICT(p)`: no event is skipped between the first mark and the last (Grez, section 4)."""

from ensue.automata.model import Automaton, Builder

_BEFORE, _MARKING, _AFTER = "before", "marking", "after"


def construct(p: Automaton) -> Automaton:
    made = Builder((0, _BEFORE))
    for t in p.transitions:
        for phase in (_BEFORE, _MARKING, _AFTER):
            if t.marks and phase == _AFTER:
                continue
            following = _MARKING if t.marks else {_BEFORE: _BEFORE}.get(phase, _AFTER)
            made.add((t.source, phase), t.guard, t.label, (t.target, following), final=t.target in p.finals)
    return made.build()
