"""The options that several commands have, each said once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_type_hints

import typer

QueryFile = Annotated[str, typer.Argument(metavar="FILE", help="The query's text; '-' reads standard input.")]
SchemaOf = Annotated[
    str | None,
    typer.Option(
        "--input", "-i", help="Checks names and types against the columns of these events; '-' reads standard input."
    ),
]
Events = Annotated[
    str,
    typer.Option(
        "--input", "-i", help="Events: a file, a folder or a pattern such as '*.csv'; '-' reads standard input."
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="The value of $NAME in the query: a number, TRUE, FALSE, NULL, else a text, also in single quotes.",
    ),
]
Master = Annotated[
    str | None, typer.Option(help="Where Spark runs, local[*] by default: all cores of this machine.", metavar="URL")
]
Sample = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="So many of the matches, drawn at random from all.")
]
Seed = Annotated[int | None, typer.Option(help="With --sample: the same seed gives the same matches.")]


@dataclass(frozen=True)
class Columns:
    """The columns that have a role."""

    time: Annotated[str, typer.Option(help="The time column.")] = "time"
    type: Annotated[str | None, typer.Option(help="The column with each event's type.")] = None
    unit: Annotated[str | None, typer.Option(help="The unit of an integer time column, such as ms.")] = None
    tiebreak: Annotated[str | None, typer.Option(help="A column that orders events of equal time.")] = None
    param: Params = None

    @property
    def reading(self) -> dict[str, Any]:
        """As the library calls them."""
        return {"time": self.time, "type": self.type, "unit": self.unit, "tiebreak": self.tiebreak}


@dataclass(frozen=True)
class Running(Columns):
    """How a query is run over events that are all there."""

    no_time: Annotated[bool, typer.Option("--no-time", help="Keep the rows in their order.")] = False
    memory: Annotated[
        str | None,
        typer.Option(help="The memory that the query may take, such as '512 MB'; by default a part of all memory."),
    ] = None
    closed: Annotated[bool, typer.Option("--closed", help="Nothing follows the events: tell what waits too.")] = False

    @property
    def reading(self) -> dict[str, Any]:
        """As the library calls them."""
        return {**super().reading, "time": None if self.no_time else self.time}

    @property
    def running(self) -> dict[str, Any]:
        """All of it, as `Query.run` takes it."""
        return {**self.reading, "memory": self.memory, "closed": self.closed}


def with_options(kind: type[Columns]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of this kind, which it takes together, as its argument `how`."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "how"]
        hints = get_type_hints(kind, include_extras=True)
        by_name = inspect.Parameter.KEYWORD_ONLY
        shared = [inspect.Parameter(f.name, by_name, default=f.default, annotation=hints[f.name]) for f in fields(kind)]

        def taking_all(**given: Any) -> None:
            how = kind(**{p.name: given.pop(p.name) for p in shared})
            command(**given, how=how)

        all_of_them = [p.replace(kind=by_name) for p in (*own, *shared)]
        taking_all.__signature__ = inspect.Signature(all_of_them)  # type: ignore[attr-defined]
        taking_all.__annotations__ = {p.name: p.annotation for p in all_of_them}
        taking_all.__doc__, taking_all.__name__ = command.__doc__, command.__name__
        return taking_all

    return decorated
