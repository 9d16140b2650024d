"""PostgreSQL settings that a session may change and that have no effect here: those of its planner, its vacuum, its
buffers.

Clients and scripts set them, and read back the values that they have set. `pg_settings.extra_desc` says that they have
no effect; a notice would appear in every restored dump and every new connection of many drivers.

If ignoring a value would give other answers (`array_nulls`), only the value that Sluice implements is accepted: `ONLY`.
A setting that protects a client and is not implemented does not exist at all (`restrict_nonsystem_relation_kind`, which
pg_dump sets if it exists).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from engine.settings.numbers import BARE_SIZES

_SWITCHES: Final = {
    "on": (
        "array_nulls", "debug_pretty_print", "enable_async_append", "enable_bitmapscan", "enable_gathermerge", "enable_hashagg",
        "enable_hashjoin", "enable_incremental_sort", "enable_indexonlyscan", "enable_indexscan", "enable_material",
        "enable_memoize", "enable_mergejoin", "enable_nestloop", "enable_parallel_append", "enable_parallel_hash",
        "enable_partition_pruning", "enable_seqscan", "enable_sort", "enable_tidscan", "geqo", "jit_expressions",
        "jit_tuple_deforming", "parallel_leader_participation", "synchronize_seqscans", "track_activities", "track_counts",
        "update_process_title", "wal_init_zero", "wal_recycle",
    ),
    "off": (
        "allow_in_place_tablespaces", "allow_system_table_mods", "debug_print_parse", "debug_print_plan", "debug_print_rewritten",
        "enable_partitionwise_aggregate", "enable_partitionwise_join", "exit_on_error", "ignore_checksum_failure", "jit",
        "jit_dump_bitcode", "lo_compat_privileges", "log_executor_stats", "log_lock_waits", "log_parser_stats",
        "log_planner_stats", "log_replication_commands", "log_statement_stats", "quote_all_identifiers", "trace_notify",
        "trace_sort", "track_io_timing", "track_wal_io_timing", "transform_null_equals", "zero_damaged_pages",
    ),
}  # fmt: skip
_INT4_MAX: Final = 2_147_483_647
_REAL_MAX: Final = 1.79769313486231e308
#: Name: default, minimum, maximum.
_INTEGERS: Final = {
    "commit_delay": ("0", 0, 100_000), "commit_siblings": ("5", 0, 1000), "debug_discard_caches": ("0", 0, 0),
    "effective_io_concurrency": ("1", 0, 1000), "from_collapse_limit": ("8", 1, _INT4_MAX), "geqo_effort": ("5", 1, 10),
    "geqo_generations": ("0", 0, _INT4_MAX), "geqo_pool_size": ("0", 0, _INT4_MAX), "geqo_threshold": ("12", 2, _INT4_MAX),
    "gin_fuzzy_search_limit": ("0", 0, _INT4_MAX), "join_collapse_limit": ("8", 1, _INT4_MAX),
    "maintenance_io_concurrency": ("10", 0, 1000), "max_parallel_maintenance_workers": ("2", 0, 1024),
    "max_parallel_workers": ("8", 0, 1024), "max_parallel_workers_per_gather": ("2", 0, 1024),
    "tcp_keepalives_count": ("0", 0, _INT4_MAX), "tcp_keepalives_idle": ("0", 0, _INT4_MAX),
    "tcp_keepalives_interval": ("0", 0, _INT4_MAX), "vacuum_cost_limit": ("200", 1, 10_000),
    "vacuum_cost_page_dirty": ("20", 0, 10_000), "vacuum_cost_page_hit": ("1", 0, 10_000),
    "vacuum_cost_page_miss": ("2", 0, 10_000), "vacuum_failsafe_age": ("1600000000", 0, 2_100_000_000),
    "vacuum_freeze_min_age": ("50000000", 0, 1_000_000_000), "vacuum_freeze_table_age": ("150000000", 0, 2_000_000_000),
    "vacuum_multixact_failsafe_age": ("1600000000", 0, 2_100_000_000),
    "vacuum_multixact_freeze_min_age": ("5000000", 0, 1_000_000_000),
    "vacuum_multixact_freeze_table_age": ("150000000", 0, 2_000_000_000),
}  # fmt: skip
_REALS: Final = {
    "cpu_index_tuple_cost": ("0.005", 0, _REAL_MAX), "cpu_operator_cost": ("0.0025", 0, _REAL_MAX),
    "cpu_tuple_cost": ("0.01", 0, _REAL_MAX), "cursor_tuple_fraction": ("0.1", 0, 1), "geqo_seed": ("0", 0, 1),
    "geqo_selection_bias": ("2", 1.5, 2), "hash_mem_multiplier": ("2", 1, 1000), "jit_above_cost": ("100000", -1, _REAL_MAX),
    "jit_inline_above_cost": ("500000", -1, _REAL_MAX), "jit_optimize_above_cost": ("500000", -1, _REAL_MAX),
    "log_statement_sample_rate": ("1", 0, 1), "log_transaction_sample_rate": ("0", 0, 1),
    "parallel_setup_cost": ("1000", 0, _REAL_MAX), "parallel_tuple_cost": ("0.1", 0, _REAL_MAX),
    "random_page_cost": ("4", 0, _REAL_MAX), "recursive_worktable_factor": ("10", 0.001, 1e6),
    "seq_page_cost": ("1", 0, _REAL_MAX),
}  # fmt: skip
#: In milliseconds.
_TIMES: Final = {
    "client_connection_check_interval": ("0", 0, _INT4_MAX), "deadlock_timeout": ("1s", 1, _INT4_MAX),
    "log_min_duration_sample": ("-1", -1, _INT4_MAX), "tcp_user_timeout": ("0", 0, _INT4_MAX),
    "vacuum_cost_delay": ("0", 0, 100), "wal_sender_timeout": ("1min", 0, _INT4_MAX),
}  # fmt: skip
#: With the unit of a bare number, in which the limits count too.
_SIZES: Final = {
    "backend_flush_after": ("0", 0, 256, "8kB"), "effective_cache_size": ("4GB", 1, _INT4_MAX, "8kB"),
    "gin_pending_list_limit": ("4MB", 64, _INT4_MAX, "kB"), "log_parameter_max_length": ("-1", -1, _INT4_MAX // 2, "B"),
    "log_parameter_max_length_on_error": ("0", -1, _INT4_MAX // 2, "B"), "log_temp_files": ("-1", -1, _INT4_MAX, "kB"),
    "logical_decoding_work_mem": ("64MB", 64, _INT4_MAX, "kB"), "maintenance_work_mem": ("64MB", 1024, _INT4_MAX, "kB"),
    "max_stack_depth": ("2MB", 100, _INT4_MAX, "kB"), "min_parallel_index_scan_size": ("512kB", 0, 715_827_882, "8kB"),
    "min_parallel_table_scan_size": ("8MB", 0, 715_827_882, "8kB"), "temp_buffers": ("8MB", 100, _INT4_MAX // 2, "8kB"),
    "temp_file_limit": ("-1", -1, _INT4_MAX, "kB"), "wal_skip_threshold": ("2MB", 0, _INT4_MAX, "kB"),
}  # fmt: skip
#: Name: default, and the allowed values.
_CHOICES: Final = {
    "compute_query_id": ("auto", ("auto", "regress", "on", "off")),
    "constraint_exclusion": ("partition", ("partition", "on", "off")),
    "default_toast_compression": ("pglz", ("pglz", "lz4")),
    "force_parallel_mode": ("off", ("off", "on", "regress")),
    "stats_fetch_consistency": ("cache", ("none", "cache", "snapshot")),
    "track_functions": ("none", ("none", "pl", "all")),
    "wal_compression": ("off", ("pglz", "lz4", "zstd", "on", "off")),
}
_TEXTS: Final = {
    "backtrace_functions": "", "dynamic_library_path": "$libdir", "local_preload_libraries": "",
    "session_preload_libraries": "", "temp_tablespaces": "",
    "timezone_abbreviations": "Default", "wal_consistency_checking": "",
}  # fmt: skip
#: The only value that each may be set to.
ONLY: Final = frozenset(
    (
        "allow_system_table_mods", "array_nulls", "exit_on_error", "local_preload_libraries", "quote_all_identifiers",
        "session_preload_libraries", "temp_tablespaces", "timezone_abbreviations",
        "transform_null_equals",
    )
)  # fmt: skip
#: Only a superuser may change them (PGC_SUSET).
PRIVILEGED: Final = frozenset(
    (
        "allow_in_place_tablespaces", "allow_system_table_mods", "backtrace_functions", "commit_delay", "compute_query_id",
        "deadlock_timeout", "debug_discard_caches", "dynamic_library_path", "ignore_checksum_failure", "jit_dump_bitcode",
        "lo_compat_privileges", "log_executor_stats", "log_lock_waits", "log_min_duration_sample",
        "log_parameter_max_length", "log_parser_stats", "log_planner_stats", "log_replication_commands",
        "log_statement_sample_rate", "log_statement_stats", "log_temp_files", "log_transaction_sample_rate", "max_stack_depth",
        "session_preload_libraries", "temp_file_limit", "track_activities", "track_counts", "track_functions",
        "track_io_timing", "track_wal_io_timing", "update_process_title", "wal_compression", "wal_consistency_checking",
        "wal_init_zero", "wal_recycle", "zero_damaged_pages",
    )
)  # fmt: skip

#: Only a superuser, or a role with the privileges of pg_read_all_settings, sees them (GUC_SUPERUSER_ONLY).
EXAMINED: Final = frozenset(("dynamic_library_path", "session_preload_libraries", "shared_preload_libraries"))

_Row = tuple[Literal["bool", "integer", "real", "time", "size", "enum", "string"], str, dict[str, Any]]


def _rows() -> Iterator[tuple[str, _Row]]:
    for default, names in _SWITCHES.items():
        yield from ((name, ("bool", default, {})) for name in names)
    for name, (default, least, most) in _INTEGERS.items():
        yield name, ("integer", default, {"minimum": least, "maximum": most})
    for name, (default, lowest, highest) in _REALS.items():
        yield name, ("real", default, {"minimum": lowest, "maximum": highest})
    for name, (default, least, most) in _TIMES.items():
        yield name, ("time", default, {"minimum": least, "maximum": most})
    for name, (default, least, most, unit) in _SIZES.items():
        size = BARE_SIZES[unit]
        yield name, ("size", default, {"minimum": least * size, "maximum": most * size, "unit": unit})
    for name, (default, values) in _CHOICES.items():
        yield name, ("enum", default, {"values": values})
    for name, default in _TEXTS.items():
        yield name, ("string", default, {})


#: Name: kind, default and further arguments of `engine.settings.session_settings.Setting`.
ROWS: Final[Mapping[str, _Row]] = dict(_rows())
