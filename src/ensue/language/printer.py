"""Prints an AST as text, with the fewest parentheses that keep the meaning: `parse(print(q)) == q`."""

from __future__ import annotations

import re

from ensue.language import ast
from ensue.language.position_logic import Formula, FromTo
from ensue.language.position_printer import FormulaPrinter
from ensue.language.syntax_errors import KEYWORDS, WORDS_IN_PLACE

# Binding strength, from loose to tight, as in the precedence list of the language page.
_SUFFIX, _UNLESS, _OR, _AND, _SEQUENCE, _POSTFIX = range(6)
_E_OR, _E_AND, _E_NOT, _E_COMPARE, _E_SUM, _E_PRODUCT, _E_MINUS, _E_ZONED, _E_VALUE = range(9)
_BINARY = {
    "OR": _E_OR,
    "AND": _E_AND,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _E_COMPARE),
    **dict.fromkeys(("+", "-", "||"), _E_SUM),
    **dict.fromkeys(("*", "/", "%"), _E_PRODUCT),
}


def print_query(query: ast.Query) -> str:
    """The query's text, one clause a line.

    >>> from ensue.language.parser import parse_query
    >>> print(print_query(parse_query("select * from S where (A as x);B filter x.v>1 within 5 sec limit 3")))
    SELECT *
    FROM S
    WHERE A AS x ; B
    FILTER x.v > 1
    WITHIN 5 s
    LIMIT 3
    """
    selector = "" if query.selector is ast.Selector.ALL else f"{query.selector} "
    items = "*" if query.items is None else ", ".join(_item(i) for i in query.items)
    suffixes = []
    pattern = query.pattern
    while isinstance(pattern, ast.Filter | ast.Within):
        suffixes.append(_suffix(pattern))
        pattern = pattern.body
    head = "SELECT"
    if query.aggregation is not None:
        head, items = "AGGREGATE", ", ".join(_item(i) for i in query.aggregation.items)
    if query.selector in (ast.Selector.MAX, ast.Selector.LAST) and items.startswith("("):
        items = f"+{items}"  # without the sign, the parser would read MAX( as the aggregate
    lines = [
        f"{head} {selector}{items}",
        f"FROM {', '.join(map(print_name, query.streams))}",
        _windows(pattern) if isinstance(pattern, ast.SpanOf) else f"WHERE {print_pattern(pattern)}",
        *reversed(suffixes),
    ]
    if query.partition:
        lines.append(f"PARTITION BY {', '.join(map(_key, query.partition))}")
    if query.consume is not ast.Consume.NONE:
        lines.append(f"CONSUME BY {query.consume}")
    if query.aggregation is not None and query.aggregation.grouped:
        lines.append(f"GROUP BY {_groups(query.aggregation)}")
    if query.order:
        lines.append(f"ORDER BY {', '.join(map(print_sort_key, query.order))}")
    if query.limit is not None:
        per = "" if query.per is ast.Per.RESULT else f" PER {query.per}"
        lines.append(f"LIMIT {query.limit}{per}")
    if query.expect is not None:
        lines.append(f"EXPECT ({print_pattern(query.expect)})")
    return "\n".join(lines)


def _groups(aggregation: ast.Aggregation) -> str:
    every = [] if aggregation.every is None else [f"EVERY {print_duration(aggregation.every)}"]
    return ", ".join([*(print_name(k.name) for k in aggregation.keys), *every, *(["END"] * aggregation.per_end)])


def print_sort_key(key: ast.SortKey) -> str:
    direction = " DESC" if key.descending else ""
    nulls = "" if key.nulls_first == key.descending else f" NULLS {'FIRST' if key.nulls_first else 'LAST'}"
    return f"{print_expression(key.expression)}{direction}{nulls}"


def _windows(p: ast.SpanOf) -> str:
    """The clause that defines windows, a pair for each alternative."""
    pairs: list[ast.Pattern] = []
    rest = p.body
    while isinstance(rest, ast.Or):
        pairs.append(rest.right)
        rest = rest.left
    return f"WINDOW {print_name(p.variable)} AS {' OR '.join(map(_pair, [rest, *reversed(pairs)]))}"


def _pair(p: ast.Pattern) -> str:
    if isinstance(p, FromTo):
        return print_pattern(p)
    until = ""
    if isinstance(p, ast.Until):
        until, p = f" UNTIL {print_closing(p)}", p.body
    if not isinstance(p, ast.After):
        return f"(IS {print_pattern(p)}{until})"
    past = "()" if p.past is None else _at(p.past, _UNLESS)
    return f"(AFTER {past} IS {print_pattern(p.body)}{until})"


def print_closing(p: ast.Until) -> str:
    """What stands behind UNTIL."""
    if p.closing is None:
        return "END"
    return f"({_at(p.closing, _OR)} OR END)" if p.or_end else print_pattern(p.closing)


def _key(key: ast.PartitionKey) -> str:
    text = print_name(key.attribute) if key.expression is None else print_expression(key.expression)
    return text if key.alias is None else f"{text} AS {print_name(key.alias)}"


def _item(item: ast.Item) -> str:
    text = print_expression(item.expression)
    return text if item.alias is None else f"{text} AS {print_name(item.alias)}"


def print_name(name: str) -> str:
    """The name as a query must write it: in backticks if it is a keyword or is not a plain identifier."""
    if re.fullmatch(r"[^\W\d]\w*", name) and name.upper() not in KEYWORDS | WORDS_IN_PLACE:
        return name
    if name.startswith("\0"):  # a name that Ensue made up: no query can contain it
        return f"#{name[1:]}"
    return "`" + name.replace("`", "``") + "`"


# ---------------------------------------------------------------- patterns


def print_pattern(pattern: ast.Pattern) -> str:
    """The pattern's text, on one line."""
    return _pattern(pattern)[0]


def print_formula(formula: Formula) -> str:
    """The text of a formula over positions, on one line."""
    return FormulaPrinter(print_name, print_pattern).text(formula)


def _at(pattern: ast.Pattern, least: int) -> str:
    text, strength = _pattern(pattern)
    return text if strength >= least else f"({text})"


def _pattern(p: ast.Pattern) -> tuple[str, int]:
    match p:
        case ast.Type():
            return print_name(p.name), _POSTFIX
        case ast.Any():
            return "ANY", _POSTFIX
        case ast.Satisfying():
            return f"{print_pattern(p.body)}[{print_expression(p.condition)}]", _POSTFIX
        case FromTo():
            between = f"{print_name(p.begin)} TO {print_name(p.end)}"
            return f"({between} WHERE {print_formula(p.formula)})", _POSTFIX
        case ast.SpanOf():
            return f"SPAN({print_pattern(p.body)}) AS {print_name(p.variable)}", _POSTFIX
        case ast.Matches():
            return f"MATCHES {print_name(p.name)}", _POSTFIX
        case ast.As():
            return f"{_at(p.body, _POSTFIX)} AS {print_name(p.variable)}", _POSTFIX
        case ast.Optional(body=ast.Iteration(low=1, high=None) as rounds) if rounds.link is not ast.Link.NEXT:
            mark = "*" if rounds.link is ast.Link.THEN else ":*"
            return f"{_repeated(rounds.body)}{mark}{_gap(rounds.gap)}", _POSTFIX
        case ast.Optional():
            return f"{_repeated(p.body)}?", _POSTFIX
        case ast.Iteration():
            # No text of a query says this: it is what a rewriting has made of `->+`.
            absent = "" if p.absent is None else f" /* NOT {_at(p.absent, _POSTFIX)} between two rounds */"
            return f"{_repeated(p.body)}{_times(p)}{_gap(p.gap)}{absent}", _POSTFIX
        case ast.Select():
            return f"{p.selector}({print_pattern(p.body)})", _POSTFIX
        case ast.Project():
            names = ", ".join(map(print_name, p.variables)) or "()"
            return f"PROJECT {names} ({print_pattern(p.body)})", _POSTFIX
        case ast.Sequence():
            return f"{_at(p.left, _SEQUENCE)} {p.link}{_gap(p.gap)} {_at(p.right, _POSTFIX)}", _SEQUENCE
        case ast.NotBetween():
            left, absent, right = _at(p.left, _SEQUENCE), _at(p.absent, _POSTFIX), _at(p.right, _POSTFIX)
            return f"{left} ; NOT {absent} ;{_gap(p.gap)} {right}", _SEQUENCE
        case ast.NotAfter():
            left, absent = _at(p.body, _SEQUENCE), _at(p.absent, _POSTFIX)
            return f"{left} ; NOT {absent} WITHIN {print_window(p.deadline)}", _SEQUENCE
        case ast.NotBefore():
            absent, body = _at(p.absent, _POSTFIX), _at(p.body, _UNLESS)
            return f"NOT {absent} WITHIN {print_window(p.deadline)} ; {body}", _SUFFIX
        case ast.And():
            return f"{_at(p.left, _AND)} AND {_at(p.right, _SEQUENCE)}", _AND
        case ast.All():
            return f"{_at(p.left, _AND)} ALL {_at(p.right, _SEQUENCE)}", _AND
        case ast.Or():
            return f"{_at(p.left, _OR)} OR {_at(p.right, _AND)}", _OR
        case ast.Unless():
            return f"{_at(p.body, _UNLESS)} UNLESS {_at(p.absent, _OR)}", _UNLESS
        case ast.After():
            past = "()" if p.past is None else _at(p.past, _OR)
            return f"{_at(p.body, _UNLESS)} AFTER {past}", _UNLESS
        case ast.Until():  # by itself it is no text of a query: so explain shows a pair
            return f"{_at(p.body, _UNLESS)} UNTIL {print_closing(p)}", _UNLESS
        case ast.Filter() | ast.Within():
            return f"{_at(p.body, _SUFFIX)} {_suffix(p)}", _SUFFIX
    raise AssertionError(p)


def _repeated(body: ast.Pattern) -> str:
    """The text of a repeated body. `(A AS x)+` keeps its parentheses: `A AS x+` looks as if `x` named the iteration."""
    text = _at(body, _POSTFIX)
    return f"({text})" if isinstance(body, ast.As | ast.SpanOf) else text


def _suffix(p: ast.Filter | ast.Within) -> str:
    if isinstance(p, ast.Filter):
        return f"FILTER {print_expression(p.condition)}"
    return f"WITHIN {print_window(p.window)}"


def _times(p: ast.Iteration) -> str:
    mark = "" if p.link is ast.Link.THEN else str(p.link)
    if p.high is None:
        return f"{mark}+" if p.low == 1 else f"{mark}{{{p.low},}}"
    return f"{mark}{{{p.low}}}" if p.low == p.high else f"{mark}{{{p.low},{p.high}}}"


def _gap(interval: ast.Interval | None) -> str:
    return "" if interval is None else print_interval(interval)


def print_window(window: ast.Interval | ast.EventCount) -> str:
    if isinstance(window, ast.EventCount):
        return f"{window.count} EVENTS"
    if isinstance(window, ast.WrittenInterval):
        return window.text
    if window.low is None and window.high is not None and window.high.inclusive:
        return print_duration(window.high.duration)
    return print_interval(window)


def print_interval(interval: ast.Interval) -> str:
    """The interval's text, with its brackets.

    >>> from ensue.language.parser import parse_interval
    >>> print_interval(parse_interval("[2 s .. 5 s]"))
    '[>= 2 s, <= 5 s]'
    """
    if isinstance(interval, ast.WrittenInterval):
        return interval.text
    low, high = interval.low, interval.high
    if low is not None and low == high and low.inclusive:
        return f"[= {print_duration(low.duration)}]"
    parts = []
    if low is not None:
        parts.append(f"{'>=' if low.inclusive else '>'} {print_duration(low.duration)}")
    if high is not None:
        parts.append(f"{'<=' if high.inclusive else '<'} {print_duration(high.duration)}")
    return f"[{', '.join(parts)}]"


def print_duration(duration: ast.Duration) -> str:
    return f"{duration.amount:f} {duration.unit}"


# ---------------------------------------------------------------- expressions


def print_expression(expression: ast.Expression) -> str:
    """The expression's text, on one line.

    >>> from ensue.language.parser import parse_expression
    >>> print_expression(parse_expression("(x.a + 1) * 2 > y.b and not (x[v > 0] or y.c is null)"))
    '(x.a + 1) * 2 > y.b AND NOT (x[v > 0] OR y.c IS NULL)'
    """
    return _expression(expression)[0]


def _e_at(expression: ast.Expression, least: int) -> str:
    text, strength = _expression(expression)
    return text if strength >= least else f"({text})"


def _expression(e: ast.Expression) -> tuple[str, int]:
    match e:
        case ast.Literal():
            return _literal(e), _E_VALUE
        case ast.DurationLiteral():
            return print_duration(e.duration), _E_VALUE
        case ast.Parameter():
            return str(e), _E_VALUE
        case ast.Name() | ast.InRegister():
            return print_name(e.name), _E_VALUE
        case ast.AllMatches():
            return "*", _E_VALUE
        case ast.Attribute():
            return f"{print_name(e.variable)}.{_attribute(e.name)}", _E_VALUE
        case ast.LastOf():
            return f"LASTOF({print_name(e.variable)}).{_attribute(e.name)}", _E_VALUE
        case ast.Field():
            return f"{_read_from(e.of)}.{_attribute(e.name)}", _E_VALUE
        case ast.Element():
            return f"{_read_from(e.of)}[{print_expression(e.index)}]", _E_VALUE
        case ast.Each():
            return f"{print_name(e.variable)}[{print_expression(e.condition)}]", _E_VALUE
        case ast.Call(function=ast.COUNT_DISTINCT):
            return f"count(DISTINCT {print_expression(e.arguments[0])})", _E_VALUE
        case ast.Call():
            return f"{e.function}({', '.join(map(print_expression, e.arguments))})", _E_VALUE
        case ast.EachRound():
            return f"{print_expression(e.condition)}, in each round", _E_VALUE
        case ast.Running():
            return f"RUNNING {print_expression(e.aggregate)}", _E_VALUE
        case ast.Unary(operator="NOT"):
            return f"NOT {_e_at(e.operand, _E_NOT)}", _E_NOT
        case ast.Unary():
            inner = _e_at(e.operand, _E_MINUS)
            # Two minus signs in a row would begin a comment.
            return f"-{' ' if inner.startswith('-') else ''}{inner}", _E_MINUS
        case ast.Binary():
            strength = _BINARY[e.operator]
            # Comparisons do not chain: both sides must bind more tightly.
            left = _e_at(e.left, strength + (strength == _E_COMPARE))
            return f"{left} {e.operator} {_e_at(e.right, strength + 1)}", strength
        case ast.IsNull():
            return f"{_e_at(e.operand, _E_SUM)} IS {_not(e.negated)}NULL", _E_COMPARE
        case ast.InList():
            options = ", ".join(map(print_expression, e.options))
            return f"{_e_at(e.operand, _E_SUM)} {_not(e.negated)}IN ({options})", _E_COMPARE
        case ast.Between():
            low, high = _e_at(e.low, _E_SUM), _e_at(e.high, _E_SUM)
            return f"{_e_at(e.operand, _E_SUM)} {_not(e.negated)}BETWEEN {low} AND {high}", _E_COMPARE
        case ast.Like():
            word = "ILIKE" if e.any_case else "LIKE"
            return f"{_e_at(e.operand, _E_SUM)} {_not(e.negated)}{word} {_e_at(e.pattern, _E_SUM)}", _E_COMPARE
        case ast.Case():
            return _case(e), _E_VALUE
        case ast.Cast():
            return f"CAST({print_expression(e.operand)} AS {e.type})", _E_VALUE
        case ast.AtTimeZone():
            return f"{_e_at(e.operand, _E_ZONED)} AT TIME ZONE {_string(e.zone)}", _E_ZONED
    raise AssertionError(e)


def _case(e: ast.Case) -> str:
    words = ["CASE" if e.operand is None else f"CASE {print_expression(e.operand)}"]
    words += [f"WHEN {print_expression(c)} THEN {print_expression(r)}" for c, r in e.branches]
    words += [] if e.otherwise is None else [f"ELSE {print_expression(e.otherwise)}"]
    return " ".join([*words, "END"])


def _read_from(e: ast.Expression) -> str:
    """The text of what a field or an element is read out of."""
    text = print_expression(e)
    named = isinstance(
        e, ast.Attribute | ast.LastOf | ast.Name | ast.Call | ast.Running | ast.Each | ast.Field | ast.Element
    )
    return text if named else f"({text})"


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _attribute(name: str) -> str:
    return name if name.upper() in KEYWORDS | WORDS_IN_PLACE else print_name(name)


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(literal: ast.Literal) -> str:
    match literal.type:
        case ast.LiteralType.STRING:
            return _string(str(literal.value))
        case ast.LiteralType.BOOLEAN | ast.LiteralType.NULL:
            return {True: "TRUE", False: "FALSE", None: "NULL"}[literal.value]  # type: ignore[index]
        case _:
            return repr(literal.value)
