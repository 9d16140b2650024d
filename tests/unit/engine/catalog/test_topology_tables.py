"""A topology's logical sources in the catalog: the files that a member lists itself, the stand-ins for the rest, and
the objects that nobody may change.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.catalog.model.objects import Part, Table, TableColumn, View
from engine.catalog.model.remote_file_ref import RemoteFileRef, remote_file_ref
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.lakes.foreign_files import DataRoots, refresh
from engine.lakes.topology_tables import topology_tables
from engine.plan_ir.spec import InstanceSpec, ReaderSpec, TableSpec
from engine.plan_ir.topology import LogicalSource, PhysicalSource, Topology, TopologyNode
from engine.planner.codegen.files import literal_path, plain_path
from engine.runtime.readable_files import ReadableFiles
from engine.sql.parser.nodes.statements import Drop
from engine.sql.parser.parse import parse
from engine.sql.trees.storage_types import relation_name
from engine.statements.ddl.drop import drop
from wire.errors import (
    DependentObjectsStillExist,
    DuplicateTable,
    InsufficientPrivilege,
    ObjectNotInPrerequisiteState,
    UndefinedFile,
)
from wire.types import pg_types as t

COLUMNS = (TableColumn("x", st.of(t.INT8), 1),)


def topology(*columns: TableColumn) -> Topology:
    """`orders` at north and south, `lines` at south."""
    orders, lines = LogicalSource("orders", columns), LogicalSource("lines", COLUMNS)
    north = (PhysicalSource("orders", "parquet", "o/*.parquet"),)
    south = (PhysicalSource("orders", "parquet", "/srv/o"), PhysicalSource("lines", "parquet", "l.parquet"))
    nodes = (TopologyNode("north", "h:1", (), north), TopologyNode("south", "h:2", (), south))
    return Topology(nodes, (orders, lines))


def write(folder: Path, *values: int) -> Path:
    """A Parquet file of north's."""
    file = folder / "o" / f"{len(list(folder.glob('o/*')))}.parquet"
    file.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), file)
    return file


@pytest.mark.parametrize(("member", "path"), [("a-b.c", "x/y z*.parquet"), ("m1", "/absolute/[1]"), ("m1", "..")])
def test_a_stand_in_says_what_it_stands_for(member: str, path: str, tmp_path: Path) -> None:
    given = RemoteFileRef(member, "csv", path)
    assert remote_file_ref(str(given)) == given
    assert remote_file_ref(str(tmp_path / path)) is None
    assert not Path(str(given)).exists()


@pytest.mark.parametrize("path", ["/a/b", "/a[1]/*?", "[[]", "[*]x[?]]", "[", ""])
def test_an_escaped_path_can_be_read_back(path: str) -> None:
    assert plain_path(literal_path(path)) == path


def test_what_is_here_is_listed_and_the_rest_has_stand_ins(tmp_path: Path) -> None:
    first = write(tmp_path, 1)
    orders, lines = topology_tables(topology(), "north", DataRoots(tmp_path, (tmp_path,)))
    assert orders.parts == (Part("north", f"{tmp_path}/o/*.parquet", True), Part("south", "/srv/o", False))
    assert orders.columns == COLUMNS
    elsewhere = str(RemoteFileRef("south", "parquet", "/srv/o"))
    assert orders.files == (str(first), elsewhere)
    assert refresh(orders) is orders
    second = write(tmp_path, 2)
    again = refresh(orders)
    assert again.files == (str(first), str(second), elsewhere)
    assert again.version != orders.version
    assert refresh(lines).files == (str(RemoteFileRef("south", "parquet", "l.parquet")),)


def test_columns_that_nobody_declared_are_those_of_files_here(tmp_path: Path) -> None:
    roots = DataRoots(tmp_path)
    with pytest.raises(ObjectNotInPrerequisiteState, match='columns of "orders" are not known'):
        refresh(topology_tables(topology(), "west", roots)[0])
    early = topology_tables(topology(), "north", roots)[0]
    assert early.columns == ()
    with pytest.raises(UndefinedFile):
        refresh(early)
    write(tmp_path, 1)
    assert refresh(early).columns == COLUMNS


def test_oids_follow_from_names(tmp_path: Path) -> None:
    here = topology(*COLUMNS)
    turned = Topology(here.nodes, here.logical[::-1])
    oids = {table.name: table.oid for table in topology_tables(here, "west", DataRoots(tmp_path))}
    assert {table.name: table.oid for table in topology_tables(turned, "east", DataRoots(tmp_path))} == oids
    assert len(set(oids.values())) == 2
    assert all(2**31 <= oid < 2**32 for oid in oids.values())


def test_names_of_one_checksum_have_oids_of_their_own(tmp_path: Path) -> None:
    names = ("plumless", "buckeroo")
    assert len({zlib.crc32(name.encode()) for name in names}) == 1
    sources = tuple(PhysicalSource(name, "csv", name) for name in names)
    made = Topology((TopologyNode("n", "h:1", (), sources),), tuple(LogicalSource(name, COLUMNS) for name in names))
    first, second = (table.oid for table in topology_tables(made, "west", DataRoots(tmp_path)))
    assert (first, second) == (second + 1, second)


def test_a_source_outside_the_roots_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InsufficientPrivilege):
        topology_tables(topology(*COLUMNS), "south", DataRoots(tmp_path, (tmp_path,)))


def test_declared_tables_stand_in_every_snapshot_and_nobody_changes_them(tmp_path: Path) -> None:
    declared = topology_tables(topology(*COLUMNS), "west", DataRoots(tmp_path))
    store = CatalogStore(tmp_path / "catalog.sqlite")
    store.declare(declared)
    catalog = SessionCatalog(store)
    orders = catalog.current().resolve(None, "orders", ("public",))
    assert orders is declared[0]
    with pytest.raises(DuplicateTable):
        catalog.objects.put(Table(catalog.objects.new_oid(), "public", "orders", COLUMNS, "csv", "/o.csv", ()))
    catalog.objects.put(
        View(catalog.objects.new_oid(), "public", "v", COLUMNS, "select * from orders", ("public",), (orders.oid,))
    )
    assert catalog.current().resolve(None, "orders", ("public",)) is orders
    for text in ("drop foreign table orders", "drop foreign table public.orders cascade", "drop schema public cascade"):
        [statement] = parse(text)
        assert isinstance(statement, Drop)
        with pytest.raises(DependentObjectsStillExist, match="the topology file requires it"):
            drop(statement, catalog, ("public",), lambda _notice: None)
    store.close()
    again = CatalogStore(tmp_path / "catalog.sqlite")
    assert list(again.snapshot.relations) == [("public", "v")]
    again.close()


def test_a_name_that_is_in_the_catalog_is_refused(tmp_path: Path) -> None:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    catalog = SessionCatalog(store)
    catalog.objects.put(Table(catalog.objects.new_oid(), "public", "lines", COLUMNS, "csv", "/l.csv", ()))
    with pytest.raises(DuplicateTable, match='"lines", which the topology file declares'):
        store.declare(topology_tables(topology(*COLUMNS), "west", DataRoots(tmp_path)))
    store.close()


def test_one_that_is_stored_later_by_another_member_is_hidden(tmp_path: Path) -> None:
    mine, other = CatalogStore(tmp_path / "catalog.sqlite"), CatalogStore(tmp_path / "catalog.sqlite")
    declared = topology_tables(topology(*COLUMNS), "west", DataRoots(tmp_path))
    mine.declare(declared)
    theirs = SessionCatalog(other)
    theirs.objects.put(Table(theirs.objects.new_oid(), "public", "lines", COLUMNS, "csv", "/l.csv", ()))
    mine.refresh()
    assert mine.snapshot.resolve(None, "lines", ("public",)) is declared[1]
    mine.close()
    other.close()


# -- what a start may have read --------------------------------------------------------------------------------------


def reads(*files: str) -> InstanceSpec:
    """An instance that reads these files, with either engine."""
    table = TableSpec(7, "orders", 3, (("x", t.INT8.oid, -1),), "parquet", files)
    return InstanceSpec(1, 0, (ReaderSpec(1, tuple(map(literal_path, files))),), (table,))


HELD = RemoteFileRef("north", "parquet", "o/*.parquet")


def test_stand_ins_are_resolved_where_they_are_held(tmp_path: Path) -> None:
    first = write(tmp_path, 1)
    files = ReadableFiles("north", DataRoots(tmp_path), [HELD])
    before = files.of(reads(str(HELD)))
    assert [plain_path(file) for file in before.readers[0].files] == [str(first)]
    [(name, table)] = before.tables.items()
    assert table.files == (str(first),)
    assert table.columns == COLUMNS
    write(tmp_path, 2)
    after = files.of(reads(str(HELD)))
    assert len(after.readers[0].files) == len(after.tables[name].files) == 2
    assert after.tables[name].version != table.version
    assert name == relation_name(Table(7, "", "orders", COLUMNS, "parquet", "", (), 3))


def test_stand_ins_of_others_or_of_nobody_are_refused(tmp_path: Path) -> None:
    write(tmp_path, 1)
    files = ReadableFiles("north", DataRoots(tmp_path), [HELD])
    for other in (RemoteFileRef("south", "parquet", "o/*.parquet"), RemoteFileRef("north", "csv", "o/*.parquet"),
                  RemoteFileRef("north", "parquet", "/etc/passwd")):  # fmt: skip
        with pytest.raises(ObjectNotInPrerequisiteState, match="does not hold"):
            files.of(reads(str(other)))
    with pytest.raises(UndefinedFile, match='on member "north"'):
        ReadableFiles("north", DataRoots(tmp_path / "empty"), [HELD]).of(reads(str(HELD)))


def test_whoever_asks_no_file_outside_the_roots_is_read(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    file = write(inside, 1)
    secret = tmp_path / "secret.parquet"
    secret.write_bytes(file.read_bytes())
    files = ReadableFiles("north", DataRoots(inside, (inside,)), [HELD])
    assert files.of(reads(str(file))).tables
    for path in (str(secret), f"{inside}/../secret.parquet", "/etc/passwd"):
        with pytest.raises(InsufficientPrivilege, match="outside the folders"):
            files.of(reads(path))
    (inside / "o" / "link.parquet").symlink_to(secret)
    with pytest.raises(InsufficientPrivilege):
        files.of(reads(str(HELD)))
    with pytest.raises(InsufficientPrivilege):
        files.of(reads(str(inside / "o" / "link.parquet")))
