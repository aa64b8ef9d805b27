"""An automaton, and what has to be decided outside of it: all that planning needs, and nothing of a query's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ensue.automata.model import NO_MARKS, Automaton, Marks
from ensue.data.schema import Schema
from ensue.language import ast
from ensue.logic.window import Window
from ensue.plan.absence import Absence

if TYPE_CHECKING:
    from ensue.plan.closing import Closing

NO_WINDOW = Window()


@dataclass(frozen=True)
class AutomatonSpec:
    """What is to be found in a stream: the runs of the automaton, as far as the rest lets them be matches.

    A query is one way to come by it (`plan/from_query.py`). It may be made by hand as well: then only the automaton is
    needed, and what is not said is not asked for.
    """

    automaton: Automaton
    schema: Schema | None = None  # of the events: values that registers keep, or compute with, need the types
    window: Window = NO_WINDOW
    keys: tuple[str, ...] = ()  # the attributes that all events of a match agree on
    limit: int | None = None
    consume: ast.Consume = ast.Consume.NONE
    #: The selector that chooses among the matches of an end, where the automaton does not choose by itself.
    chooses: ast.Selector | None = None
    #: Whether it chooses among all matches of an end, because no automaton has left out what a later start beats.
    compares_all: bool = False
    #: The window that is a bound of its own; None where `window` is. A shorter one may follow from gaps between events.
    own_window: Window | None = None
    #: Whether a window in events counts those of all keys, and not those of each key by themselves.
    counts_all: bool = False
    #: What is judged on whole matches: conditions between events.
    related: tuple[ast.Expression, ...] = ()
    #: The variables that only these conditions speak of: once they are judged, the matches lose them.
    only_judged: Marks = NO_MARKS
    #: The selector that chooses among the matches for which these conditions hold.
    chooses_judged: ast.Selector | None = None
    #: What must not follow a match.
    absence: Absence | None = None
    #: What must follow a window, for it to be known.
    closing: Closing | None = None
