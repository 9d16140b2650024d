"""The names of the Spark functions that the compiler emits. A fragment of another member may call these and no others.

None of them reads or writes anything but its arguments. `java_method` is not among them: it is accepted only as the one
call that the compiler makes (`engine.planner.codegen.interruptible`), with exactly those arguments. The same tests as
for `engine.executors.local.fragment_functions` keep this list complete.
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = frozenset((
    "abs", "acos", "acosh", "aggregate", "any_value", "array", "array_append", "array_contains", "array_distinct",
    "array_except", "array_intersect", "array_join", "array_max", "array_min", "array_position", "array_prepend",
    "array_remove", "array_repeat", "array_size", "array_sort", "array_union", "arrays_zip", "ascii", "asin", "asinh", "atan",
    "atan2", "atanh", "avg", "base64", "bin", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "bool_and",
    "bool_or", "btrim", "cardinality", "cbrt", "ceil", "ceiling", "char", "char_length", "chr", "coalesce", "collect_list",
    "concat", "concat_ws", "contains", "conv", "convert_timezone", "corr", "cos", "cosh", "cot", "count", "covar_pop",
    "covar_samp", "cume_dist", "current_timestamp", "date_add", "date_diff", "date_format", "date_part", "dateadd",
    "datediff", "day", "dayofweek", "dayofyear", "decode", "degrees", "dense_rank", "element_at", "encode", "exists", "exp",
    "explode", "filter", "first", "first_value", "flatten", "floor", "forall", "format_string", "from_unixtime", "get",
    "get_json_object", "greatest", "grouping", "hex", "hour", "if", "ifnull", "initcap", "inline", "instr", "is_valid_utf8",
    "isnan", "isnull", "lag", "last", "last_day", "last_value", "lead", "least", "left", "len", "length", "ln", "locate",
    "log", "log10", "log2", "lower", "lpad", "ltrim", "make_date", "make_timestamp", "map_from_entries", "max", "max_by",
    "md5", "min", "min_by", "minute", "mod", "mode", "monotonically_increasing_id", "month", "months_between", "named_struct",
    "nth_value", "ntile", "nullif", "nvl", "octet_length", "overlay", "percent_rank", "percentile", "percentile_cont",
    "percentile_disc", "pi", "pmod", "posexplode", "position", "pow", "power", "quarter", "radians", "raise_error", "rand",
    "range", "rank", "regexp_extract", "regexp_extract_all", "regexp_instr", "regexp_like", "regexp_replace", "regr_avgx",
    "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "repeat",
    "replace", "reverse", "right", "rint", "round", "row_number", "rpad", "rtrim", "second", "sequence", "sha1", "sha2",
    "shiftleft", "shiftright", "sign", "sin", "sinh", "size", "slice", "split", "split_part", "sqrt", "startswith", "stddev",
    "stddev_pop", "stddev_samp", "struct", "substr", "substring", "substring_index", "sum", "tan", "tanh", "timestamp_micros",
    "timestamp_millis", "timestamp_seconds", "timestampadd", "timestampdiff", "to_date", "to_timestamp", "transform",
    "translate", "trim", "trunc", "try_divide", "typeof", "unbase64", "unhex", "unix_date", "unix_micros", "unix_millis",
    "unix_seconds", "upper", "uuid", "var_pop", "var_samp", "variance", "weekday", "weekofyear", "width_bucket", "year",
    "zip_with",
))  # fmt: skip

#: Functions in FROM and in LATERAL VIEW.
TABLE_FUNCTIONS: Final = frozenset(("range", "inline", "explode"))
