"""What to write instead of a query that takes too much memory. It advises only what the query does not have yet."""

from __future__ import annotations

from ensue.data.budget import Advice, Large
from ensue.language import ast
from ensue.language.printer import print_window
from ensue.logic.classify import conjuncts_of
from ensue.logic.comparisons import comparison
from ensue.logic.scope import variables_of

_BEST_OF_AN_END = (ast.Selector.NEXT, ast.Selector.LAST, ast.Selector.MAX)
_FEWER_ROWS = "rows one by one (for row in matches), or tables a part at a time (matches.tables())"


def advice_for(query: ast.Query, engine: str = "auto", *, on_spark: bool = False) -> Advice:
    """A function from what is large to texts that say how to reduce it. `engine` is the one that the user asked for."""

    many = [_window(query), _limit(query), _selector(query), _fewer(query), _detect(query)]
    many += [_totals(query), None if on_spark else _sample(query)]

    def advice(what: Large) -> list[str]:
        given: dict[Large, list[str | None]] = {
            Large.ENDING: many,
            Large.MATCHES: many,
            Large.JUDGED: [_window(query), _keys(query), _plainer(query)],
            Large.CHOICES: [_window(query), "a condition that uses fewer sets of events"],
            Large.TOOK_PART: [_window(query), _keys(query)],
            Large.OPEN: [_window(query), _keys(query)],
            Large.KEYS: ["PARTITION BY attributes with fewer values"],
            Large.WAITING: ["a shorter deadline", _limit(query)],
            Large.UNCLOSED: [_window(query), _selector(query), "UNTIL with one event: then the next one decides"],
            Large.EVENTS: [_window(query), _attributes(query)],
            Large.TASK: ["more tasks: set spark.sql.shuffle.partitions higher"],
            Large.PARTS: [_other_engine(engine), _keys(query), "fewer events at a time"],
            Large.TABLE: [None if on_spark else _FEWER_ROWS, _shown(query)],
            Large.ANSWER: ["a shorter keep=", _shown(query)],
            Large.UNSETTLED: ["a watermark that is closer: a shorter delay=, or advance() more often"],
            Large.TOLD: [_window(query), "slack=, so that matches are told when fewer events can change them"],
            Large.PROGRAMS: ["fewer rounds in {n,m}, or a simpler pattern inside it"],
        }
        return [text for text in given[what] if text is not None]

    return advice


def _window(query: ast.Query) -> str:
    window = next(ast.find(query.pattern, ast.Within), None)
    if window is None:
        return "a window: WITHIN 1 h, or WITHIN 100 EVENTS"
    return f"a window tighter than WITHIN {print_window(window.window)}"


def _limit(query: ast.Query) -> str | None:
    if query.limit is not None or query.aggregation is not None:
        return None
    return "LIMIT 10 PER END, for at most ten matches at each end"


def _selector(query: ast.Query) -> str | None:
    chosen = [query.selector, *(s.selector for s in ast.find(query.pattern, ast.Select))]
    if any(s in _BEST_OF_AN_END for s in chosen):
        return None
    return "SELECT NEXT, LAST or MAX, for the best match at each end"


def _fewer(query: ast.Query) -> str | None:
    """Matches differ only in the variables that are shown. If fewer are shown, several matches become one."""
    if query.items is None and query.aggregation is None:
        return "SELECT the variables you need instead of *: matches that agree in them become one"
    return None


def _shown(query: ast.Query) -> str | None:
    whole = query.items is None or any(isinstance(i.expression, ast.Name) for i in query.items)
    return "SELECT count(x), first(x.a) or another value instead of whole events" if whole else None


def _detect(query: ast.Query) -> str | None:
    if query.limit is not None or query.aggregation is not None:
        return None
    return "Query.detect, for the events that end a match and took part in one, without the matches"


def _totals(query: ast.Query) -> str | None:
    if query.limit is not None or query.aggregation is not None:
        return None
    return "AGGREGATE count(*) AS n instead of SELECT, for their number, sums and extremes"


def _sample(query: ast.Query) -> str | None:
    if query.limit is not None or query.aggregation is not None:
        return None
    return "Query.sample, for some of them, drawn at random"


def _keys(query: ast.Query) -> str | None:
    return None if query.partition else "PARTITION BY what the events of a match have in common"


def _plainer(query: ast.Query) -> str | None:
    """A comparison with one event on each side is checked while a match grows, other conditions at its end."""
    said = [c for f in ast.find(query.pattern, ast.Filter) for c in conjuncts_of(f.condition)]
    if any(len(variables_of(c)) > 1 and comparison(c) is None for c in said):
        return "comparisons with one event on each side, x.a < y.a + 1 for x.a - y.a < 1: they are checked earlier"
    return None


def _attributes(query: ast.Query) -> str | None:
    whole = query.items is None or any(isinstance(i.expression, ast.Name) for i in query.items)
    return "SELECT the attributes you need, such as x.a, instead of whole events" if whole else None


def _other_engine(engine: str) -> str | None:
    if engine == "reference":
        return "engine='auto', which does not keep the complex events of each part"
    return "another way to write it: explain says why the reference evaluates this query"
