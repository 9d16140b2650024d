"""A statement that is refused because it nests too deeply leaves nothing behind: its frames and trees are freed when its
error has been sent, without the interpreter's collector.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Final

import pytest
from psycopg.pq import DiagnosticField
from sqlglot import exp
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

_REFUSED: Final = {
    "parentheses": "select " + "(" * 20_000 + "1" + ")" * 20_000,
    "calls": "select " + "upper(" * 10_000 + "'a'" + ")" * 10_000,
    "calls that are parsed": "select " + "upper(" * 1500 + "'a'" + ")" * 1500,
    "not": "select " + "not " * 20_000 + "true",
    "sums": "select 1" + "+1" * 10_000,
    "casts": "select 1" + "::int" * 10_000,
    "subqueries": "select " + "(select " * 5000 + "1" + ")" * 5000,
    "unions": "select 1" + " union all select 1" * 4000,
}
#: What a statement of a few words leaves.
_FEW: Final = 50


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as member:
        yield member


def things() -> int:
    return sum(isinstance(thing, FrameType | TracebackType | exp.Expression) for thing in gc.get_objects())


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("kind", _REFUSED)
def test_nothing_is_left_of_it(member: LocalMember, kind: str) -> None:
    planning = member.engine.planning
    with member.connect() as client:
        client.execute("select 1")
        before, nodes = things(), planning.live_nodes
        for _ in range(2):
            refused = client.pgconn.exec_(_REFUSED[kind].encode())
            assert refused.error_field(DiagnosticField.SQLSTATE) == b"54001"
            client.execute("select 1")
        # To count the objects is to refer to them all, and those to which another refers are not freed.
        wait_until(lambda: planning.live_nodes <= nodes)
        assert things() - before < _FEW
