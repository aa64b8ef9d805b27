"""The exact text of every error about a query, from queries.txt.

A case is a name, sometimes the columns of the events, the query (with \\x00, \\x1b and \\r written out) and the whole
error. `UPDATE_GOLDEN=1 pytest tests/errors` rewrites the errors: read the difference before you keep it.
"""

import os
import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import ensue
from ensue import QueryError
from ensue.errors import ProblemKind

UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
FILE = Path(__file__).parent / "queries.txt"
TYPES = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "list<int64>": pa.list_(pa.int64()),
    "list<string>": pa.list_(pa.string()),
    "user": pa.struct([("id", pa.int64()), ("name", pa.string()), ("home", pa.struct([("city", pa.string())]))]),
    "map<string>": pa.map_(pa.string(), pa.int64()),
    "map<float64>": pa.map_(pa.float64(), pa.int64()),
    "timestamp[us]": pa.timestamp("us"),
    "timestamp[us, UTC]": pa.timestamp("us", "UTC"),
}
ESCAPES = {r"\x00": "\x00", r"\x1b": "\x1b", r"\r": "\r"}


@dataclass(frozen=True)
class Case:
    name: str
    schema: str | None
    query: str
    error: str

    def text(self) -> str:
        text = self.query
        for written, meant in ESCAPES.items():
            text = text.replace(written, meant)
        return text

    def fields(self) -> pa.Schema:
        parts = re.findall(r"(\w+) ([\w<>]+(?:\[[^\]]*\])?)", self.schema or "")
        return pa.schema([(name, TYPES[type_]) for name, type_ in parts])

    def __str__(self) -> str:
        schema = "" if self.schema is None else f"--- schema\n{self.schema}\n"
        return f"=== {self.name}\n{schema}--- query\n{self.query}\n--- error\n{self.error}\n"


def read_cases() -> list[Case]:
    cases = []
    for block in re.split(r"^=== ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        parts = re.split(r"^--- (\w+)\n", rest, flags=re.MULTILINE)
        found = {key: value.removesuffix("\n") for key, value in zip(parts[1::2], parts[2::2], strict=True)}
        cases.append(Case(name, found.get("schema"), found["query"], found.get("error", "")))
    return cases


CASES = read_cases()


def error_of(case: Case) -> QueryError:
    def check() -> None:
        query = ensue.query(case.text())
        if case.schema is not None:
            query.check(case.fields())

    with pytest.raises(QueryError) as error:
        check()
    return error.value


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_message(case):
    if not UPDATE:
        assert str(error_of(case)) == case.error


@pytest.mark.skipif(not UPDATE, reason="only with UPDATE_GOLDEN=1")
def test_update():
    made = [Case(c.name, c.schema, c.query, str(error_of(c))) for c in CASES]
    FILE.write_text("".join(map(str, made)), encoding="utf-8")
    assert FILE.stat().st_size > 0


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_pickle(case):
    error = error_of(case)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is QueryError
    assert (str(again), again.text, again.problems) == (str(error), error.text, error.problems)


def test_names_are_unique_and_many():
    assert len({c.name for c in CASES}) == len(CASES) >= 45


def test_every_kind_of_problem_occurs():
    no_errors = {ProblemKind.UNSUPPORTED, ProblemKind.NEVER, ProblemKind.SIZE}  # told when it runs, or in a warning
    assert {p.kind for c in CASES for p in error_of(c).problems} == set(ProblemKind) - no_errors


def test_several_problems_come_in_the_order_of_the_text():
    spans = [p.span.start for p in error_of(next(c for c in CASES if c.name == "several problems at once")).problems]
    assert len(spans) >= 6
    assert spans == sorted(spans)
