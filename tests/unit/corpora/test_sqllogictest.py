"""Records of sqllogictest files, as they are sent to PostgreSQL (`corpora.sqllogictest`)."""

from __future__ import annotations

import pytest
from corpora.sqllogictest import UnreadableFile, statements

FILE = """# a comment
hash-threshold 8

statement ok
create table t (a int);

skipif postgresql
query I nosort
select 'not here'
----
1

onlyif mysql # another one
statement ok
set sql_mode = 'ansi'

onlyif postgresql
query IT rowsort label-1
select a,
  b from t
----
1
x

statement error does not exist
drop table u

skipif sqlite
halt

query I
select 'beyond'
"""


def test_statements() -> None:
    found = [(statement.line, statement.text) for statement in statements(FILE)]
    assert found == [(5, "create table t (a int)"), (19, "select a,\n  b from t"), (26, "drop table u")]


def test_only_some_queries() -> None:
    file = "\n\n".join(f"query I\nselect {number}" for number in range(1, 8)) + "\n\nstatement ok\ndrop table t\n"
    assert [each.text for each in statements(file, every=3)] == ["select 3", "select 6", "drop table t"]


def test_a_file_with_a_loop() -> None:
    with pytest.raises(UnreadableFile, match="loop"):
        list(statements("loop i 0 10\n\nstatement ok\ninsert into t values (${i})\n\nendloop\n"))
