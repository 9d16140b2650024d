"""Other system relations of PostgreSQL 15: relations whose rows are PostgreSQL's own, views as PostgreSQL defines them,
and relations for kinds of objects that Sluice does not have.

A view of PostgreSQL's is a query over the other relations. Its own definition (kept with its columns by
`engine.pg_catalog.builtin`) is therefore enough to return what PostgreSQL would return for the rows that exist here. A
view whose definition needs something that Sluice lacks has no rows. An empty relation is correct for such a kind of
object, and the queries of clients that join it run unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from engine.catalog.snapshot import SLUICE
from engine.pg_catalog.builtin import shapes
from engine.pg_catalog.declared import SystemRelation, postgres

#: Relations that have only PostgreSQL's own rows.
STORED: Final = frozenset(
    (
        "pg_aggregate", "pg_am", "pg_amop", "pg_amproc", "pg_cast", "pg_collation", "pg_conversion", "pg_language",
        "pg_opclass", "pg_operator", "pg_opfamily", "pg_proc", "pg_tablespace", "pg_ts_config", "pg_ts_config_map",
        "pg_ts_dict", "pg_ts_parser", "pg_ts_template", "sql_features", "sql_implementation_info", "sql_parts", "sql_sizing",
    )
)  # fmt: skip
#: Views over the internal state of a PostgreSQL server that does not exist here: replication, index builds, caches.
_EMPTY: Final = frozenset(
    (
        "pg_available_extension_versions", "pg_available_extensions", "pg_backend_memory_contexts", "pg_config",
        "pg_file_settings", "pg_hba_file_rules", "pg_ident_file_mappings", "pg_locks", "pg_prepared_xacts",
        "pg_publication_tables", "pg_replication_origin_status", "pg_replication_slots", "pg_seclabels",
        "pg_shmem_allocations", "pg_stat_archiver", "pg_stat_progress_basebackup", "pg_stat_gssapi",
        "pg_stat_progress_create_index",
        "pg_stat_recovery_prefetch",
        "pg_stat_replication", "pg_stat_replication_slots", "pg_stat_slru", "pg_stat_ssl", "pg_stat_subscription",
        "pg_stat_subscription_stats", "pg_stat_wal", "pg_stat_wal_receiver", "pg_stats_ext", "pg_stats_ext_exprs",
        "pg_timezone_abbrevs",
    )
)  # fmt: skip
#: Relations that only superusers may read.
_CLOSED: Final[Mapping[str, Literal["table", "view"]]] = {
    **dict.fromkeys(
        ("pg_statistic", "pg_statistic_ext_data", "pg_user_mapping", "pg_largeobject", "sql_parts"), "table"
    ),
    **dict.fromkeys(
        (
            "pg_backend_memory_contexts", "pg_config", "pg_file_settings", "pg_hba_file_rules", "pg_ident_file_mappings",
            "pg_replication_origin_status", "pg_shmem_allocations", "transforms", "_pg_foreign_data_wrappers",
            "_pg_foreign_servers", "_pg_foreign_table_columns", "_pg_foreign_tables", "_pg_user_mappings",
        ),
        "view",
    ),
}  # fmt: skip


def _query(name: str, definition: str) -> str:
    """Return a view's query. Views over pg_authid read pg_roles instead: here only superusers may read pg_authid, while
    the views are open to all roles in PostgreSQL and use only columns that pg_roles has.
    """
    if name in _EMPTY:
        return ""
    return definition.removesuffix(";").replace("pg_authid", "pg_roles")


_KEYWORDS: Final = SystemRelation(
    15_905,
    "keywords",
    "word text, catcode char, barelabel bool, catdesc text, baredesc text",
    schema=SLUICE,
    stored=True,
)
#: Every relation of PostgreSQL's. Where another family declares it, that declaration takes precedence
#: (`engine.pg_catalog`).
SYSTEM: Final[tuple[SystemRelation, ...]] = (
    _KEYWORDS,
    *(
        postgres(
            name,
            schema=schema,
            query=_query(name, shape.definition),
            stored=name in STORED,
            closed=_CLOSED.get(name, ""),
        )
        for (schema, name), shape in shapes().items()
    ),
)
