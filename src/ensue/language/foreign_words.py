"""Words and signs that other languages have, and what to write instead: hints for syntax errors."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Stands for the place of the error in the expressions below: what they match is before and after it.
_HERE = "\N{PILCROW SIGN}"
#: So much of the text before the error is looked at, and after it.
_BEFORE, _AFTER = 200, 100

_ITEMS = frozenset(("SELECT",))
_STREAMS = frozenset(("FROM",))
_PATTERN = frozenset(("WHERE",))
_CONDITION = frozenset(("SELECT", "FILTER"))
_TIME = frozenset(("WITHIN",))
_EVERYWHERE = frozenset(("", "SELECT", "FROM", "WHERE", "FILTER", "WITHIN", "PARTITION", "CONSUME", "ORDER", "LIMIT"))

_COMMENT = "comments are written -- to the end of the line, or /* ... */"
_PARAMETER = "a parameter has a name: write $least, and hand over params={'least': 3}"
_SEQUENCE = "write A ; B for A and later B, A : B for directly after it, A -> B for the next B"
_NEXT = "write A -> B for the next B, A ; B for every later one"
_FILTERED = "a condition on an event goes into FILTER: (A AS x FILTER x.v > 3)"
_REGEX = "write a.name RLIKE 'p' for a regular expression"
_NESTED = "a query holds no other query"
_ESPER = "write FROM stream WHERE A AS a -> B AS b FILTER b.v > a.v WITHIN 5 min"
_SELECT_FIRST = "a query reads SELECT * FROM stream WHERE pattern"
_SEVERAL = "a match is one row: write CONSUME BY ANY for matches that do not overlap"
_MERGED = "FROM S, T merges streams by time, and the pattern joins their events"
_TIMES = "write A+ for one or more, A{3} for three, A{2,} for two or more"
_LOOPS = "write A+ for all combinations, A:+ for rounds without other events between, A->+ for next ones"
_ANY_START = "a match may start at every event: leave 'every' out, and write A -> B"
_POWER = "write power(a, b)"


class _Rule(NamedTuple):
    """A hint for an error in one of these clauses, where the text around it is like this."""

    clauses: frozenset[str]
    around: re.Pattern[str]
    hint: str


def _rules(clauses: frozenset[str], *pairs: tuple[str, str]) -> tuple[_Rule, ...]:
    return tuple(_Rule(clauses, re.compile(around, re.IGNORECASE | re.DOTALL), hint) for around, hint in pairs)


#: The first that fits is told; `\1` in a hint is a group of what was matched.
_RULES: tuple[_Rule, ...] = (
    *_rules(
        _EVERYWHERE,
        (r"¶(?:#|//)", _COMMENT),
        (r"¶(?:\u2018|\u2019|\u201c|\u201d)", "strings take plain single quotes"),
        (r"¶MATCH_RECOGNIZE\b", "write the pattern itself: FROM stream WHERE A AS a ; B+ FILTER a.v > 1"),
        (r"MATCH_RECOGNIZE\s*¶", "write the pattern itself: FROM stream WHERE A AS a ; B+ FILTER a.v > 1"),
        (r"¶ONE\s+ROW\b", "a match is one row: leave ONE ROW PER MATCH out"),
        (r"¶ALL\s+ROWS\b", "SELECT * gives all events of a match, as lists in one row"),
        (r"¶AFTER\s+MATCH\b|AFTER\s+MATCH\s+¶SKIP\b", _SEVERAL),
        (r"¶EMIT\b", "a match is reported when its last event has come: leave EMIT out"),
        (
            r"¶GROUP\b",
            "GROUP BY stands behind the pattern: AGGREGATE count(*) AS n FROM S WHERE p PARTITION BY k GROUP BY k",
        ),
        (r"¶HAVING\b", "write FILTER: FILTER count(x) >= 3"),
        (
            r"¶(?:UNION|INTERSECT|EXCEPT)\b",
            "write p OR q for either of two patterns",
        ),
        (r"¶OFFSET\b", "LIMIT takes one number"),
        (r"¶(?:FETCH|TOP)\b", "write LIMIT 5"),
        (r"\bORDER\s+¶\w", "write ORDER BY x.v"),
        (r"^¶(?:EXPLAIN|DESCRIBE)\b", "write query.explain() in Python, or ensue explain in a shell"),
        (r"^¶(?:INSERT|CREATE|WITH|PATTERN|SEQ|EVERY|ON)\b", _SELECT_FIRST),
    ),
    *_rules(
        _ITEMS,
        (r"SELECT\s+DISTINCT\s+¶", "no match is reported twice: leave DISTINCT out"),
        (r"SELECT\s+¶DISTINCT\b", "no match is reported twice: leave DISTINCT out"),
        (r"SELECT\s+TOP\s+¶", "write LIMIT 5 at the end"),
        (r"(\w+)\s*\.\s*¶\*", r"write \1 for the whole event, or name what it has: \1.v, \1.w"),
        (r",\s*¶FROM\b", "leave out the comma before FROM"),
        (r"SELECT\s+¶FROM\b", "write SELECT * for all variables"),
        (r"¶WHERE\b", "a query names its stream: SELECT * FROM S WHERE pattern"),
        (
            r"[\w)\]]\s+¶(?!FROM\b|AS\b|WHEN\b|THEN\b|ELSE\b|END\b|TIME\b)([a-z_]\w*)\s*(?:,|FROM\b)",
            r"write AS before the name: x.v AS \1",
        ),
    ),
    *_rules(
        _STREAMS,
        (r"FROM\s+pattern\s*¶", _ESPER),
        (
            r"¶(?:(?:INNER|LEFT|RIGHT|FULL|CROSS)\s+)?JOIN\b",
            _MERGED,
        ),
        (r",\s*¶WHERE\b", "leave out the comma before WHERE"),
        (r"¶(?:AS\s+)?(?!AS\b)(\w+)\s+WHERE\b", r"a stream has no second name: leave '\1' out"),
        (r"¶\(", _NESTED),
        (r"\w\s*\.\s*¶|\w\s*¶\.", "a stream is a plain name, or one in backticks: FROM `db.table`"),
        (r"¶(?:FILTER|WITHIN|PARTITION|CONSUME|LIMIT)\b", "WHERE takes the pattern: FROM S WHERE A AS x ; B"),
        (r"¶$", "WHERE takes the pattern: FROM S WHERE A AS x ; B"),
    ),
    *_rules(
        _PATTERN,
        (r"¶not_?FollowedBy\b", "write A ; NOT B ; C between two steps, A ; NOT B WITHIN 10 min at the end"),
        (r"¶followedByAny\b", "write A ; B for A and any later B"),
        (r"¶followed(?:By|\s+by)?\b", _NEXT),
        (r"¶next\b", "write A : B for B directly after A"),
        (r"¶then\b", _NEXT),
        (
            r"¶(?:times|oneOrMore|timesOrMore|greedy)\b",
            "write A+ for one or more, A{3} for three, A{2,} for two or more",
        ),
        (r"¶(?:optional|zeroOrMore)\b", "write A ; B? ; C for an optional step"),
        (
            r"¶(?:consecutive|allowCombinations)\b",
            "write A+ for all combinations, A:+ for rounds without other events between, A->+ for next ones",
        ),
        (
            r"¶until\b",
            "an iteration without a B in it is (A+) UNLESS B; UNTIL closes windows: WINDOW w AS (IS p UNTIL r)",
        ),
        (r"\bevery\s*¶[\w(`]", _ANY_START),
        (
            r"\btimer\s*:\s*within\b.*¶|\btimer\s*¶|\bwhere\s*¶\s*timer\b|¶where\s+timer\s*:\s*within",
            "write WITHIN 5 min for a window",
        ),
        (r"\btimer\s*:\s*interval\s*¶", "write A ; NOT B WITHIN 10 s for what does not follow in time"),
        (r"\b(?:SEQ|SEQUENCE|PATTERN)\s*¶\(", _SEQUENCE),
        (r"(?:SEQ|SEQUENCE)\s*\([^()]*¶", _SEQUENCE),
        (r"\b(?:AND|CONJ|ALL)¶?\s*\(|¶AND\s*\(", "write A ALL B for both in any order"),
        (r"¶(?:OR|DISJ)\s*\(", "write A OR B"),
        (r"([\w`]+)\s*¶=\s*([a-z_]\w*)", r"write \2 AS \1"),
        (r"\b([A-Za-z_]\w*)\s*¶[(\[]", r"a condition on an event goes into FILTER: (\1 AS x FILTER x.v > 3)"),
        (r"\{\s*¶,", "write {0,5} for at most five, {1,5} for one at least"),
        (r"\{\s*\d+\s*¶(?::|\.\.|-)", "write {3,5} for three to five"),
        (r"¶,", "write A ; B for A and later B, A ALL B for both in any order"),
        (r"¶\|", "write A OR B"),
        (r"¶&", "write A ALL B for both in any order; A AND B asks that one event be both"),
        (r"¶[!~]", "write NOT between two patterns: A ; NOT B ; C"),
        (r"¶(?:\^|\$(?!\w))", "a match may start at any event: there are no anchors ^ and $"),
        (r"¶(?:=>|>>|>|\u2192)", _NEXT),
        (r"[;:>(]\s*¶\.", "write ANY for any event"),
        (r"¶\.", "a condition goes into FILTER: WHERE pattern FILTER x.v > 1"),
        (r"¶(?:WHERE|IF|WHEN|HAVING|ON)\b", "a condition goes into FILTER: WHERE pattern FILTER x.v > 1"),
        (r"¶/", _COMMENT),
        (r"WHERE\s*¶$", "WHERE takes the pattern: WHERE A AS x ; B"),
    ),
    *_rules(
        _CONDITION,
        (r"¶&", "write AND"),
        (r"\|\|[^|]*¶(?:[<>=]|<>|!=)", "|| joins texts: write OR between conditions"),
        (r"¶\|", "write OR"),
        (r"¶!", "write NOT, or <> for 'not equal'"),
        (r"¶=?~", _REGEX),
        (r"¶(?:REGEXP|SIMILAR|MATCHES|REGEX|GLOB)\b", _REGEX),
        (r"\*\s*¶\*", _POWER),
        (r"¶\^", _POWER),
        (r"¶DIV\b", "write floor(a / b)"),
        (r"¶MOD\b", "write a % b, or mod(a, b)"),
        (r"¶<=>|<=\s*¶>", "write a = b OR a IS NULL AND b IS NULL"),
        (r"\bIS\s+NOT\s+¶\w", "write <>; IS NOT goes with NULL alone"),
        (r"\bIS\s+¶\w", "write =; IS goes with NULL alone"),
        (r"\bIF\s+¶[\w(]", "write if(x.v > 1, 'a', 'b'), or CASE WHEN x.v > 1 THEN 'a' ELSE 'b' END"),
        (r"\bC\w{2,4}\s+¶[\w.]+\s+WHEN\b", "did you mean 'CASE'? It goes CASE x.v WHEN 1 THEN 'a' ELSE 'b' END"),
        (r"\bIN\s*¶\[", "the values are in parentheses: IN (1, 2)"),
        (r"\bBETWEEN\b.*¶(?:\[|TO\b|\.\.)|\bBETWEEN\s+\S+\s+TO\b.*¶", "write BETWEEN 1 AND 3"),
        (r"\bINTERVAL\s*¶'(\d+(?:\.\d+)?)'\s*([a-z]+)", r"write the duration as it is: \1 \2"),
        (r"\bINTERVAL\s*¶", "write the duration as it is: 5 min"),
        (r"\b(?:DATE|TIMESTAMP|DATETIME)\s*¶('[^']*')", r"write timestamp(\1)"),
        (r"\(\s*¶SELECT\b|\bEXISTS\s*¶\(", _NESTED),
        (r"¶(?:\?|:\w|@|\{|%|\$)", _PARAMETER),
        (r'¶"', "strings take single quotes, names that need it backticks"),
        (r"¶=>", "write >="),
        (r"==?¶=", "equality is written with one ="),
    ),
    *_rules(
        frozenset(("FILTER",)),
        (r"¶,", "write AND between conditions"),
        (r"¶WHERE\b", "write AND between conditions, or another FILTER"),
    ),
    *_rules(
        _TIME,
        (r"¶INTERVAL\s*'?(\d+(?:\.\d+)?)'?\s*([a-z]+)", r"write the duration as it is: \1 \2"),
        (r"¶INTERVAL\b", "write the duration as it is: 5 min"),
        (r"¶'(\d+(?:\.\d+)?\s*[a-z]+)'", r"a duration has no quotes: \1"),
        (r"¶P(?:T|\d)", "write a duration as 5 min, or 1 h 30 min"),
        (r"\d\s*¶$", "a duration has a unit, as 5 s; a number of events is 5 EVENTS"),
        (r"¶(?:\?|:\w|@|\{|\$)", _PARAMETER),
        (r"¶EVENTS\b", "a window has a time or a number of events: write both, WITHIN 5 min WITHIN 10 EVENTS"),
    ),
    *_rules(
        frozenset(("PARTITION", "ORDER")),
        (r"¶(?:\?|:\w|@|\{|\$)", _PARAMETER),
    ),
    *_rules(
        frozenset(("LIMIT",)),
        (r"¶,", "LIMIT takes one number"),
        (r"¶(?:\?|:\w|@|\{|\$)", _PARAMETER),
    ),
)
#: The same where a word is no misspelt keyword.
_OTHERWISE: tuple[_Rule, ...] = (
    *_rules(_EVERYWHERE, (r"^¶", _SELECT_FIRST)),
    *_rules(
        _PATTERN,
        (r"\bEXPECT\s+¶\w", "EXPECT takes its pattern in parentheses: EXPECT (A ; B)"),
        (
            r"([A-Z]\w*)\s+¶(?!ORDER\b)([a-z_]\w*)",
            r"write \1 AS \2 to name the event, \1 ; \2 for one after the other",
        ),
        (r"[\w`)](?:[+?]|:\+|\})?\s+¶(?!ORDER\b)[\w`(]", _SEQUENCE),
    ),
)


def hint_for(text: str, start: int, clause: str, misspelt: str | None = None) -> str | None:
    """What to write instead of what stands at `start`, which is in this clause; None if it is unknown.

    `misspelt` is the hint for a word that is nearly a keyword.

    >>> hint_for("SELECT * FROM S WHERE A, B", 23, "WHERE")
    'write A ; B for A and later B, A ALL B for both in any order'
    """
    around = text[max(0, start - _BEFORE) : start] + _HERE + text[start : start + _AFTER].rstrip()
    around = around.lstrip() if start <= _BEFORE else around
    return _first_of(_RULES, around, clause) or misspelt or _first_of(_OTHERWISE, around, clause)


def _first_of(rules: tuple[_Rule, ...], around: str, clause: str) -> str | None:
    for rule in rules:
        found = rule.around.search(around) if clause in rule.clauses else None
        if found is not None:
            return found.expand(rule.hint)
    return None
