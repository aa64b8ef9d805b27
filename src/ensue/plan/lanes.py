"""Whether an aggregation is folded while events come, and what of: the parts of its measures as lanes of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ensue.data.schema import Kind, Schema
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.aggregation import Fold, Over, Part, is_span
from ensue.logic.scope import aggregates_of, attribute_variables
from ensue.logic.types import Typing
from ensue.logic.window import looks_back
from ensue.plan.plan import Plan

#: Of the mask of a set of runs, so many bits are there for columns.
MOST_COLUMNS = 15
#: The values of a best lane are ordered as these are.
_ORDERED = (Kind.BOOLEAN, Kind.INTEGER, Kind.TIMESTAMP, Kind.DURATION)
_INSIDE = {"sum": "plus", "count": "plus", "min": "lesser", "max": "greater"}
#: The aggregates of a match that are NULL only where it has no value.
_OF_VALUES = ("sum", "avg", "min", "max", "median")


@dataclass(frozen=True)
class Weight:
    """What events weigh: an expression over their attributes, or None for 1; those that the variable marks.

    Without a variable, the first event of a run weighs its time. As `plain`, a float is compared, and not added up.
    """

    variable: str | None
    argument: ast.Expression | None
    floats: bool = False
    plain: bool = False


@dataclass(frozen=True)
class SumLane:
    """The sum of weights over all runs, also `absolute`; or, `without`, the number of runs that have none."""

    weight: Weight
    absolute: bool = False
    without: bool = False


@dataclass(frozen=True)
class BestLane:
    """The least or the greatest of what runs are worth; how the weights of a run go together."""

    weight: Weight
    least: bool
    together: str
    from_zero: bool = False


@dataclass(frozen=True)
class FoldedPart:
    """A part with the lanes that it is read from; without any, it follows from the number of matches and their ends."""

    part: Part
    sums: tuple[SumLane, ...] = ()
    best: BestLane | None = None


@dataclass(frozen=True)
class LanePlan:
    """What is folded over all matches of an end, while events come."""

    parts: tuple[FoldedPart, ...]
    #: Why the nodes that the matches of an end share are visited at each end; empty where an event takes constant time.
    walked: str = ""
    #: Numbers are known modulo this, a prime below 2^31; 0 stands for 2^64.
    modulus: int = 0

    @property
    def sums(self) -> tuple[SumLane, ...]:
        return tuple(dict.fromkeys(lane for p in self.parts for lane in p.sums))

    @property
    def best(self) -> tuple[BestLane, ...]:
        return tuple(dict.fromkeys(p.best for p in self.parts if p.best is not None))

    @property
    def weights(self) -> tuple[Weight, ...]:
        return tuple(dict.fromkeys([*(s.weight for s in self.sums), *(b.weight for b in self.best)]))

    @property
    def of_times(self) -> bool:
        """Whether the times of starts or ends are asked for."""
        return any(p.part.over is Over.TIMES for p in self.parts)


class NotFolded(Exception):
    """Raised for what no lane holds, with the reason."""


def lanes_of(parts: Sequence[Part], schema: Schema | None) -> LanePlan:
    """The lanes of all parts; raises NotFolded."""
    made = LanePlan(tuple(_of(part, schema) for part in parts))
    if len(made.weights) > MOST_COLUMNS:
        raise NotFolded(f"more than {MOST_COLUMNS} different values are aggregated")
    return made


#: An event takes the square of the number of states in the worst case: beyond, nodes are visited.
MOST_STATES = 64


def folded_plan(plan: Plan, parts: Sequence[Part]) -> Plan:
    """The plan that folds the matches of an end as they come; raises NotFolded with the reason.

    Runs with equal marks from one start are one set for the determinised automaton, so that no match counts twice. Runs
    with registers, or with a clock, are told apart by what they store: then no match may have two runs.
    """
    if plan.chooses is not None or plan.chooses_judged is not None:
        raise NotFolded(f"{plan.chooses or plan.chooses_judged} chooses among the matches of an end")
    if plan.waits:
        raise NotFolded("what follows decides which windows are told")
    if plan.related:
        raise NotFolded("conditions are judged on whole matches")
    lanes = lanes_of(parts, plan.schema)
    why = _walked(plan)
    if not why:
        return replace(plan, lanes=lanes)
    plan = plan.with_registers
    if plan.ambiguous:
        raise NotFolded("two runs that store different values, or times, may be the same match")
    return replace(plan, lanes=replace(lanes, walked=why))


def _walked(plan: Plan) -> str:
    """Why the nodes of the window are visited at each end; empty where two stacks hold it."""
    if plan.automaton.registers or plan.on_one_clock:
        return "runs are told apart by the values and times that they store"
    if plan.rankings:
        return "a selector compares the ranks of all runs"
    return f"the automaton has more than {MOST_STATES} states" if plan.automaton.size > MOST_STATES else ""


def _of(part: Part, schema: Schema | None) -> FoldedPart:
    if part.over is Over.MATCHES:
        return FoldedPart(part)
    assert part.argument is not None
    if part.over is Over.TIMES:
        return _of_times(part, part.argument)
    if part.over is Over.EVENTS:
        return _of_events(part, part.argument, schema)
    return _of_matches(part, part.argument, schema)


def _of_times(part: Part, argument: ast.Expression) -> FoldedPart:
    start = Weight(None, None)
    if part.fold is Fold.INTEGERS:
        return FoldedPart(part, (SumLane(start),))
    if argument == ast.Name("end_time"):
        return FoldedPart(part)
    # The longest match is the one that started first.
    least = (part.fold is Fold.LEAST) is not is_span(argument)
    return FoldedPart(part, best=BestLane(start, least, "lesser" if least else "greater"))


def _of_events(part: Part, argument: ast.Expression, schema: Schema | None) -> FoldedPart:
    if isinstance(argument, ast.Name):
        return FoldedPart(part, (SumLane(Weight(argument.name, None)),))
    variable, own, kind = _event_value(argument, schema)
    if part.fold in (Fold.LEAST, Fold.GREATEST):
        least = part.fold is Fold.LEAST
        _check_ordered(argument, kind, schema)
        weight = Weight(variable, own, kind is Kind.FLOAT, plain=True)
        return FoldedPart(part, best=BestLane(weight, least, "lesser" if least else "greater"))
    if part.fold is Fold.COUNT:
        return FoldedPart(part, (SumLane(Weight(variable, ast.IsNull(own, negated=True))),))
    weight = Weight(variable, own, part.fold is Fold.FLOATS)
    if part.fold is Fold.FLOATS:
        return FoldedPart(part, (SumLane(weight),))
    return FoldedPart(part, (SumLane(weight), SumLane(weight, absolute=True)))


def _of_matches(part: Part, argument: ast.Expression, schema: Schema | None) -> FoldedPart:
    """Aggregates of the aggregates of each match."""
    text = print_expression(argument)
    if not isinstance(argument, ast.Call) or len(aggregates_of(argument)) != 1:
        raise NotFolded(f"{text} speaks of several events of a match at once")
    (inner,) = argument.arguments
    if part.fold is Fold.COUNT and argument.function in _OF_VALUES and not isinstance(inner, ast.Name):
        variable, own, _ = _event_value(inner, schema)
        return FoldedPart(part, (SumLane(Weight(variable, ast.IsNull(own, negated=True)), without=True),))
    if part.fold not in (Fold.LEAST, Fold.GREATEST) or argument.function not in _INSIDE:
        raise NotFolded(f"{part.fold} of {text} over all matches does not follow from parts of matches")
    least, together = part.fold is Fold.LEAST, _INSIDE[argument.function]
    if argument.function == "count":
        if isinstance(inner, ast.Name):
            weight = Weight(inner.name, None)
        else:
            variable, own, _ = _event_value(inner, schema)
            weight = Weight(variable, ast.IsNull(own, negated=True))
        return FoldedPart(part, best=BestLane(weight, least, together, from_zero=True))
    variable, own, kind = _event_value(inner, schema)
    if argument.function != "sum":
        _check_ordered(inner, kind, schema)
    weight = Weight(variable, own, kind is Kind.FLOAT, plain=True)
    return FoldedPart(part, best=BestLane(weight, least, together))


def _event_value(e: ast.Expression, schema: Schema | None) -> tuple[str, ast.Expression, Kind]:
    """The variable of an expression of one event, the same over bare names, and what kind its values are of."""
    text = print_expression(e)
    used = sorted(attribute_variables(e))
    if len(used) != 1:
        raise NotFolded(f"{text} speaks of several events of a match at once")
    if looks_back(e) or any(a.name.startswith("\0") for a in ast.find(e, ast.Attribute)):
        raise NotFolded(f"{text} looks back")
    found = Typing(schema).infer(e)
    known = {} if schema is None else schema.attributes
    types = [known[a.name].arrow for a in ast.find(e, ast.Attribute) if a.name in known]
    if schema is None:
        return used[0], ast.replaced(e, _bare), Kind.INTEGER  # as `explain` sees it, which knows no types
    if found is None or any(map(pa.types.is_uint64, types)):
        raise NotFolded(f"{text} is of a type without a sign, of 64 bits")
    return used[0], ast.replaced(e, _bare), found.kind


def _bare(e: ast.Expression) -> ast.Expression | None:
    return ast.Name(e.name) if isinstance(e, ast.Attribute) else None


def _check_ordered(e: ast.Expression, kind: Kind, schema: Schema | None) -> None:
    """No number stands for a text in its order, nor for a decimal exactly."""
    known = {} if schema is None else schema.attributes
    types = [known[a.name].arrow for a in ast.find(e, ast.Attribute) if a.name in known]
    if (kind not in _ORDERED and kind is not Kind.FLOAT) or any(map(pa.types.is_decimal, types)):
        raise NotFolded(f"{print_expression(e)} has no numbers that are ordered as its values")
