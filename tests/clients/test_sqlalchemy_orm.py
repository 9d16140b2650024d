"""SQLAlchemy 2 as applications use it: schema and reflection, the unit of work, RETURNING, bulk inserts, upserts,
savepoints, versions, cursors on the server; over psycopg and asyncpg, against a member and against PostgreSQL 15, which
is the oracle.

The tables of the mapped relationships have no foreign keys: the mapping says how rows belong together.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from sqlalchemy import event, orm
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.engine.reflection import ObjectKind, ObjectScope
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.orm.exc import StaleDataError
from support.local_member import LocalMember, local_member
from support.postgres_server import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.table]
T = TypeVar("T")


class Base(orm.DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    __table_args__ = (
        sa.UniqueConstraint("name", "born", name="author_name_born"),
        sa.CheckConstraint("born > 1000", name="author_modern"),
        {"comment": "who writes"},
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40), comment="as printed")
    born: Mapped[int | None]
    version: Mapped[int] = mapped_column()
    books: Mapped[list[Book]] = orm.relationship(
        back_populates="author",
        primaryjoin="Author.id == foreign(Book.author_id)",
        cascade="all, delete-orphan",
        order_by="Book.id",
    )
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(start=10), primary_key=True)
    title: Mapped[str] = mapped_column(sa.Text)
    author_id: Mapped[int | None] = mapped_column(index=False)
    sold: Mapped[int] = mapped_column(server_default=sa.text("0"))
    author: Mapped[Author | None] = orm.relationship(
        back_populates="books", primaryjoin="Author.id == foreign(Book.author_id)"
    )


class Kinds(Base):
    """A column of each type that applications have."""

    __tablename__ = "kinds"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(12, 3))
    share: Mapped[float | None] = mapped_column(sa.Double)
    small: Mapped[int | None] = mapped_column(sa.SmallInteger)
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    sure: Mapped[bool | None]
    day: Mapped[dt.date | None]
    clock: Mapped[dt.time | None]
    at: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    local: Mapped[dt.datetime | None]
    lasts: Mapped[dt.timedelta | None]
    raw: Mapped[bytes | None]
    tags: Mapped[list[str] | None] = mapped_column(ARRAY(sa.Text))
    document: Mapped[dict[str, Any] | None] = mapped_column(JSONB)


@dataclass(frozen=True)
class Database:
    """`session(work)` runs work in a session that closes behind it, `connection(work)` on a connection that commits."""

    url: sa.URL

    def session(self, work: Callable[[Session], T]) -> T:
        if self.url.get_driver_name() == "asyncpg":
            return asyncio.run(self._in_loop(work))
        engine = sa.create_engine(self.url)
        try:
            with Session(engine) as session:
                return work(session)
        finally:
            engine.dispose()

    async def _in_loop(self, work: Callable[[Session], T]) -> T:
        engine = create_async_engine(self.url)
        try:
            async with AsyncSession(engine) as session:
                return await session.run_sync(work)
        finally:
            await engine.dispose()

    def connection(self, work: Callable[[sa.Connection], T]) -> T:
        def within(session: Session) -> T:
            told = work(session.connection())
            session.commit()
            return told

        return self.session(within)

    def inspect(self, work: Callable[[sa.Inspector], T]) -> T:
        return self.connection(lambda connection: work(sa.inspect(connection)))

    def run(self, *statements: str) -> None:
        self.connection(lambda connection: [connection.execute(sa.text(one)) for one in statements])


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(Path(tmp_path_factory.mktemp("orm"))) as running:
        yield running


#: Over asyncpg, which speaks binary only, all of it once more.
_PAIRS = ["sluice-psycopg", pytest.param("sluice-asyncpg", marks=pytest.mark.long), "postgres-psycopg"]


@pytest.fixture(scope="module", params=_PAIRS)
def created(request: pytest.FixtureRequest, local: LocalMember, postgres: PostgresServer) -> Iterator[Database]:
    """With the tables of `Base`."""
    server, driver = request.param.split("-")
    where = (
        f"tester@127.0.0.1:{local.port}/sluice"
        if server == "sluice"
        else f"postgres@127.0.0.1:{postgres.port}/postgres"
    )
    made = Database(sa.make_url(f"postgresql+{driver}://{where}"))
    made.connection(Base.metadata.create_all)
    yield made
    made.connection(Base.metadata.drop_all)


@pytest.fixture
def database(created: Database) -> Iterator[Database]:
    """With the tables of `Base`, and empty ones after each test."""
    yield created
    created.run("truncate author, book, kinds restart identity")


def authors(session: Session) -> list[tuple[str, int | None]]:
    return [(name, born) for name, born in session.execute(sa.select(Author.name, Author.born).order_by(Author.name))]


# --- schema -------------------------------------------------------------------------------------------------------------


def test_tables_are_created_once_and_dropped(database: Database) -> None:
    database.connection(Base.metadata.create_all)
    assert database.inspect(lambda i: sorted(i.get_table_names())) == ["author", "book", "kinds"]
    database.connection(Base.metadata.drop_all)
    assert database.inspect(lambda i: i.get_table_names()) == []
    database.connection(Base.metadata.drop_all)
    database.connection(Base.metadata.create_all)


def test_columns(database: Database) -> None:
    found = {c["name"]: c for c in database.inspect(lambda i: i.get_columns("author"))}
    assert list(found) == ["id", "name", "born", "version"]
    assert found["id"]["default"] == "nextval('author_id_seq'::regclass)"
    assert found["id"]["autoincrement"] is True
    assert (str(found["name"]["type"]), found["name"]["nullable"], found["name"]["comment"]) == (
        "VARCHAR(40)", False, "as printed",
    )  # fmt: skip
    identity = {c["name"]: c for c in database.inspect(lambda i: i.get_columns("book"))}["id"]["identity"]
    assert (identity["start"], identity["always"], identity["increment"], identity["cycle"]) == (10, False, 1, False)
    types = database.inspect(lambda i: [repr(c["type"]) for c in i.get_columns("kinds")])
    assert types == [
        "UUID()", "NUMERIC(precision=12, scale=3)", "DOUBLE_PRECISION(precision=53)", "SMALLINT()", "BIGINT()", "BOOLEAN()",
        "DATE()", "TIME()", "TIMESTAMP(timezone=True)", "TIMESTAMP()", "INTERVAL()", "BYTEA()", "ARRAY(TEXT())",
        "JSONB(astext_type=Text())",
    ]  # fmt: skip


def test_constraints(database: Database) -> None:
    def look(i: sa.Inspector) -> None:
        primary = i.get_pk_constraint("author")
        assert (primary["name"], primary["constrained_columns"]) == ("author_pkey", ["id"])
        (unique,) = i.get_unique_constraints("author")
        assert (unique["name"], unique["column_names"]) == ("author_name_born", ["name", "born"])
        (check,) = i.get_check_constraints("author")
        assert (check["name"], check["sqltext"]) == ("author_modern", "born > 1000")
        (index,) = i.get_indexes("author")
        assert (index["name"], index["unique"], index["column_names"]) == ("author_name_born", True, ["name", "born"])
        assert index["duplicates_constraint"] == "author_name_born"
        assert i.get_foreign_keys("book") == []
        assert i.get_table_comment("author") == {"text": "who writes"}
        assert i.get_table_comment("book") == {"text": None}
        assert i.get_indexes("book") == []

    database.inspect(look)


def test_schemas_views_and_sequences(database: Database) -> None:
    database.run(
        "create schema away", "create table away.far (a int primary key, b text)", "create sequence away.steps",
        "create view away.near as select a from away.far", "create view shown as select name from author",
        "create materialized view kept as select name from author",
    )  # fmt: skip

    def look(i: sa.Inspector) -> None:
        assert {"public", "away"} <= set(i.get_schema_names())
        assert i.has_schema("away")
        assert not i.has_schema("nowhere")
        assert i.get_table_names("away") == ["far"]
        assert i.get_view_names("away") == ["near"]
        assert i.get_view_names() == ["shown"]
        assert i.get_materialized_view_names() == ["kept"]
        assert "from author" in " ".join((i.get_view_definition("shown") or "").lower().split())
        assert i.get_sequence_names("away") == ["steps"]
        assert sorted(i.get_sequence_names()) == ["author_id_seq", "book_id_seq"]
        assert i.has_sequence("steps", schema="away")
        assert [i.has_table(name) for name in ("author", "shown", "kept", "far")] == [True, True, True, False]
        assert i.has_table("far", schema="away")
        assert i.get_enums() == i.get_domains() == i.get_foreign_table_names() == []  # type: ignore[attr-defined]
        assert i.has_index("author", "author_name_born")
        assert i.get_columns("near", schema="away")[0]["name"] == "a"
        with pytest.raises(sa.exc.NoSuchTableError):
            i.get_columns("far")

    try:
        database.inspect(look)
    finally:
        database.run("drop materialized view kept", "drop view shown", "drop schema away cascade")


def test_all_tables_at_once(database: Database) -> None:
    def look(i: sa.Inspector) -> None:
        found = i.get_multi_columns(kind=ObjectKind.ANY, scope=ObjectScope.ANY)
        assert {name for _, name in found} == {"author", "book", "kinds"}
        keys = {name: key["constrained_columns"] for (_, name), key in i.get_multi_pk_constraint().items()}
        assert keys == {"author": ["id"], "book": ["id"], "kinds": ["id"]}
        assert {name: len(found) for (_, name), found in i.get_multi_unique_constraints().items()} == {
            "author": 1, "book": 0, "kinds": 0,
        }  # fmt: skip
        assert [name for name, _ in i.get_sorted_table_and_fkc_names()] == ["author", "book", "kinds", None]
        multi = (i.get_multi_indexes, i.get_multi_check_constraints, i.get_multi_foreign_keys, i.get_multi_table_comment,
                 i.get_multi_table_options)  # fmt: skip
        for method in multi:
            assert {name for _, name in method(filter_names=["book"])} == {"book"}

    database.inspect(look)


def test_reflected_tables_are_those_that_were_created(database: Database) -> None:
    def look(connection: sa.Connection) -> None:
        found = sa.MetaData()
        found.reflect(connection)
        assert sorted(found.tables) == ["author", "book", "kinds"]
        for name, table in found.tables.items():
            assert table.columns.keys() == Base.metadata.tables[name].columns.keys()
            assert [c.nullable for c in table.columns] == [c.nullable for c in Base.metadata.tables[name].columns]
        assert connection.execute(
            sa.insert(found.tables["author"]).values(name="A", version=1)
        ).inserted_primary_key == (1,)

    database.connection(look)


# --- the unit of work ---------------------------------------------------------------------------------------------------


def test_objects_are_inserted_changed_and_deleted(database: Database) -> None:
    def work(session: Session) -> None:
        austen = Author(name="Austen", born=1775, books=[Book(title="Emma"), Book(title="Persuasion", sold=3)])
        session.add_all([austen, Author(name="Homer")])
        session.flush()
        assert austen.id == 1
        assert [book.id for book in austen.books] == [10, 11]
        # Filled by the server, fetched when it is asked for.
        assert austen.books[0].sold == 0
        session.commit()
        austen.books[0].sold += 5
        austen.born = 1776
        session.delete(austen.books[1])
        session.commit()
        assert austen.version == 2
        assert [(book.title, book.sold) for book in austen.books] == [("Emma", 5)]
        session.delete(austen)
        session.commit()
        assert session.scalars(sa.select(Book)).all() == []
        assert authors(session) == [("Homer", None)]

    database.session(work)


def test_relationships_are_loaded_in_every_way(database: Database) -> None:
    def work(session: Session) -> None:
        session.add_all(Author(name=f"a{n}", books=[Book(title=f"b{n}{m}") for m in range(n)]) for n in range(4))
        session.commit()
        for load in (orm.joinedload, orm.selectinload, orm.subqueryload):
            session.expunge_all()
            found = session.scalars(sa.select(Author).options(load(Author.books)).order_by(Author.name)).unique().all()
            assert [len(author.books) for author in found] == [0, 1, 2, 3]
        with_books = sa.select(Author.name).where(Author.books.any(Book.title == "b21"))
        assert session.scalars(with_books).all() == ["a2"]
        counted = sa.select(Author.name, sa.func.count(Book.id)).outerjoin(Author.books).group_by(Author.name)
        assert sorted(map(tuple, session.execute(counted))) == [("a0", 0), ("a1", 1), ("a2", 2), ("a3", 3)]
        assert session.get(Author, 2) is not None
        assert session.get(Author, 99) is None

    database.session(work)


def test_a_row_that_another_session_changed_is_noticed(database: Database) -> None:
    def work(session: Session) -> None:
        session.add(Author(name="Austen"))
        session.commit()
        mine = session.scalars(sa.select(Author)).one()
        session.execute(sa.update(Author.__table__).values(version=7))  # type: ignore[arg-type]
        mine.born = 1775
        with pytest.raises(StaleDataError):
            session.flush()

    database.session(work)


# --- many rows ----------------------------------------------------------------------------------------------------------


def test_many_rows_are_inserted_in_few_statements(database: Database) -> None:
    def work(session: Session) -> None:
        said: list[str] = []
        bind = session.connection()
        event.listen(bind, "before_cursor_execute", lambda _c, _k, statement, *_: said.append(statement))
        session.add_all(Author(name=f"n{i:04}") for i in range(1200))
        session.flush()
        assert 1 <= len([one for one in said if one.startswith("INSERT")]) <= 3
        ids = [author.id for author in session.scalars(sa.select(Author).order_by(Author.name))]
        assert ids == list(range(1, 1201))

    database.session(work)


def test_bulk_statements(database: Database) -> None:
    def work(session: Session) -> None:
        rows = [{"name": f"n{i}", "born": 1900 + i, "version": 1} for i in range(5)]
        told = session.scalars(sa.insert(Author).returning(Author.id, sort_by_parameter_order=True), rows).all()
        assert told == [1, 2, 3, 4, 5]
        session.execute(
            sa.update(Author), [{"id": 1, "version": 1, "born": 1800}, {"id": 2, "version": 1, "born": 1801}]
        )
        changed = sa.update(Author).where(Author.born > 1902).values(born=Author.born + 100).returning(Author.name)
        assert sorted(session.scalars(changed).all()) == ["n3", "n4"]
        assert session.execute(sa.delete(Author).where(Author.name == "n2")).rowcount == 1  # type: ignore[attr-defined]
        assert authors(session) == [("n0", 1800), ("n1", 1801), ("n3", 2003), ("n4", 2004)]

    database.session(work)


def test_upserts(database: Database) -> None:
    def work(session: Session) -> None:
        def put(*rows: dict[str, Any]) -> sa.sql.dml.ReturningInsert[str, int]:
            new = insert(Author).values(list(rows))
            return new.on_conflict_do_update(
                constraint="author_name_born", set_={"version": Author.version + new.excluded.version}
            ).returning(Author.name, Author.version)

        first = {"name": "a", "born": 1900, "version": 1}
        assert session.execute(put(first)).all() == [("a", 1)]
        told = session.execute(put(first, {"name": "b", "born": 1901, "version": 5})).all()
        assert sorted(map(tuple, told)) == [("a", 2), ("b", 5)]
        nothing = insert(Author).values(first).on_conflict_do_nothing(index_elements=["name", "born"])
        assert session.execute(nothing.returning(Author.id)).all() == []
        guarded = insert(Author).values({**first, "version": 9})
        refused = guarded.on_conflict_do_update(
            index_elements=[Author.name, Author.born], set_={"version": 9}, where=Author.version > 5
        )
        assert session.execute(refused.returning(Author.id)).all() == []
        session.commit()
        assert session.scalars(sa.select(Author.version).order_by(Author.name)).all() == [2, 5]

    database.session(work)


# --- transactions -------------------------------------------------------------------------------------------------------


def test_an_error_needs_a_rollback(database: Database) -> None:
    def work(session: Session) -> None:
        session.add(Author(name="a", born=1900))
        session.commit()
        session.add(Author(name="a", born=1900))
        with pytest.raises(IntegrityError, match="author_name_born"):
            session.flush()
        session.rollback()
        session.add(Author(name="b", born=500))
        with pytest.raises(IntegrityError, match="author_modern"):
            session.flush()
        session.rollback()
        assert authors(session) == [("a", 1900)]

    database.session(work)


def test_savepoints(database: Database) -> None:
    def work(session: Session) -> None:
        session.add(Author(name="kept"))
        point = session.begin_nested()
        session.add_all([Author(name="x", born=2000), Author(name="x", born=2000)])
        with pytest.raises(IntegrityError):
            session.flush()
        point.rollback()
        with session.begin_nested():
            session.add(Author(name="too"))
            with session.begin_nested() as inner:
                session.add(Author(name="gone"))
                session.flush()
                inner.rollback()
        session.commit()
        assert authors(session) == [("kept", None), ("too", None)]

    database.session(work)


def test_transactions_begin_by_themselves(database: Database) -> None:
    def work(session: Session) -> None:
        assert not session.in_transaction()
        session.add(Author(name="lost"))
        session.flush()
        assert session.in_transaction()
        session.rollback()
        session.add(Author(name="kept"))
        session.commit()
        assert authors(session) == [("kept", None)]

    database.session(work)


@pytest.mark.parametrize("level", ["AUTOCOMMIT", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_isolation_levels(database: Database, level: str) -> None:
    def work(session: Session) -> None:
        connection = session.connection(execution_options={"isolation_level": level})
        session.add(Author(name="a"))
        session.commit()
        assert connection.closed or connection.get_isolation_level() == level
        assert authors(session) == [("a", None)]

    database.session(work)


def test_rows_by_a_cursor_on_the_server(database: Database) -> None:
    def work(session: Session) -> None:
        numbers = sa.func.generate_series(1, 500).table_valued("n", name="numbers").render_derived()
        rows = sa.select(sa.func.to_char(numbers.c.n, "000"), sa.literal(1)).select_from(numbers)
        session.execute(sa.insert(Author).from_select(["name", "version"], rows))
        read = session.execute(sa.select(Author.name).order_by(Author.name).execution_options(yield_per=50))
        pages = [len(page) for page in read.partitions()]
        assert pages == [50] * 10

    database.session(work)


# --- types and errors ---------------------------------------------------------------------------------------------------


def test_types_go_there_and_back(database: Database) -> None:
    zone = dt.timezone(dt.timedelta(hours=5, minutes=30))
    full = {
        "price": Decimal("123456789.125"), "share": 0.1, "small": -32768, "big": 2**62, "sure": True, "day": dt.date(1582, 10, 4),
        "clock": dt.time(23, 59, 59, 999999), "at": dt.datetime(2024, 2, 29, 12, 30, tzinfo=zone),
        "local": dt.datetime(1, 1, 1), "lasts": dt.timedelta(days=-3, microseconds=7), "raw": bytes(range(256)),
        "tags": ["a", 'b "c"', "", "{}"], "document": {"a": [1, 2.5, None, "é"], "b": {}},
    }  # fmt: skip

    def work(session: Session) -> None:
        first, second = uuid.uuid4(), uuid.uuid4()
        session.add_all([Kinds(id=first, **full), Kinds(id=second)])
        session.commit()
        session.expunge_all()
        found, empty = session.get_one(Kinds, first), session.get_one(Kinds, second)
        assert {name: getattr(found, name) for name in full} == full
        assert {name: getattr(empty, name) for name in full} == dict.fromkeys(full)
        for name, value in full.items():
            if name not in ("raw", "document"):
                same = sa.select(Kinds.id).where(getattr(Kinds, name) == value)
                assert session.scalars(same).all() == [first], name
        tagged = sa.select(Kinds.id).where(Kinds.tags.contains(["a"]), Kinds.document["b"].is_not(None))
        assert session.scalars(tagged).all() == [first]

    database.session(work)


def test_errors_say_what_they_are(database: Database) -> None:
    def code(error: DBAPIError) -> str:
        return getattr(error.orig, "sqlstate", "") or ""

    def work(session: Session) -> None:
        for statement, expected in (
            ("select * from nowhere", "42P01"),
            ("select 1 / 0", "22012"),
            ("selec 1", "42601"),
            ("insert into author (id) values (1)", "23502"),
        ):
            with pytest.raises(DBAPIError) as caught:
                session.execute(sa.text(statement))
            assert code(caught.value) == expected
            session.rollback()

    database.session(work)
