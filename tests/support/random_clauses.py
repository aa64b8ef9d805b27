"""Random clauses MATCH_RECOGNIZE as text, and random tables for them: everything that the clause has, in small."""

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

VARIABLES = ("A", "B", "C", "D")
SUBSETS = {"U": ("A", "B"), "W": ("B", "C", "D")}


def random_table(r: random.Random) -> pa.Table:
    size = r.choice((0, 1, 2, 3, 5, 8, 12, 16))

    def some(values: Sequence[Any], nulls: float = 0.15) -> list[Any]:
        return [None if r.random() < nulls else r.choice(values) for _ in range(size)]

    return pa.table(
        {
            "k": pa.array(some(("p", "q", "r")), pa.string()),
            "t": pa.array(some(range(10), 0.1), pa.int64()),
            "at": pa.array([r.randrange(20) * 1_000_000 for _ in range(size)], pa.timestamp("us")),
            "v": pa.array(some(range(4)), pa.int64()),
            "f": pa.array(some((0.5, 1.0, -2.5, 1e300, float("inf"), float("nan"), 0.1)), pa.float64()),
            "s": pa.array(some(("a", "b", "ab", "")), pa.string()),
        }
    )


class Clauses:
    """Makes clauses; `paths` is how likely a condition speaks of the match."""

    def __init__(self, r: random.Random, paths: float = 0.5) -> None:
        self.r = r
        self.paths = paths
        self.used: list[str] = []

    def query(self) -> str:
        r = self.r
        pattern = self.pattern(r.choice((1, 2, 2, 3)))
        if not self.used:
            pattern, self.used = f"{pattern} A?", ["A"]
        used = list(dict.fromkeys(self.used))
        subsets = {u: vs for u, vs in SUBSETS.items() if set(vs) <= set(used) and r.random() < 0.8}
        self.names = [*used, *subsets]
        exclusion = "{-" in pattern
        rows = [
            "ONE ROW PER MATCH",
            "ALL ROWS PER MATCH",
            "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
            "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
        ]
        rows += [] if exclusion else ["ALL ROWS PER MATCH WITH UNMATCHED ROWS"] * 2
        skip = ["", "AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW"] * 2
        skip += [f"AFTER MATCH SKIP TO {r.choice(('FIRST ', 'LAST ', ''))}{r.choice(self.names)}"]
        order = r.choice(("", "t", "t DESC", "t, v DESC", "at", "v NULLS FIRST, at DESC", "at, s NULLS FIRST, f DESC"))
        within = " WITHIN INTERVAL '5' SECOND" if order.startswith("at") and r.random() < 0.3 else ""
        parts = [
            "PARTITION BY k" if r.random() < 0.5 else "",
            f"ORDER BY {order}" if order else "",
            "MEASURES " + ", ".join(f"{self.value(3, define=False)} AS m{i}" for i in range(r.choice((1, 2, 4)))),
            r.choice(rows),
            r.choice(skip),
            f"PATTERN ({pattern}){within}",
            "SUBSET " + ", ".join(f"{u} = ({', '.join(vs)})" for u, vs in subsets.items()) if subsets else "",
        ]
        defined = [v for v in used if r.random() < 0.85]
        definitions = ", ".join(f"{v} AS {self.condition(v, 2)}" for v in defined)
        parts.append(f"DEFINE {definitions}" if defined else "")
        return "SELECT * FROM t MATCH_RECOGNIZE (\n  " + "\n  ".join(p for p in parts if p) + "\n)"

    # -- patterns

    def pattern(self, depth: int) -> str:
        r = self.r
        kind = r.random()
        if depth == 0 or kind < 0.15:
            return self._atom()
        if kind < 0.5:
            return " ".join(self._quantified(depth - 1) for _ in range(r.choice((2, 2, 3))))
        if kind < 0.7:
            return f"({' | '.join(self.pattern(depth - 1) for _ in range(r.choice((2, 3))))})"
        if kind < 0.78:
            return f"PERMUTE({', '.join(self.pattern(depth - 1) for _ in range(r.choice((2, 3))))})"
        if kind < 0.84:
            return f"{{- {self.pattern(depth - 1)} -}}"
        return self._quantified(depth)

    def _quantified(self, depth: int) -> str:
        r = self.r
        body = self.pattern(max(depth - 1, 0))
        if r.random() < 0.4:
            return body
        low = r.randrange(3)
        high = max(low + r.randrange(3), 1)
        bounds = (f"{{{max(low, 1)}}}", f"{{{low},}}", f"{{{low},{high}}}", f"{{,{high}}}")
        quantifier = r.choice(("*", "+", "?", "*", "+", "?", *bounds))
        return f"({body}){quantifier}{r.choice(('', '', '?'))}"

    def _atom(self) -> str:
        kind = self.r.random()
        if kind < 0.05:
            return "()"
        if kind < 0.1:
            return self.r.choice("^$")
        self.used.append(self.r.choice(VARIABLES))
        return self.used[-1]

    # -- conditions

    def condition(self, variable: str, depth: int) -> str:
        r = self.r
        kind = r.random()
        if depth and kind < 0.3:
            left, right = self.condition(variable, depth - 1), self.condition(variable, depth - 1)
            return f"({left} {r.choice(('AND', 'AND', 'OR'))} {right})"
        if depth and kind < 0.35:
            return f"NOT {self.condition(variable, depth - 1)}"
        if r.random() < self.paths:
            left, right = self.number(define=True), self.number(define=True)
            return f"{left} {r.choice(('=', '<>', '<', '<=', '>', '>='))} {right}"
        column = r.choice(("v", f"{variable}.v", "PREV(v)", "NEXT(v)", f"PREV({variable}.v, 2)", f"LAST({variable}.v)"))
        simple = (
            f"{column} {r.choice(('>', '<', '=', '>='))} {r.randrange(4)}",
            f"{column} > PREV(v)",
            f"{column} IS NULL",
        )
        return r.choice((*simple, "s LIKE 'a%'", "PREV(s) = s", "CLASSIFIER() = 'A'", "f > 0", "TRUE", "t < 6"))

    def number(self, define: bool) -> str:
        r = self.r
        name = r.choice((*self.names, ""))
        column = f"{name}.v" if name else "v"
        kind = r.randrange(16)
        final = "" if define else r.choice(("", "", "FINAL ", "RUNNING "))
        match kind:
            case 0 | 1:
                return str(r.randrange(4))
            case 2 | 3:
                return column
            case 4:
                return f"{final}{r.choice(('FIRST', 'LAST'))}({column}, {r.randrange(3)})"
            case 5:
                return f"{r.choice(('PREV', 'NEXT'))}({column}, {r.randrange(3)})"
            case 6:
                inner = f"{final}{r.choice(('FIRST', 'LAST'))}({column}{r.choice(('', ', 1'))})"
                return f"{r.choice(('PREV', 'NEXT'))}({inner}{r.choice(('', ', 2'))})"
            case 7:
                return f"{final}count({r.choice(('*', f'{name}.*' if name else '*', column, 'DISTINCT ' + column))})"
            case 8:
                return f"{final}{r.choice(('sum', 'min', 'max', 'avg'))}({r.choice(('', 'DISTINCT '))}{column})"
            case 9:
                return f"{final}sum({column} + MATCH_NUMBER())"
            case 10:
                return "MATCH_NUMBER()"
            case 11:
                return f"CASE WHEN {column} > 1 THEN {r.randrange(5)} ELSE {column} END"
            case 12:
                return f"({column} + {self.number(define) if r.random() < 0.5 else 1})"
            case 13:
                return f"length({self.text(define)})"
            case 14:
                return f"coalesce({column}, -1)"
        if r.random() < 0.3:
            return f"{final}max_by({column}, MATCH_NUMBER() + {column})"
        return f"{final}count(CASE WHEN CLASSIFIER({name}) = 'A' THEN 1 END)"

    def text(self, define: bool) -> str:
        r = self.r
        name = r.choice((*self.names, ""))
        column = f"{name}.s" if name else "s"
        final = "" if define else r.choice(("", "", "FINAL ", "RUNNING "))
        return r.choice(
            (
                column,
                f"CLASSIFIER({name})",
                f"{final}{r.choice(('FIRST', 'LAST'))}(CLASSIFIER({name}), {r.randrange(2)})",
                f"{r.choice(('PREV', 'NEXT'))}(CLASSIFIER({name}))",
                f"{final}LAST(CLASSIFIER({name}) || '-' || {column})",
                f"{final}string_agg(CLASSIFIER({name}), '')",
            )
        )

    def value(self, depth: int, define: bool) -> str:
        r = self.r
        final = r.choice(("", "", "FINAL ", "RUNNING "))
        name = r.choice((*self.names, ""))
        column = f"{name}.f" if name else "f"
        kind = r.random()
        if kind < 0.5:
            return self.number(define)
        if kind < 0.75:
            return self.text(define)
        return r.choice(
            (
                f"{final}array_agg(CLASSIFIER({name}))",
                f"{final}{r.choice(('sum', 'min', 'max', 'avg', 'count'))}({column})",
                f"{final}array_agg({column})",
                f"{final}bool_and({column} > 0)",
                f"{final}any_value({column})",
                f"{final}{r.choice(('max_by', 'min_by'))}({column}, {r.choice((column, f'CLASSIFIER({name})'))})",
                f"{final}array_agg({column} ORDER BY {column}{r.choice((' DESC', ' NULLS FIRST', ''))})",
                f"{final}string_agg(CLASSIFIER({name}), '' ORDER BY {column} DESC)",
                f"{final}sum({column}) FILTER (WHERE CLASSIFIER({name}) <> 'A')",
                column,
                "LAST(at) - FIRST(at)",
                f"PREV({column})",
            )
        )
