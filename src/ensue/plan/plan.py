"""The plan of an automaton: what the kernels run, with everything in it numbered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ensue.automata.ambiguity import is_ambiguous
from ensue.automata.build.project import HIDDEN
from ensue.automata.marked_once import marked_once
from ensue.automata.model import Automaton, Marks
from ensue.automata.predicates import (
    Best,
    Chosen,
    Guard,
    Past,
    Predicate,
    Ranking,
    guards_asked,
    machines_of,
    predicates_asked,
    predicates_of,
    rankings_of,
)
from ensue.automata.registers import NO_ACTIONS, Actions, Check, Holds, Narrowed, Store, formulas_of
from ensue.automata.timing.in_line import wait_in_line
from ensue.automata.timing.one_clock import has_lower_bounds
from ensue.data.schema import Kind
from ensue.language import ast
from ensue.logic.aggregate_bounds import MOST_BOUNDS, Bound, bounds_of
from ensue.logic.formula import Formula, formula_of, kind_of, unit_of
from ensue.logic.linear_bounds import LinearBound, linear_bounds
from ensue.logic.narrowing import bounded_registers, narrowed_registers
from ensue.logic.scope import variables_of
from ensue.logic.stored_values import Register
from ensue.logic.types import Typing
from ensue.plan.automaton_spec import AutomatonSpec
from ensue.plan.fingerprint import fingerprint_of
from ensue.plan.mode import Mode

if TYPE_CHECKING:
    from ensue.plan.lanes import LanePlan
    from ensue.plan.spans import Spans


@dataclass(frozen=True)
class Plan(AutomatonSpec):
    """What the automaton engine runs. It holds no data and no query, and it pickles.

    Predicates, machines, sets of marks and register actions are numbered in an order that is the same in every process.
    """

    as_built: Automaton | None = None  # where the automaton is one that one clock evaluates: what it was made of
    whole_checks: Automaton | None = None  # where checks of time were split: the automaton as it was before
    lanes: LanePlan | None = None  # where all matches are aggregated and not told: what is folded over them
    spans: Spans | None = None  # where windows are found by their ends: what is folded over their events
    #: Where different events close the windows of several pairs: a plan for each of these, whose windows are put
    #: together. The automaton here finds all of them, whether they are closed or not.
    alternatives: tuple[Plan, ...] = ()

    @property
    def on_one_clock(self) -> bool:
        """Whether the lists of `kernels/clock_lists.py` evaluate it: constant time an event, windows included."""
        return self.as_built is not None

    @property
    def in_trees(self) -> bool:
        """Whether that one clock has lower bounds, and runs do not wait in line for them: logarithmic time an event."""
        return self.on_one_clock and has_lower_bounds(self.automaton) and not wait_in_line(self.automaton)

    @property
    def waits(self) -> bool:
        """Whether windows wait for what closes them, so that they do not become known in the order of their ends."""
        return self.closing is not None or bool(self.alternatives)

    @property
    def with_registers(self) -> Plan:
        """The same with registers and a window, for what those lists do not tell."""
        return self if self.as_built is None else replace(self, automaton=self.as_built, as_built=None)

    # ---------------------------------------------------------------- what is numbered

    @cached_property
    def predicates(self) -> list[Predicate]:
        return predicates_asked(t.guard for t in self.automaton.transitions)

    @cached_property
    def guards(self) -> list[Guard]:
        """The guards of the transitions, and of the rankings that they ask."""
        return guards_asked(t.guard for t in self.automaton.transitions)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """What orders runs for NEXT or LAST: those that others ask come first."""
        return rankings_of(t.guard for t in self.automaton.transitions)

    @property
    def asked_of_rankings(self) -> list[Predicate]:
        """What the guards ask of them."""
        return [p for p in predicates_of(self.guards) if isinstance(p, Best | Chosen)]

    @cached_property
    def machines(self) -> list[Past]:
        """What tells of the events before an event: those that others ask come first."""
        return machines_of(self.predicates)

    @cached_property
    def marks(self) -> list[Marks]:
        """The sets of variables that transitions mark, by number; 0 is no mark."""
        used = {t.marks for t in self.automaton.transitions if t.marks}
        return [frozenset(), *sorted(used, key=sorted)]

    @cached_property
    def actions(self) -> list[Actions]:
        """What transitions do with registers, by number. Number 0 does nothing."""
        used = {t.actions for t in self.automaton.transitions if t.actions}
        return [NO_ACTIONS, *sorted(used, key=lambda actions: sorted(map(str, actions)))]

    # ---------------------------------------------------------------- what registers hold

    @property
    def remembered(self) -> frozenset[str]:
        """The attributes whose values registers hold or are compared with."""
        used = [a.value for actions in self.actions for a in actions if isinstance(a, Store | Check)]
        used += [f.condition for actions in self.actions for f in formulas_of(actions)]
        return frozenset(n.name for e in used if e is not None for n in ast.find(e, ast.Name))

    @cached_property
    def formulas(self) -> dict[Holds, Formula]:
        """The conditions over several registers, as instructions."""
        found = dict.fromkeys(f for actions in self.actions for f in formulas_of(actions))
        return {f: formula_of(f.condition, self._stored, self.schema, self.computed_unit) for f in found}

    @cached_property
    def computed_unit(self) -> str:
        """The unit of the times that formulas compute with: all of them are whole numbers in it."""
        found = [
            formula_of(f.condition, self._stored, self.schema) for actions in self.actions for f in formulas_of(actions)
        ]
        loaded = [e for f in found for e in (*(self._stored[r] for r in f.registers), *f.terms)]
        return unit_of(loaded, self.schema)

    @property
    def _stored(self) -> dict[Register, ast.Expression]:
        """The values that registers hold, except times."""
        return {a.register: a.value for actions in self.actions for a in actions if isinstance(a, Store) and a.value}

    @cached_property
    def narrowings(self) -> dict[Holds, list[Narrowed]]:
        """For each formula the registers of which it says where they must be, at most, for it to be TRUE."""
        found = {}
        for f, formula in self.formulas.items():
            ends = bounded_registers(formula)
            found[f] = [Narrowed(r, f, r in ends) for r in sorted(narrowed_registers(formula))]
        return found

    @cached_property
    def computed(self) -> dict[Register, Kind]:
        """The registers that formulas use, each with the kind of its value."""
        typing = Typing(self.schema)
        return {r: kind_of(self._stored[r], typing) for f in self.formulas.values() for r in f.registers}

    @cached_property
    def terms(self) -> dict[ast.Expression, Kind]:
        """The parts of formulas that concern only the present event, each with its kind."""
        typing = Typing(self.schema)
        return {t: kind_of(t, typing) for f in self.formulas.values() for t in f.terms}

    # ---------------------------------------------------------------- what is decided once matches are found

    @cached_property
    def shown(self) -> Marks:
        """The variables that a match has in the end."""
        marked: Marks = frozenset().union(*self.marks)
        return marked - self.only_judged - {HIDDEN}

    @cached_property
    def final_marks(self) -> list[Marks]:
        """The sets of marks once the conditions between events are judged and their variables left out."""
        return list(dict.fromkeys(m & self.shown for m in self.marks)) if self.related else self.marks

    @cached_property
    def ambiguous(self) -> bool:
        """Whether the automaton may report the same complex event twice."""
        return is_ambiguous(self.automaton)

    @property
    def chooses_earliest(self) -> bool:
        """Whether a match is chosen by its start: that is NEXT, unless a run can start with an unmarked event."""
        starts = [t for t in self.automaton.transitions if t.source == 0]
        return self.chooses is ast.Selector.NEXT and not self.automaton.registers and all(t.marks for t in starts)

    @property
    def judged(self) -> bool:
        """Whether some of what the automaton finds are no matches in the end, so that it cannot count matches."""
        return bool(self.related) or self.ambiguous

    @cached_property
    def bounds(self) -> tuple[Bound | LinearBound, ...]:
        """What the weights of a match's events must come to, so that it can pass when it is judged."""
        if self.automaton.registers or self.on_one_clock or self.spans or self.chooses:
            return ()
        used = frozenset[str]().union(*map(variables_of, self.related))
        once = [x for x in sorted(used) if marked_once(self.automaton, x)]
        found: tuple[Bound | LinearBound, ...] = bounds_of(self.related)
        return (*found, *linear_bounds(self.related, once))[:MOST_BOUNDS]

    @property
    def decided_last(self) -> str:
        """What is decided among the matches of an end after they are written out, in words; empty for nothing.

        If nothing must be decided, the match structure itself says which events took part.
        """
        if self.closing is not None and self.closing.consumes:
            return "CONSUME BY takes windows away once others are closed"
        if self.alternatives:
            return "a window that several pairs have is told once"
        if self.chooses is not None:
            return f"{self.chooses} chooses among the matches of an end"
        if self.related:
            return "conditions are judged on whole matches"
        return "LIMIT takes some of the matches of an end" if self.limit is not None else ""

    def walks(self, mode: Mode) -> bool:
        """Whether the match structure says which events took part, so that no matches are written out."""
        return mode is Mode.UNION and not self.decided_last

    @cached_property
    def fingerprint(self) -> str:
        """Differs between plans whose saved states must not be mixed. It is the same in every process."""
        return fingerprint_of(self)
