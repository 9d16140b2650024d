"""The catalogs of what hangs on relations and clients ask for when they describe one: access methods, collations, who owns a
sequence; and, empty, those of kinds of object that there are none of here: policies, triggers, publications and so on.

An empty relation is the truth about such a kind, and lets the queries of clients that join it run as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.objects import Sequence
from engine.catalog.system.declared import Row, SystemContext, SystemRelation

_PG_CATALOG: Final = 11
_PG_CLASS: Final = 1259
_OWNER: Final = 10


def _pg_am(_context: SystemContext) -> Iterator[Row]:
    yield 2, "heap", 3, "t"
    yield 403, "btree", 330, "i"


def _pg_collation(_context: SystemContext) -> Iterator[Row]:
    for oid, name, provider, locale in (
        (100, "default", "d", None),
        (950, "C", "c", "C"),
        (951, "POSIX", "c", "POSIX"),
    ):
        yield oid, name, _PG_CATALOG, _OWNER, provider, True, -1, locale, locale, None, None


def _pg_tablespace(_context: SystemContext) -> Iterator[Row]:
    yield 1663, "pg_default", _OWNER, None, None


def _pg_depend(context: SystemContext) -> Iterator[Row]:
    """Of sequences on their columns."""
    for relation in context.snapshot.relations.values():
        if isinstance(relation, Sequence) and relation.owner is not None:
            kind = "i" if relation.internal else "a"
            yield _PG_CLASS, relation.oid, 0, _PG_CLASS, *relation.owner, kind


SYSTEM: Final = (
    SystemRelation(2601, "pg_am", "oid oid, amname name, amhandler regproc, amtype char", _pg_am),
    SystemRelation(
        3456,
        "pg_collation",
        "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool, "
        "collencoding int4, collcollate text, collctype text, colliculocale text, collversion text",
        _pg_collation,
    ),
    SystemRelation(
        1213, "pg_tablespace", "oid oid, spcname name, spcowner oid, spcacl text[], spcoptions text[]", _pg_tablespace
    ),
    SystemRelation(
        2608,
        "pg_depend",
        "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char",
        _pg_depend,
    ),
    SystemRelation(2611, "pg_inherits", "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool"),
    SystemRelation(
        2620,
        "pg_trigger",
        "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char, tgisinternal bool, "
        "tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, tginitdeferred bool, tgnargs int2, "
        "tgattr int2[], tgargs bytea, tgqual text, tgoldtable name, tgnewtable name",
    ),
    SystemRelation(
        2618,
        "pg_rewrite",
        "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, ev_qual text, ev_action text",
    ),
    SystemRelation(
        3079,
        "pg_extension",
        "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, extversion text, extconfig oid[], "
        "extcondition text[]",
    ),
    SystemRelation(
        3256,
        "pg_policy",
        "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles oid[], polqual text, "
        "polwithcheck text",
    ),
    SystemRelation(
        3350,
        "pg_partitioned_table",
        "partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2[], partclass oid[], "
        "partcollation oid[], partexprs text",
    ),
    SystemRelation(
        3381,
        "pg_statistic_ext",
        "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4, stxkeys int2[], "
        "stxkind char[], stxexprs text",
    ),
    SystemRelation(
        6104,
        "pg_publication",
        "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, pubdelete bool, "
        "pubtruncate bool, pubviaroot bool",
    ),
    SystemRelation(6106, "pg_publication_rel", "oid oid, prpubid oid, prrelid oid, prqual text, prattrs int2[]"),
    SystemRelation(6237, "pg_publication_namespace", "oid oid, pnpubid oid, pnnspid oid"),
    SystemRelation(
        2607,
        "pg_conversion",
        "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, contoencoding int4, "
        "conproc regproc, condefault bool",
    ),
    SystemRelation(3602, "pg_ts_config", "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid"),
    SystemRelation(
        3600,
        "pg_ts_dict",
        "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, dictinitoption text",
    ),
    SystemRelation(
        3601,
        "pg_ts_parser",
        "oid oid, prsname name, prsnamespace oid, prsstart regproc, prstoken regproc, prsend regproc, "
        "prsheadline regproc, prslextype regproc",
    ),
    SystemRelation(
        3764,
        "pg_ts_template",
        "oid oid, tmplname name, tmplnamespace oid, tmplinit regproc, tmpllexize regproc",
    ),
    SystemRelation(1418, "pg_user_mapping", "oid oid, umuser oid, umserver oid, umoptions text[]"),
    SystemRelation(
        3466,
        "pg_event_trigger",
        "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, evttags text[]",
    ),
    SystemRelation(
        826,
        "pg_default_acl",
        "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl text[]",
    ),
    SystemRelation(2396, "pg_shdescription", "objoid oid, classoid oid, description text"),
    SystemRelation(3596, "pg_seclabel", "objoid oid, classoid oid, objsubid int4, provider text, label text"),
    SystemRelation(3592, "pg_shseclabel", "objoid oid, classoid oid, provider text, label text"),
    SystemRelation(2995, "pg_largeobject_metadata", "oid oid, lomowner oid, lomacl text[]"),
    SystemRelation(
        6100,
        "pg_subscription",
        "oid oid, subdbid oid, subskiplsn text, subname name, subowner oid, subenabled bool, subbinary "
        "bool, substream bool, subtwophasestate char, subdisableonerr bool, subconninfo text, subslotname "
        "name, subsynccommit text, subpublications text[]",
    ),
    SystemRelation(3576, "pg_transform", "oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc"),
    SystemRelation(
        1214,
        "pg_shdepend",
        "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, deptype char",
    ),
    SystemRelation(
        12257,
        "pg_replication_slots",
        "slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active "
        "bool, active_pid int4, xmin oid, catalog_xmin oid, restart_lsn text, confirmed_flush_lsn text, "
        "wal_status text, safe_wal_size int8, two_phase bool",
    ),
    SystemRelation(
        12073,
        "pg_locks",
        "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid "
        "oid, classid oid, objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, "
        "granted bool, fastpath bool, waitstart timestamptz",
    ),
    SystemRelation(
        12081,
        "pg_available_extensions",
        "name name, default_version text, installed_version text, comment text",
    ),
    SystemRelation(
        12085,
        "pg_available_extension_versions",
        "name name, version text, installed bool, superuser bool, trusted bool, relocatable bool, schema "
        "name, requires name[], comment text",
    ),
    SystemRelation(
        12018,
        "pg_policies",
        "schemaname name, tablename name, policyname name, permissive text, roles name[], cmd text, qual "
        "text, with_check text",
    ),
    SystemRelation(12023, "pg_rules", "schemaname name, tablename name, rulename name, definition text"),
    SystemRelation(
        12327,
        "pg_user_mappings",
        "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions text[]",
    ),
)
