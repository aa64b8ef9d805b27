"""What `explain` says of windows: how many can be open at once, and the pairs that a formula stands for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ensue.automata.mso import compiled
from ensue.automata.mso.pairs import pairs_of, print_pair
from ensue.automata.mso.splitting_at_begin import split
from ensue.automata.overlap.stream import Letter
from ensue.automata.predicates import Test
from ensue.engines.left_open import ROUNDS
from ensue.engines.open_windows import Answer, OpenWindows, open_windows
from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.language.printer import print_expression, print_interval, print_name
from ensue.logic.check import Checked
from ensue.logic.scope import aggregates_of
from ensue.plan.by_spans import FOLDED, OF_ENDS
from ensue.plan.choice import Choice

#: More pairs, and longer ones, tell nobody anything.
_MOST_PAIRS, _LONGEST = 4, 110


def pair_lines(pattern: ast.Pattern) -> list[str]:
    """For each formula of a query that was compiled: the same windows as expressions, while they are short."""
    lines = []
    for p in ast.find(pattern, FromTo):
        pairs = pairs_of(split(compiled(p)))
        types = frozenset(t.name for t in ast.find(p, ast.Type))
        texts = [] if pairs is None else [print_pair(pair, types) for pair in pairs]
        if pairs is None or len(texts) > _MOST_PAIRS or any(len(text) > _LONGEST for text in texts):
            lines.append("the formula as expressions would be too long to read")
        else:
            lines.append(" OR ".join(texts) or "no window at all: the formula never holds")
    return lines


def window_lines(choice: Choice) -> list[str]:
    """How many windows can be open at once; nothing for a query that defines no windows."""
    query = choice.checked.query
    if query.expect is None and not any(ast.find(query.pattern, ast.SpanOf)):
        return []
    keys = f", for each {', '.join(choice.keys)}" if choice.keys else ""
    lines = [f"open at once  {_said(open_windows(choice, expected=False), choice)}{keys}"]
    if choice.expectation is None:
        return lines
    if choice.expectation.never:
        return [*lines, "with EXPECT   no stream is as EXPECT says: every event is unexpected"]
    if not choice.own_keys:
        return [*lines, "with EXPECT   the same: it does not speak of the events of each key by themselves"]
    return [*lines, f"with EXPECT   {_said(open_windows(choice), choice)}{keys}"]


def kept_lines(checked: Checked) -> list[str]:
    """What is asked of windows that takes their events; where types decide, they are not known here."""
    core = checked.query.pattern
    while isinstance(core, ast.Filter | ast.Within):
        core = core.body
    if not isinstance(core, ast.SpanOf):
        return []
    whole = [print_expression(e.expression) for e in checked.outputs if isinstance(e.expression, ast.Name)]
    calls = [call for e in checked.outputs for call in aggregates_of(e.expression)]
    others = [print_expression(c) for c in calls if c.own is None and c.function not in (*FOLDED, *OF_ENDS)]
    asked = list(dict.fromkeys([*whole, *others]))
    return [f"kept          the events of windows that are open, for {', '.join(asked)}"] if asked else []


def _said(found: OpenWindows, choice: Choice) -> str:
    if found.answer is Answer.BOUNDED:
        return "bounded" if found.most is None else f"at most {found.most}"
    time = choice.window.time
    if time is not None:
        return f"as many as there are events in a time of {print_interval(ast.Interval(None, time))}"
    if found.answer is Answer.NO_BOUND and found.rounds is not None:
        return f"no bound: {no_bound(found)} (run: {ROUNDS} times, {ROUNDS} open)"
    return f"not known: {found.why}"


def no_bound(found: OpenWindows) -> str:
    """The events that leave more and more windows open, in words."""
    assert found.rounds is not None
    lead, again = (word(letters) for letters in (found.rounds.lead, found.rounds.round))
    return f"{f'after {lead}' if lead else 'from the start'}, each further {again} leaves one more open"


def word(letters: Sequence[Letter]) -> str:
    """Events as a pattern says them."""
    return " : ".join(map(_event, letters))


def _event(letter: Letter) -> str:
    said = sorted((p.expression for p in letter.true if isinstance(p, Test)), key=print_expression)
    kind = "ANY" if letter.type is None else print_name(letter.type)
    if not said:
        return kind
    return f"{kind}[{print_expression(reduce(lambda a, b: ast.Binary('AND', a, b), said))}]"
