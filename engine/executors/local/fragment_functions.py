"""The names of the DuckDB functions that the compiler emits. A fragment of another member may call these and the
engine's own functions (`engine.executors.local.udf`), and no others.

None of them reads or writes anything but its arguments. A change that makes the compiler emit another function must add
it here: `tests/unit/engine/runtime/test_peer_statements.py` and every test of distributed plans detect a missing one.
"""

from __future__ import annotations

from typing import Final

from engine.executors.local.cursor_work import CURSOR_VARIABLE

FUNCTIONS: Final = frozenset((
    "abs", "acos", "acosh", "add", "any_value", "array_agg", "array_slice", "array_to_string", "ascii", "asin", "asinh", "atan",
    "atan2", "atanh", "avg", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "bool_and", "bool_or", "cbrt", "ceil",
    "chr", "coalesce", "concat", "concat_ws", "contains", "corr", "cos", "cosh", "cot", "count", "count_star", "covar_pop",
    "covar_samp", "create_sort_key", "cume_dist", "date_add", "date_diff", "date_part", "date_trunc", "datediff", "datepart",
    "day", "dayofweek", "dayofyear", "days_in_month", "decode", "degrees", "dense_rank", "element_at", "encode", "epoch",
    "epoch_us", "error", "exp", "factorial", "first", "first_value", "flatten", "floor", "format", "from_base64", "from_hex",
    "from_json",
    "gcd", "gen_random_uuid", "generate_series", "get_bit", "get_current_timestamp", "greatest", "hash", "hex", "hour",
    "instr", "isfinite", "isinf", "isnan", "isodow", "isoyear", "lag", "last", "last_day", "last_value", "lcm", "lead",
    "least", "left", "len", "length", "like_escape", "list_aggregate", "list_append", "list_concat", "list_distinct",
    "list_extract", "list_filter", "list_has_all", "list_has_any", "list_position", "list_prepend", "list_reduce",
    "list_reverse", "list_slice", "list_sort", "list_sum", "list_transform", "list_value", "list_zip", "ln", "log", "log10",
    "lower", "lpad", "ltrim", "make_date", "make_timestamp", "make_timestamptz", "map_entries", "map_from_entries", "map_keys",
    "max", "max_by", "md5", "median", "microsecond", "min", "min_by", "minute", "mode", "month", "multiply",
    "now", "nth_value", "ntile",
    "nullif", "octet_length", "ord", "percent_rank", "pi", "pow", "power", "printf", "quantile_cont", "quantile_disc", "quarter",
    "radians", "random", "range", "rank", "regexp_escape", "regexp_extract", "regexp_extract_all", "regexp_full_match",
    "regexp_matches", "regexp_replace", "regexp_split_to_array", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept",
    "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "repeat", "replace", "reverse", "right", "round",
    "round_even", "row", "row_number", "rpad", "rtrim", "second", "set_bit", "sha256", "sign", "sin", "sinh", "sleep_ms",
    "split_part", "sqrt", "starts_with", "stddev", "stddev_pop", "stddev_samp", "string_agg", "string_split",
    "string_split_regex", "string_to_array", "strlen", "strpos", "struct_extract", "struct_pack", "substr", "substring", "subtract",
    "sum", "tan", "tanh", "timezone", "timezone_hour", "timezone_minute", "to_base", "to_base64", "to_days", "to_hex",
    "to_microseconds", "to_months", "translate", "trim", "trunc", "typeof", "unhex", "unicode", "unnest", "upper",
    "url_decode", "uuid", "var_pop", "var_samp", "variance", "week", "weekday", "weekofyear", "xor", "year",
))  # fmt: skip

#: Functions in FROM, besides the readers of files.
TABLE_FUNCTIONS: Final = frozenset(("unnest", "range", "generate_series"))

#: Readers of files, which take their files from a parameter, and the options that a fragment may give them.
READERS: Final = frozenset(("read_parquet", "read_csv", "read_json"))
READER_OPTIONS: Final = frozenset((
    "all_varchar", "allow_quoted_nulls", "can_have_nan", "columns", "delim", "escape", "file_row_number", "filename", "header",
    "hive_partitioning", "nullstr", "quote", "union_by_name",
))  # fmt: skip

#: Functions that return a setting or a variable, each with the only name that a fragment may request.
TOLD: Final = {"current_setting": "timezone", "getvariable": CURSOR_VARIABLE}
