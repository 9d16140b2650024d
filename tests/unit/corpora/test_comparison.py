"""Files of a corpus on a member and on PostgreSQL: how statements are counted (`corpora.comparison`), and the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpora import page
from corpora.comparison import Servers
from corpora.psql_script import statements
from support.local_member import local_member
from support.postgres_server import Database

SCRIPT = """
create table t (a int);
copy t from stdin;
1
2
\\.
select a from t order by a desc;
select nothing from t;
create function double(int) returns int language sql as 'select 2 * $1';
select double(a) from t;
select version();
explain select a from t;
"""


@pytest.mark.postgres
def test_kinds_of_results(tmp_path: Path, postgres_database: Database) -> None:
    with local_member(tmp_path / "member") as member:
        for _ in range(2):  # The schema is dropped at the end.
            servers = Servers(member.dsn, postgres_database.dsn, "local")
            compared = servers.compare(list(statements(SCRIPT, {})), "corpus")
            assert compared.counts == {"same": 5, "refused": 1, "after a refusal": 1, "different": 1}
    [version] = compared.different
    assert version.statement.text == "select version()"
    written = page.write(tmp_path / "page", {"a/script": {"local": compared}})
    assert "| a/script | local | 8 | 5 | 1 | 1 | 1 | 0 |" in written[0].read_text()
    assert "-- line 11: different: " in written[1].read_text()
