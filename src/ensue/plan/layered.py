"""Queries in layers: the complex events of a plan, without those that other plans find, and what is chosen of them.

Each part is a query of its own, with a plan of its own. So whatever the engine evaluates by itself may stand in an
absence too, with conditions on any events (`rewrite/take_apart.py`); and what is decided among complex events, by
CONSUME BY or a selector, is decided once all that was judged late is known. `PREV` beside other events is a column of
its event here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ensue.automata.model import Marks
from ensue.columns.lookback import spell_out
from ensue.data.schema import Schema
from ensue.errors import QueryError
from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.language.printer import print_interval
from ensue.logic.check import Checked
from ensue.logic.classify import conjunction, conjuncts_of
from ensue.logic.outputs import Output, projected
from ensue.logic.scope import attributes_read, bindings, variables_of
from ensue.logic.window import looks_back
from ensue.rewrite.selectors_apart import Selected, selectors_apart, selectors_in
from ensue.rewrite.spell_out_next import spell_out_next
from ensue.rewrite.take_apart import (
    Alike,
    Excluded,
    NotApart,
    Path,
    absences_in,
    marks_more,
    part_at,
    taken_apart,
    without,
)

if TYPE_CHECKING:
    from ensue.plan.choice import Choice

#: The choice of an engine for a part; raises QueryError where only the reference evaluates it.
Chooser = Callable[[Checked], "Choice"]
#: What layers do not take apart: what it says of a stream, or of a window, is more than its complex events.
_WHOLE = (ast.Until, ast.After, ast.SpanOf, ast.Matches, FromTo)


@dataclass(frozen=True)
class Exclusion:
    """What finds complex events that are none of the query, as far as they are the same."""

    choice: Choice
    absent: ast.Pattern
    compared: frozenset[str]
    alike: Alike


@dataclass(frozen=True)
class Inside:
    """What a selector inside the pattern chooses, and the variable that marks it in what is found."""

    choice: Choice
    selector: ast.Selector
    variable: str


@dataclass(frozen=True)
class LayeredPlan:
    """The parts, in the order in which they decide."""

    found: Choice
    inside: tuple[Inside, ...]
    excluded: tuple[Exclusion, ...]
    deadline: ast.Interval | None  # how long complex events wait for what must not follow
    seen: frozenset[str]  # the variables that the selector compares
    shown: frozenset[str]
    selector: ast.Selector
    consume: ast.Consume
    limit: int | None  # of one end
    keys: tuple[str, ...]
    look_back: tuple[tuple[str, int], ...]  # the attributes of earlier events that parts ask for

    @property
    def parts(self) -> tuple[Choice, ...]:
        return (self.found, *(e.choice for e in self.excluded), *(s.choice for s in self.inside))

    @property
    def judged(self) -> frozenset[str]:
        """The attributes over which matches are judged, and those of the keys where these are asked for late."""
        plans = [c.plan for c in self.parts if c.plan is not None]
        used = attributes_read(e for p in plans for e in p.related)
        return frozenset(used.union(self.keys if self.consume is ast.Consume.PARTITION else ()))

    @property
    def final_marks(self) -> list[Marks]:
        """The sets of variables that the complex events have in the end."""
        return list(dict.fromkeys(m & self.seen & self.shown for m in self.found.final_marks))

    @property
    def fingerprint(self) -> str:
        """Differs between plans whose saved states must not be mixed."""
        own = [self.selector, self.consume, str(self.limit), *self.keys, *map(str, self.look_back), *sorted(self.shown)]
        own += [] if self.deadline is None else [print_interval(self.deadline)]
        for part in self.excluded:
            own += [part.alike.name, *sorted(part.compared)]
        own += [f"{s.selector} inside" for s in self.inside]
        made = [c.made_by(1)["automaton"] for c in self.parts]
        return hashlib.sha256("\n".join([*own, *made]).encode()).hexdigest()


def layered_plan(checked: Checked, choose: Chooser, choose_simply: Chooser) -> LayeredPlan | None:
    """The plan in layers of a query that has none in one piece; None where layers do not help either.

    `choose` may take layers for a part, `choose_simply` does not.
    """
    query = checked.query
    if any(next(ast.find(query.pattern, kind), None) for kind in _WHOLE):
        return None
    try:
        return _Layers(checked, choose, choose_simply).plan()
    except (NotApart, QueryError):
        return None


class _Layers:
    def __init__(self, checked: Checked, choose: Chooser, choose_simply: Chooser) -> None:
        self._checked, self._choose, self._simply = checked, choose, choose_simply
        self._wanted: dict[str, tuple[str, int]] = {}
        self._pattern = self._without_look_back(spell_out_next(checked.query.pattern))
        self._schema = self._with_look_back(checked.schema)
        self._bound = frozenset(bindings(self._pattern))
        self._pattern, self._selected = selectors_apart(self._pattern, self._hard_selectors())

    def plan(self) -> LayeredPlan:
        query = self._checked.query
        out = self._taken_out()
        shown = projected(self._checked.outputs)
        chosen = query.selector not in (ast.Selector.ALL, ast.Selector.STRICT)
        decided = chosen or query.consume is not ast.Consume.NONE
        if not out and not decided and not self._wanted and not self._selected:
            raise NotApart  # a part would be all of it
        apart = taken_apart(self._pattern, out)
        if query.selector is ast.Selector.STRICT and marks_more(apart.pattern):
            raise NotApart  # a variable of its own would mark an event that belongs to no support
        seen = self._bound if chosen or query.selector is ast.Selector.STRICT else shown
        compared = frozenset[str]().union(*(e.compared for e in apart.excluded))
        inside = frozenset(s.variable for s in self._selected)
        return LayeredPlan(
            found=self._choose(self._part(apart.pattern, seen | compared | inside, self._inside)),
            inside=tuple(map(self._chosen_inside, self._selected)),
            excluded=tuple(map(self._exclusion, apart.excluded)),
            deadline=apart.deadline,
            seen=seen,
            shown=shown,
            selector=query.selector if chosen else ast.Selector.ALL,
            consume=query.consume,
            limit=query.limit if query.per is ast.Per.END and not query.order else None,
            keys=tuple(k.attribute for k in query.partition),
            look_back=tuple(sorted(self._wanted.values())),
        )

    @property
    def _inside(self) -> ast.Selector:
        """The selector of the plan that finds matches: STRICT asks of each by itself."""
        selector = self._checked.query.selector
        return selector if selector is ast.Selector.STRICT else ast.Selector.ALL

    def _exclusion(self, e: Excluded) -> Exclusion:
        first = None if e.first_only is None else self._part(e.first_only, e.compared)
        if first is not None and self._is_simple(first):  # else it asks something of later events
            return Exclusion(self._simply(first), e.absent, e.compared, e.alike)
        part = self._part(e.pattern, e.compared, limit=1 if e.one_of_end else None)
        return Exclusion(self._choose(part), e.absent, e.compared, e.alike)

    def _hard_selectors(self) -> list[Path]:
        """Those of whose automaton nobody knows how to compare the runs: what relates their events needs registers."""
        places = ((path, ast.Sequence(ast.Any(), part_at(self._pattern, path))) for path in selectors_in(self._pattern))
        return [path for path, inner in places if not self._is_simple(self._part(inner, frozenset()))]

    def _chosen_inside(self, s: Selected) -> Inside:
        return Inside(self._choose(self._part(s.pattern, frozenset({s.variable}), s.selector)), s.selector, s.variable)

    def _taken_out(self) -> list[Path]:
        """Which absences no automaton watches for, by their places."""
        places = [path for path, _ in absences_in(self._pattern)]
        if self._is_simple(self._all_but(())):
            return []
        hard = [path for path in places if not self._is_simple(self._all_but(p for p in places if p != path))]
        hard = hard or places
        late = [path for path, p in absences_in(self._pattern) if isinstance(p, ast.NotAfter)]
        return list(dict.fromkeys([*hard, *late]))  # of what waits, all must be known that leaves it out

    def _all_but(self, out: Iterable[Path]) -> Checked:
        """The query without some of the absences, and without what is decided among complex events."""
        return self._part(without(self._pattern, list(out)), projected(self._checked.outputs), self._inside)

    def _is_simple(self, part: Checked) -> bool:
        try:
            self._simply(part)
        except QueryError:
            return False
        return True

    def _part(
        self,
        pattern: ast.Pattern,
        variables: frozenset[str],
        selector: ast.Selector = ast.Selector.ALL,
        limit: int | None = None,
    ) -> Checked:
        """The query of a part, which shows these variables."""
        where = self._checked.query.span
        query = replace(
            self._checked.query,
            pattern=pattern,
            items=tuple(ast.Item(ast.Name(x)) for x in sorted(variables)),
            selector=selector,
            consume=ast.Consume.NONE,
            limit=limit,
            per=ast.Per.END,
            order=(),
            expect=None,
            aggregation=None,
        )
        outputs = tuple(Output(x, ast.Name(x), None, where) for x in sorted(variables))
        return replace(self._checked, query=query, outputs=outputs, schema=self._schema, order=())

    # -- PREV beside other events

    def _without_look_back(self, p: ast.Pattern) -> ast.Pattern:
        """The pattern with attributes for what filters on several events look back to."""

        def spelled(n: ast.Node) -> ast.Node | None:
            if not isinstance(n, ast.Filter):
                return None
            conjuncts = [self._spelled(c) for c in conjuncts_of(n.condition)]
            return replace(n, body=ast.rebuilt(n.body, spelled), condition=conjunction(conjuncts))

        return ast.rebuilt(p, spelled) if looks_back(p) else p

    def _spelled(self, c: ast.Expression) -> ast.Expression:
        return spell_out(c, self._wanted) if looks_back(c) and len(variables_of(c)) > 1 else c

    def _with_look_back(self, schema: Schema | None) -> Schema | None:
        if schema is None or not self._wanted:
            return schema
        earlier = {name: schema.attributes[a] for name, (a, _) in self._wanted.items()}
        return replace(schema, attributes={**schema.attributes, **earlier})
