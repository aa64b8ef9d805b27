"""Functions of other systems, and what to write instead."""

_LENGTH, _PART, _AGO = "write length(s)", "write substr(s, from, length)", "write PREV(x.a), or PREV(x.a, 2)"
_CLOCK = "a query knows no clock: its time is that of the events, as in y.time - x.time"
_COALESCE, _COLLECT, _CONTAINS = "write coalesce(a, b)", "write collect(x.a)", "write contains(s, 'part')"
_PERCENTILE = "write median(x.a); there are no other percentiles"
_PARSE, _FORMAT = "write CAST(s AS timestamp)", "write CAST(t AS string), or extract(hour FROM t)"
_EVERY = "write x[v > 1] for a condition that every event of x meets"
_REGEX = "write regexp_matches(s, 'p'), or s RLIKE 'p'"
_RANK = "there are no window functions: LIMIT, NEXT and LAST choose among matches"

#: What to write instead of a function, by its name in lower case.
INSTEAD: dict[str, str] = {
    **dict.fromkeys(("lag", "previous", "prior"), _AGO),
    **dict.fromkeys(("lead", "next", "following"), "write a step directly after it: A AS x : ANY AS y"),
    **dict.fromkeys(("now", "current_timestamp", "current_date", "getdate", "sysdate", "localtimestamp"), _CLOCK),
    **dict.fromkeys(("len", "char_length", "character_length", "size", "cardinality", "strlen"), _LENGTH),
    **dict.fromkeys(("array_length", "array_size", "list_length", "list_size"), "write length(x.tags)"),
    **dict.fromkeys(("substring", "mid", "left", "right", "slice"), _PART),
    **dict.fromkeys(("ltrim", "rtrim", "btrim", "strip"), "write trim(s)"),
    **dict.fromkeys(("ucase", "upcase", "toupper", "to_upper"), "write upper(s)"),
    **dict.fromkeys(("lcase", "downcase", "tolower", "to_lower"), "write lower(s)"),
    **dict.fromkeys(("strpos", "instr", "position", "locate", "charindex", "find", "like"), _CONTAINS),
    **dict.fromkeys(("list_contains", "array_contains", "array_position", "has"), "write contains(x.tags, 'a')"),
    **dict.fromkeys(("startswith", "prefix"), "write starts_with(s, 'part')"),
    **dict.fromkeys(("endswith", "suffix"), "write ends_with(s, 'part')"),
    **dict.fromkeys(("regexp_like", "regexp_match", "regexp_contains", "regexp", "rlike", "regex", "matches"), _REGEX),
    **dict.fromkeys(("split_part", "string_split", "str_split", "string_to_array"), "write split(s, ',')[1]"),
    "pow": "write power(a, b)",
    **dict.fromkeys(("log", "log2"), "write ln(a), or log10(a)"),
    "ceiling": "write ceil(a)",
    **dict.fromkeys(("trunc", "truncate"), "write floor(a), or date_trunc('hour', t)"),
    **dict.fromkeys(("ifnull", "nvl", "isnull", "zeroifnull"), _COALESCE),
    **dict.fromkeys(("iif", "iff", "decode", "switch"), "write if(test, a, b), or CASE"),
    **dict.fromkeys(("mean", "average"), "write avg(x.a)"),
    **dict.fromkeys(("array_agg", "list", "group_concat", "string_agg", "listagg", "collect_list"), _COLLECT),
    **dict.fromkeys(("collect_set", "approx_count_distinct", "count_distinct"), "write count(DISTINCT x.a)"),
    **dict.fromkeys(("stddev_samp", "stdev", "std", "stddev_sample"), "write stddev(x.a), that of a sample"),
    **dict.fromkeys(("variance", "var", "var_samp"), "write power(stddev(x.a), 2)"),
    **dict.fromkeys(("percentile", "percentile_cont", "percentile_disc", "quantile", "approx_percentile"), _PERCENTILE),
    **dict.fromkeys(("any_value", "arbitrary"), "write first(x.a)"),
    **dict.fromkeys(("bool_and", "every", "bool_or", "any", "all"), _EVERY),
    **dict.fromkeys(("to_timestamp", "strptime", "parse_timestamp", "to_date", "str_to_date"), _PARSE),
    **dict.fromkeys(("to_char", "strftime", "date_format", "format_timestamp"), _FORMAT),
    **dict.fromkeys(("datediff", "date_diff", "timestampdiff", "age"), "write (y.time - x.time) / 1 h"),
    **dict.fromkeys(("dateadd", "date_add", "timestampadd"), "write x.time + 1 h"),
    **dict.fromkeys(("dayofweek", "day_of_week", "dow", "isodow"), "write weekday(t): 1 for Monday to 7 for Sunday"),
    **dict.fromkeys(("dayofyear", "doy"), "write day_of_year(t)"),
    **dict.fromkeys(("dayofmonth", "day_of_month"), "write day(t)"),
    **dict.fromkeys(("date_part", "datepart"), "write extract(hour FROM t)"),
    **dict.fromkeys(("unix_timestamp", "to_unixtime", "epoch_seconds"), "write epoch(t)"),
    **dict.fromkeys(("haversine", "st_distance", "geo_distance"), "write distance(lat, lon, lat, lon)"),
    **dict.fromkeys(("row_number", "rank", "dense_rank", "match_number", "classifier"), _RANK),
    **dict.fromkeys(("json_extract", "json_value", "get_json_object"), "write x.user.id for a field of a struct"),
}
