"""What `explain` says, from explain.txt: a name, the query, and the whole text.

`UPDATE_GOLDEN=1 pytest tests/golden` rewrites the texts: read the difference before you keep it.
"""

import os
import re
from pathlib import Path

import pytest

import ensue

UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
FILE = Path(__file__).parent / "explain.txt"
BLOCKS = re.split(r"^=== ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
CASES = {name: body.partition("\n--- explain\n") for name, _, body in (b.partition("\n") for b in BLOCKS)}


@pytest.mark.parametrize("name", CASES)
def test_explain(name):
    query, _, expected = CASES[name]
    if not UPDATE:
        assert ensue.query(query).explain() == expected.removesuffix("\n")


@pytest.mark.skipif(not UPDATE, reason="only with UPDATE_GOLDEN=1")
def test_update():
    made = {name: query.strip("\n") for name, (query, _, _) in CASES.items()}
    texts = [f"=== {n}\n{q}\n--- explain\n{ensue.query(q).explain()}\n" for n, q in made.items()]
    FILE.write_text("".join(texts), encoding="utf-8")
    assert FILE.stat().st_size > 0
