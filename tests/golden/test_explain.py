"""What `explain` says: a name, the query, and the whole text; of a deterministic automaton, its section alone.

`UPDATE_GOLDEN=1 pytest tests/golden` rewrites the texts: read the difference before you keep it.
"""

import os
import re
from pathlib import Path

import pytest

import ensue


def deterministic(query):
    *_, section = query.explain(deterministic=True).partition("\ndeterministic\n")
    return section


UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
FILES = {"explain.txt": ensue.Query.explain, "deterministic.txt": deterministic}
FOLDER = Path(__file__).parent


def cases(file):
    blocks = re.split(r"^=== ", (FOLDER / file).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: body.partition("\n--- explain\n") for name, _, body in (b.partition("\n") for b in blocks)}


@pytest.mark.parametrize(("file", "name"), [(file, name) for file in FILES for name in cases(file)])
def test_explain(file, name):
    query, _, expected = cases(file)[name]
    if not UPDATE:
        assert FILES[file](ensue.query(query)) == expected.removesuffix("\n")


@pytest.mark.skipif(not UPDATE, reason="only with UPDATE_GOLDEN=1")
@pytest.mark.parametrize("file", FILES)
def test_update(file):
    made = {name: query.strip("\n") for name, (query, _, _) in cases(file).items()}
    texts = [f"=== {n}\n{q}\n--- explain\n{FILES[file](ensue.query(q))}\n" for n, q in made.items()]
    (FOLDER / file).write_text("".join(texts), encoding="utf-8")
    assert (FOLDER / file).stat().st_size > 0
