"""`ensue.aggregate`: aggregates of the user's own, made of three functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ensue.language.own import digest_of
from ensue.logic.own_aggregates import Monoid, OwnAggregate
from ensue.own.registry import check_name, register
from ensue.own.user_functions import Type, type_of


def aggregate(
    name: str,
    *,
    lift: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any] | None = None,
    takes: Type,
    state: Type,
    returns: Type | None = None,
    version: str | None = None,
    registered: bool = True,
) -> OwnAggregate:
    """An aggregate of one's own, for items and filters: `geometric(w.v)`.

    `lift` makes a state of one value, `combine` one state of two, and `lower` what is shown of a state; without it the
    state is shown. `combine` must be associative, and the values of its first argument come first in the stream:
    nothing says how the values of a window are put together, and no inverse is asked for. `check` of the result tries
    that. NULLs are passed over, and of nothing the aggregate is NULL.

    `takes` is the type of the values, `state` that of states, `returns` that of the result (or that of states): Arrow
    types, or "float", "integer", "boolean", "string", "timestamp", "timestamptz", "duration". All are Python's values;
    a state is put into an Arrow type only where it is saved. A state of several values is a struct, in Python a dict.

    Names are used as with `ensue.function`: by all queries of the program, or only by those that get it in the call. A
    stream refuses the checkpoint of another aggregate, which it tells by its code, or by `version` if that is given.

    >>> import math, ensue, pyarrow as pa
    >>> parts = pa.struct([("n", pa.int64()), ("log", pa.float64())])
    >>> geometric = aggregate(
    ...     "geometric",
    ...     lift=lambda v: {"n": 1, "log": math.log(v)},
    ...     combine=lambda a, b: {"n": a["n"] + b["n"], "log": a["log"] + b["log"]},
    ...     lower=lambda s: math.exp(s["log"] / s["n"]),
    ...     takes="float", state=parts, returns="float", registered=False,
    ... )
    >>> geometric.check([1.0, 2.0, 4.0])
    >>> rows = [{"time": k, "type": "A", "v": v} for k, v in enumerate([2.0, 8.0])]
    >>> text = "SELECT g(w.v) AS mean FROM S WINDOW w AS (IS A : A)"
    >>> [round(row["mean"], 6) for row in ensue.query(text, g=geometric).run(rows, unit="s")]
    [4.0]
    """
    check_name(name, OwnAggregate.kind)
    for part, given in (("lift", lift), ("combine", combine), ("lower", lower)):
        if not callable(given) and not (part == "lower" and given is None):
            raise TypeError(f"{part}: an aggregate '{name}' needs something to call, not {type(given).__name__}")
    if lower is None and returns is not None:
        raise TypeError(f"returns: without lower, '{name}' shows its state, whose type is state=")
    monoid = Monoid(lift, combine, _itself if lower is None else lower)
    taken, kept = type_of(takes, "takes"), type_of(state, "state")
    shown = kept if returns is None else type_of(returns, "returns")
    types = [str(t.arrow) for t in (taken, kept, shown)]
    code = (lift, combine, lower) if version is None else (version,)
    digest = digest_of("aggregate", name.lower(), *types, *code)
    made = OwnAggregate(name.lower(), digest, monoid, takes=taken, state=kept.arrow, returns=shown)
    if registered:
        register(made)
    return made


def _itself(state: Any) -> Any:
    return state
