"""What `explain_sql` says of a clause: which search finds its matches, and why."""

from __future__ import annotations

from ensue.errors import counted
from ensue.language import ast
from ensue.row_patterns.match_finding import Plan
from ensue.row_patterns.match_terms import Formula, Navigation, NumberOfMatch
from ensue.row_patterns.row_conditions import is_candidate
from ensue.row_patterns.search_program import Interpreted


def explain_clause(plan: Plan) -> str:
    """One line for each thing that decides how the matches are found."""
    clause = plan.clause
    written = clause.text[clause.pattern.span.start : clause.pattern.span.end]
    steps = len(plan.program.variable)
    lines = [("PATTERN", f"({' '.join(written.split())}), {counted(steps, 'step')} written out")]
    for variable, whole in clause.conditions.items():
        of_match = plan.conditions.of_match.get(variable, ())
        if not of_match:
            lines.append((variable, f"{_line(whole.text)}: a column of truth"))
        for part in of_match:
            lines.append(
                (variable, f"{_text(clause.text, part)}: asked in the search, since {_reason(part, variable)}")
            )
    if clause.within is not None:
        lines.append(("WITHIN", "asked in the search, since it depends on where a match begins"))
    search = "two passes over the rows, backward and forward, without turning back"
    if not plan.walks:
        search = "in order of preference, with failures remembered"
        reason = _why_interpreted(plan)
        if reason is not None:
            search += f"; slow, since the conditions have {reason}"
    lines.append(("search", search))
    partitions = f"by {', '.join(clause.partition)}" if clause.partition else "one"
    order = ", ".join(k.column + (" DESC" if k.descending else "") for k in clause.order)
    lines.append(("partitions", f"{partitions}, and {f'ordered by {order}' if order else _AS_THEY_COME}"))
    width = max(len(name) for name, _ in lines)
    return "\n".join(["row pattern", *(f"  {name.ljust(width)}  {said}" for name, said in lines)])


_AS_THEY_COME = "its rows in the order in which they come"


def _why_interpreted(plan: Plan) -> str | None:
    """Why the search is not compiled; None if it is."""
    try:
        plan.search  # noqa: B018
    except Interpreted as e:
        return str(e)
    return None


def _reason(part: Formula, variable: str) -> str:
    name, term = next((n, t) for n, t in part.terms.items() if not is_candidate(t, variable))
    if isinstance(term, NumberOfMatch):
        return f"{name} depends on the matches before"
    return f"{name} {'goes to' if isinstance(term, Navigation) else 'is over'} other rows of the match"


def _text(text: str, part: Formula) -> str:
    spans = [n.span for n in ast.walk(part.expression) if n.span.end]
    return _line(text[min(s.start for s in spans) : max(s.end for s in spans)]) if spans else _line(part.text)


def _line(text: str) -> str:
    return " ".join(text.split())
