"""What `make docs` adds to the pages in `docs/`: the reference of the Python names, and colours for code.

mkdocs loads this file as a hook. The reference is made from the docstrings, so it cannot differ from the code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

#: The modules from which users import. The names in their `__all__` are public.
MODULES = ("ensue", "ensue.dsl", "ensue.windows", "ensue.algebra", "ensue.spark")
#: A longer signature gets one line for each parameter.
WIDEST = 100
#: Members of a class that are not plain methods: some are called, and some are read like attributes.
BOUND, READ = (classmethod, staticmethod), (property, cached_property)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the page `reference.md` and the style sheet that `mkdocs.yml` names."""
    from mkdocs.structure.files import File
    from pygments.formatters import HtmlFormatter

    files.append(File.generated(config, "reference.md", content=reference()))
    style = HtmlFormatter(style="tango").get_style_defs(".codehilite")
    files.append(File.generated(config, "code.css", content=style))
    return files


def reference() -> str:
    """The page as Markdown."""
    parts = [
        "# Reference",
        "Every public name of the package with its docstring. [From Python](python.md) explains them.",
    ]
    for module in MODULES:
        parts += [f"## {module}", *first_and_examples(docstring(import_module(module)))]
        for name, made in public_names(module).items():
            parts += [f"#### {name}" if "." in name else f"### {module}.{name}", *entry(name, made)]
    return "\n\n".join(part for part in parts if part) + "\n"


def public_names(module: str) -> dict[str, Any]:
    """The public functions, classes, methods, properties and values of a module, by their names in it."""
    loaded = import_module(module)
    found: dict[str, Any] = {}
    for name in loaded.__all__:
        made = getattr(loaded, name)
        if not inspect.ismodule(made):
            found[name] = made
        if inspect.isclass(made):
            found |= {f"{name}.{member}": value for member, value in members(made)}
    return found


def members(made: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class and of its own bases, in the order of the code."""
    ours = [base for base in reversed(made.__mro__) if base.__module__.startswith("ensue.")]
    found = {name: value for base in ours for name, value in vars(base).items() if not name.startswith("_")}
    for name, value in found.items():
        if inspect.isfunction(value) or isinstance(value, BOUND + READ):
            yield name, value


def entry(name: str, made: Any) -> Iterator[str]:
    """The signature, if it can be called, and the docstring."""
    if isinstance(made, BOUND):
        made = made.__func__
    if inspect.isfunction(made):
        yield signature(name.rpartition(".")[2], made)
    yield docstring(made)


@dataclass(frozen=True)
class Written:
    """An annotation as it is written in the code. A plain string would be shown in quotes."""

    text: str

    def __repr__(self) -> str:
        return self.text


def signature(name: str, made: Any) -> str:
    """The signature as a block of Python, without `self`."""
    found = inspect.signature(made)
    parameters = [
        p.replace(annotation=as_written(p.annotation))
        for p in found.parameters.values()
        if p.name not in ("self", "cls")
    ]
    found = found.replace(parameters=parameters, return_annotation=as_written(found.return_annotation))
    text = f"{name}{found}"
    if len(text) > WIDEST:
        lines = [f"    {p},\n" for p in with_star(parameters)]
        returned = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
        text = f"{name}(\n{''.join(lines)}){returned}"
    return f"```python\n{text}\n```"


def as_written(annotation: Any) -> Any:
    return Written(annotation) if isinstance(annotation, str) else annotation


def with_star(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters, with a star before those that can only be given by name."""
    by_name_only = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    for parameter in parameters:
        if by_name_only and parameter is by_name_only[0]:
            yield "*"
        yield str(parameter)


def docstring(made: Any) -> str:
    """The docstring as Markdown, with its examples as blocks of a Python session."""
    text = inspect.getdoc(made) or ""
    blocks = re.split(r"\n{2,}", text)
    return "\n\n".join(f"```pycon\n{block}\n```" if block.startswith(">>> ") else block for block in blocks)


def first_and_examples(text: str) -> Iterator[str]:
    """The first paragraph of a module's docstring, and its examples. The rest is for readers of the code."""
    for k, block in enumerate(text.split("\n\n")):
        if k == 0 or block.startswith("```"):
            yield block
