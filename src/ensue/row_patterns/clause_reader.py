"""Reads the clause MATCH_RECOGNIZE (...): its parts, and the pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ensue.errors import ProblemKind
from ensue.language import ast
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.sql_expressions import MOST_NESTED, ExpressionReader
from ensue.row_patterns.sql_tokens import variable_of
from ensue.row_patterns.sql_words import NO_ALIAS

_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_HINT = (
    "the parts are PARTITION BY, ORDER BY, MEASURES, ONE ROW PER MATCH, ALL ROWS PER MATCH, AFTER MATCH SKIP, PATTERN, "
)
_HINT += "SUBSET, DEFINE"
T = TypeVar("T")


class ClauseReader(ExpressionReader):
    """Reads what stands in the parentheses behind MATCH_RECOGNIZE."""

    def clause(self) -> rows.MatchRecognize:
        start = self.take("MATCH_RECOGNIZE")
        self.take("(")
        parts: dict[str, Any] = {}
        while not self.took(")"):
            self._part(parts)
        if "PATTERN" not in parts:
            hint = "write PATTERN (A B+), and what A and B are in DEFINE"
            self.refuse("MATCH_RECOGNIZE needs a PATTERN", start.span, hint)
        pattern, within = parts["PATTERN"]
        self._put_in_times(parts)
        return rows.MatchRecognize(
            pattern,
            parts.get("PARTITION", ()),
            parts.get("ORDER", ()),
            parts.get("MEASURES", ()),
            parts.get("PER MATCH", rows.RowsPerMatch.ONE),
            parts.get("AFTER", rows.Skip(span=start.span)),
            within,
            parts.get("SUBSET", ()),
            parts.get("DEFINE", ()),
            span=self.span_from(start),
        )

    def _put_in_times(self, parts: dict[str, Any]) -> None:
        """Puts the first column of ORDER BY into the place of MATCH_ROWTIME()."""
        order = parts.get("ORDER", ())

        def by(e: ast.Expression) -> ast.Expression | None:
            if not isinstance(e, rows.MatchTime):
                return None
            if not order or not isinstance(order[0].expression, ast.Name | ast.Attribute):
                hint = "write ORDER BY with a column of times, or name it: LAST(time)"
                self.refuse("MATCH_ROWTIME() takes the first column of ORDER BY", e.span, hint)
            return rows.Navigate("LAST", replace(order[0].expression, span=e.span), span=e.span)

        for part, name in (("MEASURES", "expression"), ("DEFINE", "condition")):
            parts[part] = tuple(replace(p, **{name: ast.replaced(getattr(p, name), by)}) for p in parts.get(part, ()))

    def _part(self, parts: dict[str, Any]) -> None:
        """Reads one part of the clause; each comes once, and the standard's order is not asked for."""
        start = self.here
        readers: dict[str, tuple[str, Callable[[], Any]]] = {
            "PARTITION": ("PARTITION", self._partition),
            "ORDER": ("ORDER", self._order),
            "MEASURES": ("MEASURES", lambda: self._listed(self._measure)),
            "ONE": ("PER MATCH", self._rows_per_match),
            "ALL": ("PER MATCH", self._rows_per_match),
            "AFTER": ("AFTER", self._skip),
            "PATTERN": ("PATTERN", self._whole_pattern),
            "SUBSET": ("SUBSET", lambda: self._listed(self._subset)),
            "DEFINE": ("DEFINE", lambda: self._listed(self._definition)),
        }
        if start.word in ("INITIAL", "SEEK"):
            hint = "it belongs to the form in OVER (...), which is not there"
            self.refuse(f"{start.word} has no meaning in MATCH_RECOGNIZE", start.span, hint)
        if start.word not in readers:
            self.unexpected("')'", _HINT if start.is_name and parts else None)
        name, read = readers[start.word]
        if name in parts:
            message = "a second PER MATCH" if name == "PER MATCH" else f"a second {name}"
            self.refuse(message, start.span, "each part of the clause stands once, with commas in it")
        parts[name] = read()

    def _listed(self, read: Callable[[], T]) -> tuple[T, ...]:
        self.step()
        return self.several(read)

    def _partition(self) -> tuple[ast.Expression, ...]:
        self.take("PARTITION", "BY")
        return self.several(self.expression)

    def _measure(self) -> rows.Measure:
        start = self.here
        expression = self.expression()
        if not (self.here.is_name and self.here.word not in (*NO_ALIAS, "AS")):
            self.take("AS", hint="each measure has a name: A.price AS price")
        return rows.Measure(expression, self.name().value, span=self.span_from(start))

    def _rows_per_match(self) -> rows.RowsPerMatch:
        if self.took("ONE"):
            self.take("ROW", "PER", "MATCH")
            return rows.RowsPerMatch.ONE
        self.take("ALL", "ROWS", "PER", "MATCH")
        if self.took("OMIT"):
            self.take("EMPTY", "MATCHES")
            return rows.RowsPerMatch.OMIT_EMPTY
        if self.took("WITH"):
            self.take("UNMATCHED", "ROWS")
            return rows.RowsPerMatch.WITH_UNMATCHED
        if self.took("SHOW"):
            self.take("EMPTY", "MATCHES")
        return rows.RowsPerMatch.ALL

    def _skip(self) -> rows.Skip:
        start = self.take("AFTER")
        self.take("MATCH", "SKIP")
        if self.took("PAST"):
            self.take("LAST", "ROW")
            return rows.Skip(span=self.span_from(start))
        self.take("TO", hint="write SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO FIRST A or SKIP TO LAST A")
        if self.took("NEXT", "ROW"):
            return rows.Skip(rows.SkipTo.NEXT, span=self.span_from(start))
        to = rows.SkipTo.LAST
        if self.sees_one_of(("FIRST", "LAST")) and self.ahead().is_name and self.ahead().word != "PATTERN":
            to = rows.SkipTo(f"TO {self.step().word}")
        variable = self.name("a variable")
        return rows.Skip(to, variable_of(variable), span=self.span_from(start))

    def _within(self) -> ast.Duration | None:
        if not self.took("WITHIN"):
            return None
        token = self.take("INTERVAL", hint="write WITHIN INTERVAL '10' MINUTE")
        if self.here.kind not in ("string", "integer", "decimal"):
            self.unexpected("a length of time", "write WITHIN INTERVAL '10' MINUTE")
        return self._length(token)

    def _subset(self) -> rows.Subset:
        start = self.name("the name of a subset")
        self.take("=")
        self.take("(")
        variables = self.several(self._variable)
        self.take(")")
        return rows.Subset(variable_of(start), variables, span=self.span_from(start))

    def _variable(self) -> rows.Variable:
        token = self.name("a variable")
        return rows.Variable(variable_of(token), span=token.span)

    def _definition(self) -> rows.Definition:
        start = self.name("a variable")
        self.take("AS")
        return rows.Definition(variable_of(start), self.expression(), span=self.span_from(start))

    # -- patterns

    def _whole_pattern(self) -> tuple[rows.RowPattern, ast.Duration | None]:
        self.take("PATTERN", "(")
        pattern = self._alternation()
        self.take(")")
        return pattern, self._within()

    def _alternation(self) -> rows.RowPattern:
        start = self.here
        self._nested += 1
        if self._nested > MOST_NESTED:
            message = f"the pattern nests more than {MOST_NESTED} deep here"
            self.refuse(message, start.span, kind=ProblemKind.UNSUPPORTED)
        options = [self._concatenation()]
        while self.took("|"):
            options.append(self._concatenation())
        self._nested -= 1
        return options[0] if len(options) == 1 else rows.Alternation(tuple(options), span=self.span_from(start))

    def _concatenation(self) -> rows.RowPattern:
        start = self.here
        parts = [self._quantified()]
        while self.here.is_name or self.here.word in ("(", "{-", "^", "$"):
            parts.append(self._quantified())
        return parts[0] if len(parts) == 1 else rows.Concatenation(tuple(parts), span=self.span_from(start))

    def _quantified(self) -> rows.RowPattern:
        start = self.here
        body = self._primary()
        bounds = self._bounds()
        if bounds is None:
            return body
        low, high = bounds
        greedy = not self.took("?")
        if self.here.word in ("*", "+", "?", "{"):
            self.unexpected("one quantifier", "put the part in parentheses: (A+)*")
        return rows.Quantified(body, low, high, greedy, span=self.span_from(start))

    def _bounds(self) -> tuple[int, int | None] | None:
        start = self.here
        if self.here.word in _QUANTIFIERS:
            return _QUANTIFIERS[self.step().word]
        if not self.took("{"):
            return None
        low, comma = self._count(), self.took(",")
        high = self._count() if comma else low
        if not comma and low is None:
            self.unexpected("a number", "write {2}, {2,}, {2,3} or {,3}")
        self.take("}")
        span = self.span_from(start)
        if high == 0:
            self.refuse("a quantifier allows one repetition at least", span, "write () for the empty pattern")
        if high is not None and (low or 0) > high:
            self.refuse(f"at least {low} and at most {high} repetitions cannot be", span)
        return low or 0, high

    def _count(self) -> int | None:
        if self.here.kind != "integer":
            return None
        token = self.step()
        if len(token.text) > 9:
            self.refuse("the number of repetitions is too large", token.span)
        return int(token.text)

    def _primary(self) -> rows.RowPattern:
        start = self.here
        if self.took("("):
            if self.took(")"):
                return rows.Empty(span=self.span_from(start))
            found = self._alternation()
            self.take(")")
            return replace(found, span=self.span_from(start))
        if self.took("{-"):
            body = self._alternation()
            self.take("-}")
            return rows.Exclusion(body, span=self.span_from(start))
        if self.took("^"):
            return rows.PartitionStart(span=start.span)
        if self.took("$"):
            return rows.PartitionEnd(span=start.span)
        if self.took("PERMUTE", "("):
            parts = self.several(self._alternation)
            self.take(")")
            return rows.Permutation(parts, span=self.span_from(start)) if len(parts) > 1 else parts[0]
        token = self.name("a pattern")
        if token.kind == "name" and token.text.endswith("$"):  # in A$, the end of the partition stands behind A
            token = self.split(token, len(token.text.rstrip("$")))
        return rows.Variable(variable_of(token), span=token.span)
