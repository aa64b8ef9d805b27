"""The page for those who come from another system: what it says in our words is a pattern, or the end of a query."""

import re
from pathlib import Path

import pytest

import ensue

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
ROWS = [
    line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| .* \| .* \|$", line)
]
SAID = [cells[-1].removesuffix(" |") for cells in ROWS if cells[-1] not in ("Ensue |", "--- |")]


def test_there_is_something_to_read():
    assert len(SAID) > 40


@pytest.mark.parametrize("said", SAID)
def test_what_is_said_in_our_words(said):
    codes = re.findall(r"`([^`]+)`", said)
    clause = re.search(r"the clause `([^`]+)`", said)
    texts = [] if clause is None else [f"SELECT * FROM S WHERE A {clause[1]}"]
    if said.startswith("`") and codes[0] not in ("ensue.sql", "query.late(df)"):
        texts.append(f"SELECT * FROM S WHERE {codes[0]}")
    queries = [ensue.query(text) for text in texts]
    assert [ensue.query(str(query)) for query in queries] == queries
    assert queries or said.startswith(("the same", "`ensue.sql`", "`query.late(df)`")), "nothing in it was read"
