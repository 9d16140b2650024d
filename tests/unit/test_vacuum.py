"""Looking after stored tables: what `sluice.tables` shows of them."""

from __future__ import annotations

from pathlib import Path

from local_member import local_member


def test_tables_are_shown_as_they_lie_on_disk(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        assert connection.execute("select * from sluice.tables").fetchall() == []
        connection.execute("create schema s")
        connection.execute("create table s.t (a int)")
        connection.execute("insert into s.t values (1), (2)")
        connection.execute("insert into s.t values (3)")
        shown = "select schema, name, oid = 's.t'::regclass, files, rows, pending from sluice.tables"
        first = connection.execute(shown).fetchall()
        assert [row[:5] for row in first] == [("s", "t", True, 2, 3)]
        member.engine.store.publish()
        assert connection.execute(shown).fetchall() == [("s", "t", True, 2, 3, 0)]
        ((location, version, size),) = connection.execute(
            "select location, version, bytes from sluice.tables"
        ).fetchall()
        folder = member.engine.store.tables / location
        assert version > 0
        assert size == sum(file.stat().st_size for file in folder.glob("*.parquet"))
        connection.execute("begin")
        connection.execute("delete from s.t where a = 3")
        assert connection.execute("select files, rows from sluice.tables").fetchall() == [(1, 2)]
        connection.execute("rollback")
