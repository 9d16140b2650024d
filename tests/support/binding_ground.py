"""A catalog for tests of the binder alone: tables made from their DDL, without files.

The DDL is written once. Our parser reads it, and a real PostgreSQL does too where a test asks for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.catalog.model.objects import Table, TableColumn, View
from engine.pg_catalog.fixed_catalog import FixedCatalog
from engine.sql.binder import BoundQuery, bind_query
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.sql.binder.type_names import resolve_type
from engine.sql.parser.nodes.statements import CreateForeignTable, Query
from engine.sql.parser.parse import parse
from wire.types.text_settings import InputSettings

#: TPC-H's tables, a quoted and an ambiguous one, as `name (columns)`.
TABLES: Final = (
    "region (r_regionkey int not null, r_name varchar(25), r_comment text)",
    "nation (n_nationkey int not null, n_name varchar(25), n_regionkey int, n_comment text)",
    "supplier (s_suppkey bigint, s_name char(25), s_address text, s_nationkey int, s_phone char(15),"
    " s_acctbal numeric(15,2), s_comment text)",
    "customer (c_custkey bigint, c_name text, c_address text, c_nationkey int, c_phone char(15),"
    " c_acctbal numeric(15,2), c_mktsegment char(10), c_comment text)",
    "part (p_partkey bigint, p_name text, p_mfgr char(25), p_brand char(10), p_type varchar(25), p_size int,"
    " p_container char(10), p_retailprice numeric(15,2), p_comment text)",
    "partsupp (ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost numeric(15,2), ps_comment text)",
    "orders (o_orderkey bigint, o_custkey bigint, o_orderstatus char(1), o_totalprice numeric(15,2), o_orderdate date,"
    " o_orderpriority char(15), o_clerk char(15), o_shippriority int, o_comment text)",
    "lineitem (l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity numeric(15,2),"
    " l_extendedprice numeric(15,2), l_discount numeric(15,2), l_tax numeric(15,2), l_returnflag char(1),"
    " l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct char(25),"
    " l_shipmode char(10), l_comment text)",
    'odd ("Mixed" int, "select" text, dup int, j json)',
)
#: Views over them, in the order of their definition.
VIEWS: Final = (
    ("asia", "select n_nationkey, n_name as name from nation where n_regionkey = 2"),
    ("asia_count", "select count(*) as n, max(name) as last from asia"),
)


class TestCatalog(FixedCatalog):
    """The tables and views above, in schema public."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__({})
        for oid, table in enumerate(TABLES, 16400):
            self._add_table(oid, table)
        for oid, (name, definition) in enumerate(VIEWS, 16500):
            bound = bind(definition, self)
            columns = tuple(TableColumn(c.name, c.type, i) for i, c in enumerate(bound.columns, 1))
            self.relations[name] = View(oid, "public", name, columns, definition)

    def _add_table(self, oid: int, ddl: str) -> None:
        (statement,) = parse(f"create foreign table {ddl}")
        assert isinstance(statement, CreateForeignTable)
        columns = tuple(
            TableColumn(c.name, resolve_type(c.type), i, not c.not_null) for i, c in enumerate(statement.columns, 1)
        )
        name = statement.name.name
        self.relations[name] = Table(oid, "public", name, columns, "parquet", f"{name}.parquet", (f"{name}.parquet",))


def bind(sql: str, catalog: TestCatalog, types: Sequence[int] = ()) -> BoundQuery:
    """Bind one query. types: the declared parameter types' OIDs."""
    (query,) = parse(sql)
    assert isinstance(query, Query)
    context = BindContext(catalog, ("public",), InputSettings(), ParameterTypes(types))
    return bind_query(query, context)
