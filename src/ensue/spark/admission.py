"""Which queries a stream takes without a window: those whose state is proven to be bounded, for each key.

A refusal says what makes the state grow: events that were run, and leave more and more windows open.
"""

from __future__ import annotations

from ensue.automata.overlap.values import TIME
from ensue.engines.open_windows import Answer, OpenWindows, open_windows
from ensue.errors import EngineError
from ensue.explain.window_lines import no_bound
from ensue.logic.window import peel_windows
from ensue.plan import Window
from ensue.plan.choice import Choice

_ADVICE = "Bound it with WITHIN, or allow that with unbounded=True"


def refuse_growing_state(choice: Choice, time: str) -> None:
    """Raises an EngineError unless what the query keeps of a stream is bounded, if the stream is as EXPECT says."""
    written = peel_windows(choice.checked.query.pattern)[1]
    if choice.window != Window() or written != Window():
        return  # a match can only span so many events or so much time
    found = open_windows(choice, timed=time == TIME)
    if not is_bounded(found, choice):
        raise EngineError(
            f"the query has no window: over a stream, its state would grow for ever{_why(found)}. {_ADVICE}"
        )


def is_bounded(found: OpenWindows, choice: Choice) -> bool:
    """Whether the open windows are bounded, and the events that are kept of each: where they are folded, none are."""
    rows = choice.for_rows.plan
    folded = rows is not None and rows.spans is not None
    return found.answer is Answer.BOUNDED and (folded or found.longest is not None)


def _why(found: OpenWindows) -> str:
    if found.answer is Answer.NO_BOUND:
        return f": {no_bound(found)}"
    if found.answer is Answer.BOUNDED:
        few = "a bounded number of" if found.most is None else f"at most {found.most}"
        return f": {few} windows are open at once, but they keep their events, however many these are"
    return f", as far as is known: {found.why}"
