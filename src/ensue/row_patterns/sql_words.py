"""The words that SQL has for what the language calls otherwise: functions, types, parts of times."""

from __future__ import annotations

from ensue.language.ast import CAST_TYPES

#: Words that no name in an expression may be unless it is quoted.
RESERVED = frozenset(
    """SELECT FROM WHERE AND OR NOT AS BY WHEN THEN ELSE END IN IS LIKE ILIKE RLIKE BETWEEN ORDER LIMIT OFFSET UNION
    GROUP HAVING ON JOIN MATCH_RECOGNIZE DEFINE PATTERN MEASURES WITH""".split()
)
#: Words that begin the next part of a query, so that they are no alias.
NO_ALIAS = RESERVED | frozenset(
    """WHERE ORDER LIMIT OFFSET MATCH_RECOGNIZE ONE ALL AFTER SUBSET PARTITION CROSS INNER LEFT RIGHT FULL NATURAL
    FETCH WINDOW QUALIFY EXCEPT INTERSECT""".split()
)
#: Functions that go from row to row.
NAVIGATION = {
    **{name: name for name in ("FIRST", "LAST", "PREV", "NEXT")},
    **{"LAG": "PREV", "LEAD": "NEXT", "FIRST_VALUE": "FIRST", "LAST_VALUE": "LAST"},
}
#: The aggregates, with how many arguments each takes.
AGGREGATES = {
    **dict.fromkeys(("sum", "avg", "min", "max", "any_value", "collect", "bool_and", "bool_or"), (1, 1)),
    **dict.fromkeys(("max_by", "min_by"), (2, 2)),
    "count": (0, 1),
    "string_agg": (1, 2),
}
#: The aggregates that may be over a frame of rows: `avg(x) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)`.
FRAMED = ("count", "sum", "avg", "min", "max")
#: What makes a text of array_agg(x) and a separator, in this order or the other way round: that is string_agg.
LISTS_TO_TEXTS = {"array_join": 1, "array_to_string": 1, "concat_ws": -1}
#: Other systems' names of functions that are here.
OTHER_NAMES = {
    **dict.fromkeys(("array_agg", "collect_list", "list"), "collect"),
    "listagg": "string_agg",
    "every": "bool_and",
    **dict.fromkeys(("arbitrary",), "any_value"),
    **dict.fromkeys(("arg_max",), "max_by"),
    **dict.fromkeys(("arg_min",), "min_by"),
    **dict.fromkeys(("nvl", "ifnull"), "coalesce"),
    "substring": "substr",
    "ceiling": "ceil",
    "pow": "power",
    **dict.fromkeys(("char_length", "character_length", "len"), "length"),
    **dict.fromkeys(("dayofmonth", "day_of_month"), "day"),
    **dict.fromkeys(("dayofyear",), "day_of_year"),
    **dict.fromkeys(("week_of_year", "weekofyear"), "week"),
    "iff": "if",
    **dict.fromkeys(("regexp_like", "regexp_matches"), "regexp_matches"),
}
#: The parts of a time that EXTRACT knows, and the function of each.
FIELDS = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "epoch")},
    **dict.fromkeys(("weekday", "isodow"), "weekday"),
    **dict.fromkeys(("day_of_year", "doy"), "day_of_year"),
}
#: The types of CAST; decimals are computed with as floats.
TYPES = {
    **CAST_TYPES,
    **dict.fromkeys(("decimal", "numeric", "real", "number", "double"), "float"),
    **dict.fromkeys(("smallint", "tinyint"), "integer"),
    **dict.fromkeys(("char", "varchar2"), "string"),
}
#: The types that cut a text off at their length.
SHORTENED = ("varchar", "char", "varchar2")
NO_FIXED_LENGTH = ("month", "months", "year", "years")
