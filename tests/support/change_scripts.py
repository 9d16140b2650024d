"""Random statements that change rows, and the comparison of their effects with PostgreSQL's.

Each script is a seed: transactions with savepoints, and statements of every kind over two tables with keys, a check and
a foreign key between them. Where several rows violate constraints, the order in which rows are found and checked
decides which violation is reported. Therefore only the class of errors of class 23 is compared. Rows are compared
without their order.
"""

from __future__ import annotations

import random
from typing import Any

import psycopg

from support.local_member import Said, say

TABLES = (
    "create table p (id int primary key, a int, b text, c numeric(8, 2), d date, e bool default true, check (a < 90))",
    "create table c (id int, pid int references p on delete cascade, a int not null, b varchar(6), unique (id, a))",
)
_COLUMNS = {"p": ("id", "a", "b", "c", "d", "e"), "c": ("id", "pid", "a", "b")}
#: Each column's kind of value.
_KINDS = {"id": "int", "pid": "int", "a": "int", "b": "text", "c": "numeric", "d": "date", "e": "bool"}


class Script:
    """Generates statements; a seed always gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._open = False
        self._points = 0

    def statement(self) -> str:
        if self._chance.random() < 0.12:
            return self._control()
        choices = (self._insert, self._insert_query, self._update, self._update_from, self._delete, self._delete_using,
                   self._upsert, self._upsert_query, self._merge, self._select)  # fmt: skip
        return self._chance.choices(choices, (4, 2, 4, 2, 2, 1, 3, 2, 2, 1))[0]()

    # -- transactions --------------------------------------------------------------------------------------------

    def _control(self) -> str:
        if not self._open:
            self._open, self._points = True, 0
            return "begin"
        said = self._chance.choice(("commit", "rollback", "savepoint s", "rollback to s", "release s"))
        if said in ("commit", "rollback"):
            self._open = False
        elif said == "savepoint s":
            self._points += 1
        elif not self._points:
            return "savepoint s" if self._point() else ""
        elif said == "release s":
            self._points -= 1
        return said

    def _point(self) -> bool:
        self._points += 1
        return True

    # -- statements ----------------------------------------------------------------------------------------------

    def _table(self) -> str:
        return self._chance.choice(("p", "c"))

    def _insert(self) -> str:
        table = self._table()
        columns = self._some(table)
        rows = [", ".join(self._cell(c) for c in columns) for _ in range(self._chance.randint(1, 3))]
        values = ", ".join(f"({row})" for row in rows)
        return f"insert into {table} ({', '.join(columns)}) values {values}{self._returning(table)}"

    def _insert_query(self) -> str:
        table = self._table()
        if table == "p":
            start = self._chance.randint(0, 60)
            body = f"select g, g % 7, 'n' || g, g * 1.5 from generate_series({start}, {start + 4}) g"
            return f"insert into p (id, a, b, c) {body}{self._returning(table)}"
        query = f"select id + 1, id, a, left(b, 5) from p where {self._where('p')}"
        return f"insert into c (id, pid, a, b) {query}{self._returning(table)}"

    def _update(self) -> str:
        table = self._table()
        sets = ", ".join(f"{c} = {self._new(table, c)}" for c in self._targets(table))
        return f"update {table} set {sets} where {self._where(table)}{self._returning(table)}"

    def _update_from(self) -> str:
        if self._chance.random() < 0.5:
            one = "(select pid, min(id) as id, max(a) as a from c group by pid) q"
            return f"update p set b = 'x' || q.id, a = q.a from {one} where q.pid = p.id and {self._where('p', 'p.')}"
        return f"update c set (a, b) = (p.id, 'y') from p where p.id = c.pid and {self._where('c', 'c.')}{self._returning('c')}"

    def _delete(self) -> str:
        table = self._table()
        return f"delete from {table} where {self._where(table)}{self._returning(table)}"

    def _delete_using(self) -> str:
        return f"delete from c using p where p.id = c.pid and {self._where('p', 'p.')}{self._returning('c')}"

    def _upsert(self) -> str:
        row = ", ".join(self._cell(c) for c in ("id", "a", "b"))
        action = self._chance.choice(
            ("nothing", "update set a = excluded.a + 1, b = p.b || excluded.b", "update set a = p.a + 1 where p.a < 50")
        )
        return f"insert into p (id, a, b) values ({row}) on conflict (id) do {action}{self._returning('p')}"

    def _upsert_query(self) -> str:
        query = f"select id, max(a) from c where {self._where('c')} group by id"
        action = self._chance.choice(("", "(id) "))
        action += "do nothing" if not action or self._chance.random() < 0.6 else "do update set a = excluded.a, b = 'q'"
        return f"insert into p (id, a) {query} on conflict {action}{self._returning('p')}"

    def _merge(self) -> str:
        first = self._chance.randint(0, 60)
        return (
            f"merge into p using (select g id, g % 5 v from generate_series({first}, {first + 5}) g) s on p.id = s.id "
            f"when matched and p.a > {self._chance.randint(0, 40)} then update set a = s.v, b = 'm' "
            f"when matched and p.a is null then {self._chance.choice(('delete', 'do nothing'))} "
            f"when not matched and s.v < 3 then insert (id, a) values (s.id, s.v)"
        )

    def _select(self) -> str:
        return f"select count(*), sum(a), min(b), max(c) from p where {self._where('p')}"

    # -- parts ---------------------------------------------------------------------------------------------------

    def _some(self, table: str) -> list[str]:
        columns = [c for c in _COLUMNS[table] if c in ("id", "a") or self._chance.random() < 0.6]
        self._chance.shuffle(columns)
        return columns

    def _targets(self, table: str) -> list[str]:
        return self._chance.sample(_COLUMNS[table], self._chance.randint(1, 2))

    def _cell(self, column: str) -> str:
        if self._chance.random() < 0.06:
            return self._chance.choice(("null", "default"))
        return self._value(column)

    def _value(self, column: str) -> str:
        match _KINDS[column]:
            case "int":
                return str(self._chance.randint(0, 95 if column == "a" else 60))
            case "text":
                return "'" + "abcdefghij"[: self._chance.randint(0, 7)] + "'"
            case "numeric":
                return f"{self._chance.randint(-1000, 1000)}.{self._chance.randint(0, 999)}"
            case "date":
                return f"date '2024-01-01' + {self._chance.randint(0, 500)}"
            case _:
                return self._chance.choice(("true", "false"))

    def _new(self, table: str, column: str) -> str:
        # PostgreSQL judges a key row by row: `id = id + 1` fails there for the order in which it finds rows.
        if column == "id" or (table, column) == ("c", "a") or self._chance.random() < 0.4:
            return self._cell(column)
        match _KINDS[column]:
            case "int":
                return self._chance.choice(
                    (f"{column} + 1", f"{column} * 2", "a", f"coalesce({column}, 3)", "(select min(id) from p)")
                )
            case "text":
                return self._chance.choice((f"upper({column})", f"{column} || 'z'", f"substr({column}, 2)"))
            case "numeric":
                return self._chance.choice((f"{column} * 1.1", f"round({column})", "a / 3.0"))
            case "date":
                return f"{column} + 1"
            case _:
                return f"not {column}"

    def _where(self, table: str, prefix: str = "") -> str:
        column = self._chance.choice(_COLUMNS[table])
        name = prefix + column
        if self._chance.random() < 0.15:
            return f"{name} is {self._chance.choice(('', 'not '))}null"
        if self._chance.random() < 0.15:
            other = "c" if table == "p" else "p"
            return f"{prefix}id in (select {'pid' if other == 'c' else 'id'} from {other} where a < {self._chance.randint(0, 60)})"
        if _KINDS[column] == "bool":
            return name
        return f"{name} {self._chance.choice(('=', '<', '>', '<=', '<>'))} {self._value(column)}"

    def _returning(self, table: str) -> str:
        return self._chance.choice(("", "", " returning *", f" returning {table}.id, {table}.a * 2 as twice"))


def compare(script: Script, statements: int, ours: psycopg.Connection[Any], theirs: psycopg.Connection[Any]) -> None:
    """Create the tables anew on both servers, run `statements` statements on both, and compare."""
    done: list[str] = []
    for statement in ("drop table if exists c, p", *TABLES):
        for connection in (ours, theirs):
            connection.execute(statement.encode())
    for _ in range(statements):
        statement = script.statement()
        done.append(statement)
        expected = _compared(say(theirs, statement))
        assert _compared(say(ours, statement)) == expected, ";\n".join(done)
        if theirs.info.transaction_status != psycopg.pq.TransactionStatus.INERROR:
            assert _rows(ours) == _rows(theirs), ";\n".join(done)


def _compared(said: Said) -> tuple[Any, ...]:
    state = None if said.error is None else said.error[0]
    broken = state is not None and state.startswith("23")
    return said.tag, None if said.rows is None else sorted(map(repr, said.rows)), "23" if broken else state


def _rows(connection: psycopg.Connection[Any]) -> list[list[str]]:
    return [sorted(map(repr, connection.execute(f"select * from {table}").fetchall())) for table in ("p", "c")]
