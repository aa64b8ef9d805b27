"""Every code block of README and docs is run.

python      run in order, one namespace a page; a text block right after it is what it printed
sql         a query: it parses and passes the checks
pattern     a pattern alone;  expression: a filter's expression alone
console     `$ ensue ...` is run in a folder of the page's own, and its output compared. `$ cat FILE` shows a file: the
            test writes it as shown, unless an earlier command has made it

`UPDATE_GOLDEN=1 pytest tests/test_docs.py` rewrites what was printed: read the difference before you keep it.
"""

import contextlib
import io
import itertools
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import run_here, run_in_a_process

import ensue
from ensue.language.ast import COUNT_DISTINCT
from ensue.language.parser import parse_expression, parse_pattern
from ensue.logic.functions import AGGREGATES, FUNCTIONS, SPECIAL

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    kind: str
    body: str
    line: int
    start: int
    end: int


def blocks_of(text: str) -> list[Block]:
    return [
        Block(m["kind"].strip(), m["body"], text.count("\n", 0, m.start()) + 1, m.start("body"), m.end("body"))
        for m in FENCE.finditer(text)
    ]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class Page:
    """One page in the course of being run; `changes` are the outputs that differ."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.namespace: dict[str, object] = {"__name__": "docs"}
        self.changes: list[tuple[Block, str]] = []

    def run(self) -> None:
        blocks = blocks_of(self.text)
        for block, after in itertools.zip_longest(blocks, blocks[1:]):
            try:
                getattr(self, f"_{block.kind}")(block, after)
            except Exception as e:
                raise AssertionError(f"{named(self.path)}, line {block.line}: {e!r}") from e

    def _python(self, block: Block, after: Block | None) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.body, f"{named(self.path)}:{block.line}", "exec"), self.namespace)
        follows = (
            after is not None
            and after.kind == "text"
            and self.text[block.end : after.start].split() == ["```", "```text"]
        )
        if after is not None and follows:
            # Lines in files end without spaces.
            self._compare(after, "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines()))
        else:
            assert printed.getvalue() == "", "printed, but no text block follows"

    def _sql(self, block: Block, _after: Block | None) -> None:
        ensue.query(block.body)

    def _pattern(self, block: Block, _after: Block | None) -> None:
        parse_pattern(block.body)

    def _expression(self, block: Block, _after: Block | None) -> None:
        parse_expression(block.body)

    def _text(self, _block: Block, _after: Block | None) -> None:
        """Compared with what the block before it printed."""

    def _sh(self, block: Block, _after: Block | None) -> None:
        for line in block.body.splitlines():
            assert line.split()[0] == "make", "only targets of the Makefile stand in sh blocks"
            assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)

    def _console(self, block: Block, _after: Block | None) -> None:
        shown = ""
        for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
            line, _, expected = part.partition("\n")
            shown += f"$ {line}\n{self._command(line, expected)}"
        self._compare(block, shown)

    def _command(self, line: str, expected: str) -> str:
        command, _, source = line.partition(" < ")
        program, *arguments = shlex.split(command)
        if program == "cat":
            (file,) = map(Path, arguments)
            if not file.exists():
                file.write_text(expected, encoding="utf-8")
            return file.read_text(encoding="utf-8")
        assert program == "ensue", f"{program} is no command of ours"
        run = run_in_a_process if "spark" in arguments else run_here
        done = run(*arguments, input=Path(source).read_bytes() if source else b"", columns=100, together=True)
        return "".join(f"{row.rstrip()}\n" for row in done.out.decode().splitlines())

    def _compare(self, block: Block, found: str) -> None:
        if found != block.body:
            self.changes.append((block, found))

    def update(self) -> None:
        for block, found in reversed(self.changes):
            self.text = self.text[: block.start] + found + self.text[block.end :]
        self.path.write_text(self.text, encoding="utf-8")


#: Pages with examples that start Spark, or compile kernels of their own.
SLOW = {"README.md", *(f"docs/{page}.md" for page in ("automata", "cli", "match-recognize", "production", "spark"))}


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=named(p), marks=pytest.mark.slow if named(p) in SLOW else ()) for p in PAGES]
)
def test_blocks(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Page(path)
    page.run()
    if UPDATE:
        page.update()
    else:
        assert {b.line: found for b, found in page.changes} == {b.line: b.body for b, _ in page.changes}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_lines_are_short(path):
    for block in blocks_of(path.read_text(encoding="utf-8")):
        if block.kind not in ("text", "console"):  # what is printed is as wide as it is
            assert all(len(line) <= 120 for line in block.body.splitlines()), block.line


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_every_function_is_in_the_language_page():
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    missing = [
        name for name in (*FUNCTIONS, *AGGREGATES, *SPECIAL) if f"`{name}(" not in text.replace("`PREV(", "`prev(")
    ]
    assert "`count(DISTINCT x.a)`" in text
    missing.remove(COUNT_DISTINCT)
    assert missing == []


def test_every_page_is_in_the_navigation():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES[1:]]
    assert [page for page in pages if page not in settings] == []
