"""The report of a result: the query, how it was evaluated, when and where it matched, and examples."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from ensue.errors import EngineError
from ensue.explain import explain
from ensue.explain.automaton_picture import automaton_picture
from ensue.language.printer import print_query
from ensue.logic.never import warnings_of
from ensue.logic.partition_keys import key_name
from ensue.pipeline import unknown_types
from ensue.plan.choice import choose
from ensue.report.html_page import Page, facts, picture, section, table, text_block
from ensue.results.matches import Matches
from ensue.results.rows import as_cell, rows_of
from ensue.results.time_line import ends_over_time, time_line

#: How many partitions and rows are listed.
_PARTITIONS, _ROWS = 20, 20


def report(matches: Matches, *, because: str = "") -> Page:
    """The page of a result. `because` says why there are no more matches, where that was asked."""
    checked, stream = matches.checked, matches.stream
    choice = choose(checked)
    warnings = [*warnings_of(checked.query, checked.text), *unknown_types(checked.query, stream)]
    figures: dict[str, object] = {"matches": len(matches), "events": len(stream), "engine": choice.engine}
    if matches.unexpected:
        figures["events that EXPECT does not expect"] = matches.unexpected
    try:
        drawn = "" if choice.plan is None else picture(automaton_picture(choice.plan.automaton, "the automaton"))
    except EngineError:
        drawn = ""
    counts = ends_over_time(matches)
    head = rows_of(matches.head(_ROWS).to_arrow())
    rows = table(list(head[0]), [[as_cell(v) for v in row.values()] for row in head]) if head else ""
    more = f'<p class="faint">the first {_ROWS} of {len(matches):,}</p>' if len(matches) > _ROWS else ""
    return Page(
        f"{len(matches):,} match{'' if len(matches) == 1 else 'es'} in {len(stream):,} events",
        facts({**figures, **_span(matches)}),
        section("Warnings", text_block("\n\n".join(warnings), warning=True)),
        section("Query", text_block(print_query(checked.query))),
        section("Matches over time", "" if counts is None else picture(counts)),
        section("Examples", picture(time_line(matches, density=False))),
        section("Partitions", _partitions(matches)),
        section("Why there are no more", text_block(because)),
        section("Rows", rows, more),
        section("How it is evaluated", drawn, text_block(explain(choice))),
    )


def _span(matches: Matches) -> dict[str, object]:
    """From when to when the events are."""
    times = matches.stream.time_column
    if not len(times):
        return {}
    first, last = (rows_of(pa.table({"t": times.slice(k, 1)}))[0]["t"] for k in (0, len(times) - 1))
    return {"from": as_cell(first), "to": as_cell(last)}


def _partitions(matches: Matches) -> str:
    """The partitions with the most matches."""
    keys = matches.checked.query.partition
    if not keys or not len(matches):
        return ""
    ends = pa.array(matches.end)
    values = [map(as_cell, matches.stream.table.column(k.attribute).take(ends).to_pylist()) for k in keys]
    counts = Counter(zip(*values, strict=True))
    rows = [(*key, count) for key, count in counts.most_common(_PARTITIONS)]
    more = len(counts) - len(rows)
    rest = f'<p class="faint">and {more:,} more with matches</p>' if more else ""
    return table([*map(key_name, keys), "matches"], rows) + rest
