"""Colours for queries: every query of the corpus is told apart into tokens that are no errors, and nothing is lost."""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, String

from ensue.language.highlighting import EnsueLexer

CORPUS = Path(__file__).parents[2] / "corpus"
LEXER = EnsueLexer(stripnl=False, ensurenl=False)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.toml")), ids=lambda path: path.stem)
def test_no_token_of_a_query_is_an_error(path: Path) -> None:
    for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
        found = list(LEXER.get_tokens(case["query"]))
        assert "".join(text for _, text in found) == case["query"]
        assert [text for kind, text in found if kind is Error] == []


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("select x.limit FROM s -- where", Keyword, ["select", "FROM"]),
        ("x.limit > 1.5e3", Name.Attribute, [".limit"]),
        ("x.limit > 1.5e3", Number, ["1.5e3"]),
        ("x = 'it''s' -- not 'this'", String, ["'it''s'"]),
        ("a -- b", Comment.Single, ["-- b"]),
        ("a /* b\n ; */ c", Comment.Multiline, ["/* b\n ; */"]),
        ("`from` ; A", Name, ["`from`", "A"]),
        ("count(y) + allowed", Name.Function, ["count"]),
    ],
)
def test_kinds(text: str, kind: object, found: list[str]) -> None:
    assert [part for is_a, part in LEXER.get_tokens(text) if is_a is kind] == found


def test_pygments_finds_it() -> None:
    (entry,) = entry_points(group="pygments.lexers", name="ensue")
    assert entry.load() is EnsueLexer
