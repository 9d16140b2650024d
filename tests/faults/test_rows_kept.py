"""A member is killed while a transaction has inserted rows one at a time that are in no file yet: these rows are lost,
no others.
"""

from __future__ import annotations

from pathlib import Path

from support.member_process import MemberProcess

ENVIRONMENT = {"SLUICE_SPARK__START": "lazy"}
INSERT = "insert into t values (%s, %s)"


def test_rows_are_there_after_the_commit_and_not_before(tmp_path: Path) -> None:
    with MemberProcess(tmp_path, environment=ENVIRONMENT) as member, member.connect(autocommit=False) as connection:
        connection.execute("create table t (id int, name text)")
        connection.cursor().executemany(INSERT, [(n, "committed") for n in range(300)])
        connection.commit()
        connection.cursor().executemany(INSERT, [(1000 + n, "written") for n in range(300)])
        assert connection.execute("select count(*) from t").fetchone() == (600,)
        connection.execute(INSERT, (2000, "kept"))
        member.kill()
        connection.close()
    with MemberProcess(tmp_path, environment=ENVIRONMENT) as again, again.connect() as connection:
        assert connection.execute("select count(*), min(id), max(id) from t").fetchone() == (300, 0, 299)
        connection.execute(INSERT, (300, "afterwards"))
        assert connection.execute("select count(*) from t").fetchone() == (301,)
