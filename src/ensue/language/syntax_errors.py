"""Syntax errors in the user's terms: what was found, what was expected, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Set

from lark.exceptions import UnexpectedToken
from lark.lexer import PatternStr

from ensue.errors import Problem, ProblemKind, Span, did_you_mean
from ensue.language.foreign_words import hint_for
from ensue.language.parameters import Parser, WithParameters

KEYWORDS = frozenset(
    """SELECT FROM WHERE FILTER WITHIN PARTITION BY CONSUME LIMIT AS OR AND ALL UNLESS NOT STRICT NEXT LAST MAX
    PROJECT ANY IN BETWEEN LIKE IS NULL TRUE FALSE LASTOF""".split()
)

#: Words that are keywords only in their place, and elsewhere names.
WORDS_IN_PLACE = frozenset(
    """CASE WHEN THEN ELSE END CAST TRY_CAST EXTRACT AT ILIKE RLIKE RUNNING SPAN AFTER UNTIL WINDOW TO EXISTS FORALL
    SET DISTINCT ORDER PER ASC DESC NULLS EXPECT AGGREGATE GROUP EVERY MATCHES""".split()
)

_CASE = "CASE WHEN x.v > 1 THEN 'a' ELSE 'b' END"
_EXPRESSION = frozenset("MINUS INTEGER DECIMAL STRING TRUE FALSE NULL NAME QUOTED MAX LAST LASTOF LPAR".split())
_ABSENCE = (
    "NOT stands between two patterns, p ; NOT q ; r, or has a time, p ; NOT q WITHIN 10 min or NOT q WITHIN 10 min ; p"
)
_NO_SEMICOLON = "a query has no ; at its end: it stands between the steps of a sequence"
_COMMENTS = r"--[^\n]*|/\*.*?\*/"
_PATTERN_OPERATORS = frozenset("'[' '*' ':*' '+' ':+' '->+' '{' ':{' '->{' '?' ';' ':' '->'".split())

#: Groups of expected tokens that are reported under one name, widest first.
_GROUPS: tuple[tuple[str, frozenset[str]], ...] = (
    ("an expression", _EXPRESSION | {"NOT", "PLUS"}),
    ("an expression", _EXPRESSION | {"PLUS"}),
    ("a pattern", frozenset("NAME QUOTED ANY LPAR NEXT LAST MAX STRICT PROJECT".split())),
    (
        "an operator",
        frozenset("EQ NE LT LE GT GE IS IN BETWEEN LIKE PLUS MINUS CONCAT STAR SLASH PERCENT".split()),
    ),
    ("an operator", frozenset("PLUS MINUS CONCAT STAR SLASH PERCENT".split())),
    ("an operator", frozenset("PLUS MINUS CONCAT".split())),
    ("a name", frozenset(("NAME", "QUOTED"))),
    ("a number", frozenset(("INTEGER", "DECIMAL"))),
    ("a comparison", frozenset("EQ LT LE GT GE".split())),
)
#: Operators that are named only where no group of them is expected.
_FURTHER = frozenset(("AT", "AS_TYPE", "ILIKE", "RLIKE"))
_NAMED = {
    "NAME": "a name",
    "QUOTED": "a name in backticks",
    "STRING": "a string",
    "INTEGER": "a whole number",
    "DECIMAL": "a number",
    "$END": "the end",
}


def explain_token(parser: Parser, text: str, error: UnexpectedToken, clause: str) -> Problem:
    """The problem for a token that is not allowed where it stands, in a clause."""
    token = error.token
    expected = set(error.accepts or error.expected)
    wanted = _describe(parser, expected, text[: token.start_pos or len(text)])
    if token.type == "$END":
        end = len(text.rstrip())
        message = f"the text ends too early: expected {wanted}"
        hint = _hint_at_end(text, expected) or hint_for(text, len(text), clause)
        return Problem(ProblemKind.SYNTAX, message, Span(end, end), hint)
    start = token.start_pos or 0
    span = Span(start, token.end_pos or start + len(token))
    found = f"'{_shorten(token.value)}'"
    hint = _hint_at_token(text, start, token, expected, clause)
    if isinstance(parser, WithParameters) and text[start] == "$":
        found = f"{text[start : span.end]}, which is {_shorten(parser.written(text[start + 1 : span.end]))},"
        hint = _hint_at_parameter(text[start : span.end], expected)
    message = f"{found} cannot stand here: expected {wanted}"
    return Problem(ProblemKind.SYNTAX, message, span, hint)


def explain_character(text: str, at: int, clause: str) -> Problem:
    """The problem for a character that begins no token, in a clause."""
    character = text[at]
    hints = {
        "'": "the string has no closing quote",
        "`": "the name has no closing backtick",
        "\N{LESS-THAN OR EQUAL TO}": "write <=",
        "\N{GREATER-THAN OR EQUAL TO}": "write >=",
        "\N{CIRCLED PLUS}": "write :+",
    }
    name = repr(character) if not character.isprintable() else f"'{character}'"
    hint = hints.get(character) or hint_for(text, at, clause)
    return Problem(ProblemKind.SYNTAX, f"unexpected character {name}", Span(at, at + 1), hint)


def _shorten(value: str) -> str:
    value = " ".join(value.split())  # a string may span several lines; a message must not
    return value if len(value) <= 40 else value[:37] + "..."


def _describe(parser: Parser, expected: Set[str], before: str) -> str:
    if expected == {"NAME"}:  # a word that cannot be in backticks
        return _word_after(before)
    left = set(expected)
    if {"NAME", "QUOTED"} <= left:
        left -= WORDS_IN_PLACE
    words: list[str] = []
    for name, group in _GROUPS:
        if group <= left:
            words.append(name)
            left -= group
            if name == "an operator":
                left -= _FURTHER
    shown = {_display(parser, name) for name in left}
    if len(shown & _PATTERN_OPERATORS) >= 5:
        words.append("a pattern operator")
        shown -= _PATTERN_OPERATORS
    words.extend(sorted(shown, key=lambda w: (w == "the end", not w.startswith("'"), w)))
    words = list(dict.fromkeys(words))
    if len(words) > 7:
        words = [*words[:6], "..."]
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + (" or " if words[-1] != "..." else ", ") + words[-1]


def _word_after(before: str) -> str:
    """What word of the language is wanted: a type, a field, or else a unit of time."""
    if re.search(r"(?i)(\bas|::)\s*$", before):
        return "a type such as integer or string"
    if re.search(r"(?i)\bextract\s*\(\s*$", before):
        return "a field such as hour"
    return "TIME ZONE" if re.search(r"(?i)\bat(\s+\w+)?\s*$", before) else "a unit such as s or min"


def _display(parser: Parser, terminal: str) -> str:
    if terminal in _NAMED:
        return _NAMED[terminal]
    if terminal in KEYWORDS or terminal in WORDS_IN_PLACE:
        return terminal
    pattern = parser.get_terminal(terminal).pattern
    if isinstance(pattern, PatternStr):
        return f"'{pattern.value}'"
    return {"NE": "'<>'"}.get(terminal, f"'{terminal.lower()}'")


def _hint_at_end(text: str, expected: Set[str]) -> str | None:
    if re.search(r"(?i)(;|\bwhere)\s*not\b[^;]*$", text):
        return _ABSENCE
    if text.rstrip().endswith(";"):
        return _NO_SEMICOLON
    in_place = _hint_of_words("", text, expected, "")
    if in_place is not None:
        return in_place
    opened = text.count("(") - text.count(")")
    if "RPAR" in expected and opened > 0:
        return f"{opened} opening parenthes{'is is' if opened == 1 else 'es are'} not closed"
    return None


def _hint_at_parameter(written: str, expected: Set[str]) -> str | None:
    if {"LSQB", "DECIMAL"} <= expected and "NAME" not in expected:
        return f"a time is a timedelta in params, or a number with its unit here: WITHIN {written} min"
    if "NAME" in expected and "STRING" not in expected:
        return "a parameter stands for a value, and not for a name"
    return None


def _hint_of_words(kind: str, before: str, expected: Set[str], clause: str) -> str | None:
    """What is probably meant where a CASE is begun, or seems to be, or another word in its place."""
    if re.search(r"(?i)\bat(\s+time(\s+zone|zone)?)?\s*$", before) and expected & {"NAME", "STRING"}:
        return "write t AT TIME ZONE 'Europe/Madrid', with a zone in quotes"
    if re.search(r"(?i)\b(try_)?cast\s*\([^()]*$", before) and "AS" in expected and kind != "AS":
        return "write CAST(x.a AS integer)"
    if "QUOTED" in expected:  # here the words are names
        expected = expected - WORDS_IN_PLACE
    word = re.search(r"\w+$", before) if kind == "WHEN" and clause != "WHERE" else None
    if word is not None and did_you_mean(word[0], ["CASE"]):
        return f"did you mean 'CASE'? It goes {_CASE}"
    if clause == "WHERE":
        return None
    if expected == {"WHEN"} or (kind in ("WHEN", "THEN", "ELSE", "END") and kind not in expected):
        return f"CASE goes {_CASE}"
    begun = re.search(r"(?i)\bcase\s+(\w+)$", before)
    if begun is not None and did_you_mean(begun[1], ["WHEN"]):
        return f"did you mean 'WHEN'? CASE goes {_CASE}"
    if "END" in expected and ("WHEN" in expected or not kind):
        return f"CASE ends with END: {_CASE}"
    if "THEN" in expected:
        return f"WHEN needs a THEN: {_CASE}"
    return None


def _hint_in_formula(kind: str, before: str, expected: Set[str]) -> str | None:
    """What is meant in a formula over positions, and where one is meant; what could stand there shows that."""
    if expected == {"TO"}:
        return "a window is (IS p), (AFTER q IS p) or (b TO e WHERE formula)"
    if expected in ({"IN", "LPAR", "COMMA"}, {"LPAR", "COMMA"}):
        return "a quantifier has its formula in parentheses: EXISTS x (f), FORALL SET X (f)"
    moved = expected == {"INTEGER"} and re.search(r"\w\s*[-+]\s*$", before)
    if moved or (kind in ("INTEGER", "DECIMAL") and re.search(r"[<>=]\s*$", before) and "EXISTS" in expected):
        return "positions are compared with each other, as in x + 3 <= y"
    begins = {"EXISTS", "NOT", "LPAR"} <= expected and not expected & {"ANY", "INTEGER"}
    if kind == "NEXT" and begins:
        return "the position behind x is the y for which x + 1 = y"
    if {"IS", "IN", "LSQB"} <= expected and "LIKE" not in expected:
        if kind == "DOT":
            return "a condition is on one event, over bare attributes: x[v > 5], x[v > PREV(v)]"
        if kind == "LPAR":
            return "write x IN X for a position in a set"
    return None


def _hint_at_token(text: str, start: int, token: str, expected: Set[str], clause: str) -> str | None:
    kind = getattr(token, "type", "")
    before = text[:start].rstrip()
    if text.startswith("/*", start):
        return "a comment that starts with /* ends with */"
    if kind == "SEMICOLON" and not re.sub(_COMMENTS, "", text[start + 1 :]).strip():
        return _NO_SEMICOLON
    if kind == "STAR" and before.lower().endswith("count("):
        return "write count(x) for the number of events that x marks"
    in_place = _hint_in_formula(kind, before, expected) or _hint_of_words(kind, before, expected, clause)
    if in_place is not None:
        return in_place
    if re.search(r"(?i)\brunning\s+\w+$", before) and expected == {"LPAR"}:
        return "RUNNING stands before an aggregate, as in RUNNING sum(y.v)"
    absent = kind == "NOT" and "PROJECT" in expected
    after_not = re.search(r"(?i)(;|\bwhere)\s*not\b[^;]*$", before) is not None
    if absent or (after_not and kind != "LPAR" and expected & {"SEMICOLON", "WITHIN"}):
        return _ABSENCE
    in_filter = re.search(r"(?i)\bfilter\b[^()]*$", before) is not None and "LPAR" not in expected
    if in_filter and (token == "->" or kind in ("AS", "SEMICOLON", "COLON", "QMARK", "LBRACE", "UNLESS", "ALL")):
        return "FILTER takes all that stands to its left: put the filtered pattern in parentheses, (p FILTER f) ; q"
    named = "NAME" in expected and "QUOTED" in expected and not expected & {"ANY", "TRUE", "STAR"}
    if kind in KEYWORDS and named and not before.endswith(","):
        return f"{token} is a keyword: write `{token}` to use it as a name"
    if kind == "RPAR" and before.count("(") <= before.count(")"):
        return "this closing parenthesis has no opening one"
    misspelt = None
    if kind == "NAME" and len(token) > 2:
        misspelt = did_you_mean(token, [k for k in expected if k in KEYWORDS])
        misspelt = misspelt or did_you_mean(token, [k for k in expected if k in WORDS_IN_PLACE])
    foreign = hint_for(text, start, clause, misspelt)
    if foreign is not None:
        return foreign
    if expected == {"DOT"} or (kind == "DOT" and expected == {"RPAR"}):
        return "LASTOF names an event: write LASTOF(y).a for its attribute a"
    if kind in ("EQ", "LT", "LE", "GT", "GE", "NE") and not expected & {"EQ", "LE", "NAME"}:
        return "comparisons do not chain: write a = b AND b = c"
    return None
