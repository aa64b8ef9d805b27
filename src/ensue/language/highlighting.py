"""Syntax highlighting for queries in documents and notebooks: a Pygments lexer, which tools find as `ensue`.

Only Pygments loads this file; it finds it by the entry point in `pyproject.toml`.
"""

import re

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from ensue.language.syntax_errors import KEYWORDS


class EnsueLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Recognises the tokens of queries, patterns and expressions, without parsing their structure.

    >>> [text for kind, text in EnsueLexer().get_tokens("WHERE A ; b+") if kind is Keyword]
    ['WHERE']
    """

    name = "Ensue"
    aliases = ("ensue", "pattern", "expression")
    flags = re.IGNORECASE
    tokens = {  # noqa: RUF012  as Pygments reads it
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*(?:[^*]|\*(?!/))*\*/", Comment.Multiline),
            (r"'(?:[^']|'')*'", String),
            (r"`(?:[^`]|``)+`", Name),
            (r"\$[^\W\d]\w*", Name.Variable),
            (r"\.\s*[^\W\d]\w*", Name.Attribute),  # after a dot, a keyword is a name too
            (r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", Number),
            (words(sorted(KEYWORDS), prefix=r"\b", suffix=r"\b"), Keyword),
            (r"[^\W\d]\w*(?=\s*\()", Name.Function),
            (r"[^\W\d]\w*", Name),
            (r"\|\||<=|>=|<>|!=|[-+*/%=<>?;:|]", Operator),
            (r"[()\[\]{},.]", Punctuation),
        ],
    }
