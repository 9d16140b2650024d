"""pgjdbc's DatabaseMetaData: every getter is called on a member and on PostgreSQL 15 with the same objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from support.browsing_ground import Place, browsed
from support.jdbc import Jdbc
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

#: java.sql.Types, ResultSet, Connection and DatabaseMetaData have numbers for what scalar getters are asked about.
_NUMBERS: Final = (-16, -7, -5, 0, 1, 2, 4, 8, 12, 93, 1003, 1004, 1005, 1007, 1008, 2000, 2003, 2012, 2014)


class Asked:
    """DatabaseMetaData of one server, its answers as text."""

    def __init__(self, jdbc: Jdbc, place: Place) -> None:
        self._jdbc = jdbc
        self._connection = jdbc.connect(
            f"jdbc:postgresql://{place.host}:{place.port}/{place.database}?user={place.user}&sslmode=disable"
        )
        self._told = self._connection.getMetaData()
        self._port = str(place.port)

    def close(self) -> None:
        self._connection.close()

    def rows(self, getter: str, *arguments: Any) -> list[str]:
        """The columns with their types, then the rows in the driver's order. A list of texts is an array of Java's."""
        given = [self._array(a) if isinstance(a, tuple) else a for a in arguments]
        result = getattr(self._told, getter)(*given)
        columns = result.getMetaData()
        numbers = range(1, columns.getColumnCount() + 1)
        lines = [" | ".join(f"{columns.getColumnLabel(n)} {columns.getColumnTypeName(n)}" for n in numbers)]
        while result.next():
            lines.append(" | ".join(str(result.getString(n)) for n in numbers))
        result.close()
        return lines

    def scalars(self) -> list[str]:
        """Every getter that takes nothing or numbers alone and gives no rows, with each number that means something."""
        lines = []
        for method in self._jdbc.java.lang.Class.forName("java.sql.DatabaseMetaData").getMethods():
            name, kinds = method.getName(), [kind.getName() for kind in method.getParameterTypes()]
            given = method.getReturnType().getName()
            if given in ("java.sql.ResultSet", "java.sql.Connection") or any(kind != "int" for kind in kinds):
                continue
            for numbers in {(number,) * len(kinds) for number in _NUMBERS}:
                lines.append(f"{name}{numbers} = {self._scalar(name, numbers)}")
        return sorted(lines)

    def _scalar(self, name: str, numbers: tuple[int, ...]) -> str:
        try:
            return str(getattr(self._told, name)(*numbers)).replace(self._port, "PORT")
        except Py4JJavaError as error:
            return str(error.java_exception.getMessage())

    def _array(self, items: tuple[Any, ...]) -> Any:
        numbers = isinstance(next(iter(items), ""), int)
        made = self._jdbc.array("int" if numbers else "java.lang.String", len(items))
        for place, item in enumerate(items):
            made[place] = item
        return made


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[tuple[Asked, Asked]]:
    with Jdbc() as jdbc, browsed(tmp_path_factory.mktemp("metadata"), postgres) as (here, there):
        asked = Asked(jdbc, here), Asked(jdbc, there)
        yield asked
        for server in asked:
            server.close()


#: Getter and arguments; None is no restriction, "" what belongs to no catalog or schema, a tuple an array.
_CALLS: Final[tuple[tuple[Any, ...], ...]] = (
    ("getCatalogs",),
    ("getSchemas", None, None),
    ("getSchemas", None, "s%"),
    ("getSchemas", None, "Odd%"),
    ("getSchemas", "sluice", "public"),
    ("getSchemas", "nowhere", "public"),
    ("getTableTypes",),
    ("getTables", None, "public", "%", None),
    ("getTables", "sluice", "public", "%", None),
    ("getTables", None, "shop", None, None),
    ("getTables", None, "sh%", "%s", ("TABLE", "VIEW")),
    ("getTables", None, "shop", "%", ("INDEX",)),
    ("getTables", None, "shop", "%", ("SEQUENCE", "TYPE", "MATERIALIZED VIEW")),
    ("getTables", None, "%", "%", ("TABLE",)),
    ("getTables", None, "%", "%", ("VIEW", "FOREIGN TABLE", "PARTITIONED TABLE")),
    ("getTables", None, "%", "c%", ("SYSTEM VIEW",)),
    ("getTables", None, "pg\\_catalog", "pg\\_t%", ("SYSTEM TABLE", "SYSTEM INDEX", "SYSTEM VIEW")),
    ("getTables", None, "information_schema", "%", None),
    ("getTables", None, "pg_catalog", "pg_a%", None),
    ("getTables", None, "Odd Names", "under_score", None),
    ("getTables", None, "Odd Names", "under\\_score", None),
    ("getTables", None, "Odd Names", "a.b", None),
    ("getTables", None, "odd names", "%", None),
    ("getTables", None, "", "%", None),
    ("getTables", None, "shop", "", None),
    ("getTables", None, "shop", "%", ()),
    ("getTables", None, "shop", "%", ("NO SUCH TYPE",)),
    ("getTables", None, None, "CUSTOMERS", None),
    ("getTables", None, None, "it'ems", None),
    ("getColumns", None, "public", "customers", "%"),
    ("getColumns", "sluice", "public", "%", "n%"),
    ("getColumns", None, "shop", "%", None),
    ("getColumns", None, "shop", "items", "%e%"),
    ("getColumns", None, "Odd Names", "%", "%"),
    ("getColumns", None, "Odd Names", "Mixed Case", "per\\%cent"),
    ("getColumns", None, "Odd Names", "Mixed Case", "under_score"),
    ("getColumns", None, "Odd Names", "Mixed Case", "under\\_score"),
    ("getColumns", None, "Odd Names", "Mixed Case", "back%"),
    ("getColumns", None, None, "cheap", None),
    ("getColumns", None, "pg_catalog", "pg_class", "%"),
    ("getColumns", None, "pg_catalog", "pg_attribute", None),
    ("getColumns", None, "pg_catalog", "pg_stat%", "%name"),
    ("getColumns", None, "information_schema", "tables", "%"),
    ("getColumns", None, "nowhere", "%", "%"),
    ("getColumnPrivileges", None, "public", "customers", "%"),
    ("getColumnPrivileges", None, "shop", "items", "p%"),
    ("getColumnPrivileges", None, "shop", "sales", None),
    ("getColumnPrivileges", None, "public", "cheap", "id"),
    ("getTablePrivileges", None, "public", "%"),
    ("getTablePrivileges", None, "shop", "%"),
    ("getTablePrivileges", None, "Odd Names", "Mixed Case"),
    ("getTablePrivileges", None, "pg_catalog", "pg_class"),
    ("getTablePrivileges", None, "nowhere", "%"),
    ("getPrimaryKeys", None, "public", "customers"),
    ("getPrimaryKeys", None, "shop", "items"),
    ("getPrimaryKeys", None, None, "sales"),
    ("getPrimaryKeys", None, "Odd Names", "Mixed Case"),
    ("getPrimaryKeys", None, "public", "cheap"),
    ("getPrimaryKeys", None, "shop", "%"),
    ("getPrimaryKeys", None, None, None),
    ("getImportedKeys", None, "shop", "sales"),
    ("getImportedKeys", None, "Odd Names", "a.b"),
    ("getImportedKeys", None, None, None),
    ("getImportedKeys", None, "public", "customers"),
    ("getExportedKeys", None, "public", "customers"),
    ("getExportedKeys", None, "shop", "items"),
    ("getExportedKeys", None, "shop", "sales"),
    ("getExportedKeys", None, "Odd Names", "Mixed Case"),
    ("getCrossReference", None, "public", "customers", None, "shop", "sales"),
    ("getCrossReference", None, "shop", "items", None, "shop", "sales"),
    ("getCrossReference", None, "shop", "sales", None, "shop", "items"),
    ("getCrossReference", None, None, None, None, None, None),
    ("getIndexInfo", None, "public", "customers", True, False),
    ("getIndexInfo", None, "public", "customers", False, True),
    ("getIndexInfo", None, "shop", "items", False, False),
    ("getIndexInfo", None, "shop", "items", True, True),
    ("getIndexInfo", None, "shop", "kept", False, True),
    ("getIndexInfo", None, "Odd Names", "Mixed Case", False, True),
    ("getIndexInfo", None, "shop", "nothing", False, True),
    ("getIndexInfo", None, "pg_catalog", "pg_class", False, True),
    ("getTypeInfo",),
    ("getUDTs", None, "shop", "%", None),
    ("getUDTs", None, None, None, None),
    ("getUDTs", None, "%", "%", (2001, 2002)),
    ("getUDTs", None, "shop", "%", (2001,)),
    ("getUDTs", None, None, "shop.m%", None),
    ("getUDTs", None, "shop", "mood", (2001, 2002)),
    ("getProcedures", None, None, "%"),
    ("getProcedures", None, "shop", "%"),
    ("getProcedureColumns", None, "pg_catalog", "abs", None),
    ("getProcedureColumns", None, "shop", "%", "%"),
    ("getProcedureColumns", None, "pg_catalog", "pg_get_keywords", "%"),
    ("getFunctions", None, "pg_catalog", "pg\\_get%"),
    ("getFunctions", None, "pg_catalog", "a%"),
    ("getFunctions", None, None, "now"),
    ("getFunctions", None, "shop", "%"),
    ("getFunctions", None, "information_schema", "%"),
    ("getFunctionColumns", None, "pg_catalog", "abs", None),
    ("getFunctionColumns", None, "pg_catalog", "generate_series", "%"),
    ("getFunctionColumns", None, "pg_catalog", "pg_get_keywords", "%"),
    ("getFunctionColumns", None, "pg_catalog", "json_each", "%"),
    ("getFunctionColumns", None, "pg_catalog", "pg_options_to_table", "%"),
    ("getFunctionColumns", None, "shop", "%", "%"),
    ("getBestRowIdentifier", None, "public", "customers", 0, True),
    ("getBestRowIdentifier", None, "shop", "items", 2, False),
    ("getBestRowIdentifier", None, "public", "cheap", 1, True),
    ("getVersionColumns", None, "public", "customers"),
    ("getVersionColumns", None, "shop", "nothing"),
    ("getClientInfoProperties",),
)  # fmt: skip
#: What pgjdbc has no answer to: it says so itself, of either server.
_UNANSWERED: Final[tuple[tuple[Any, ...], ...]] = (
    ("getSuperTypes", None, None, "%"),
    ("getSuperTables", None, None, "%"),
    ("getAttributes", None, "shop", "address", "%"),
    ("getPseudoColumns", None, "shop", "items", "%"),
)


# -- what differs on purpose (docs/compatibility.md), and nothing else ---------------------------------------------------

#: Types that are not here, and arrays of those that columns cannot be of.
_NOT_HERE: Final = re.compile(
    r"_?(anycompatible(multi)?range|gtsvector|pg_snapshot|"
    r"txid_snapshot|pg_(ddl_command|ndistinct|dependencies|mcv_list|brin_bloom_summary|brin_minmax_multi_summary))|"
    r"_(cstring|int2vector|oidvector)"
)


def _ours(call: tuple[Any, ...], rows: list[str]) -> list[str]:
    # The schema of Sluice's own relations.
    shown = [row for row in rows if not row.startswith("sluice | None") and " | sluice | " not in row]
    return sorted(shown) if call[0] in _BY_CHANCE else shown


def _theirs(call: tuple[Any, ...], rows: list[str], ours: list[str]) -> list[str]:
    # Nothing is kept apart from its row.
    shown = [row for row in rows if " | pg_toast | " not in row and not row.startswith("pg_toast |")]
    # Defaults of types of users are shown as they were written.
    shown = [re.sub(r"('\w+')::shop\.mood", r"\1", row) for row in shown]
    if call[0] == "getIndexInfo":
        # Rows and pages of the catalog's own indexes, which are not there.
        shown = [re.sub(r"(\| pg_catalog \|.*\| A \|) \d+ \| \d+ \|", r"\1 -1 | 0 |", row) for row in shown]
    if call[0] == "getTypeInfo":
        shown = [row for row in shown if not _NOT_HERE.fullmatch(row.split(" | ")[0])]
    if call[0] == "getFunctions":
        # pg_proc lists what can be called.
        shown = [row for row in shown if row in ours]
    return sorted(shown) if call[0] in _BY_CHANCE else shown


#: Getters for which pgjdbc asks for no order.
_BY_CHANCE: Final = ("getTypeInfo",)


# -- the comparisons -------------------------------------------------------------------------------------------------


@pytest.mark.table
@pytest.mark.parametrize("call", _CALLS, ids=str)
def test_rows(both: tuple[Asked, Asked], call: tuple[Any, ...]) -> None:
    here, there = (server.rows(*call) for server in both)
    ours = _ours(call, here)
    assert ours == _theirs(call, there, ours)


@pytest.mark.parametrize("call", _UNANSWERED, ids=str)
def test_unanswered(both: tuple[Asked, Asked], call: tuple[Any, ...]) -> None:
    for server in both:
        with pytest.raises(Py4JJavaError, match="is not yet implemented"):
            server.rows(*call)


def test_scalars(both: tuple[Asked, Asked]) -> None:
    ours, theirs = (server.scalars() for server in both)
    assert len(ours) > 300
    built = re.compile(r"(getDatabaseProductVersion.*15\.\d+) \(.*\)")
    assert [built.sub(r"\1", line) for line in ours] == [built.sub(r"\1", line) for line in theirs]
