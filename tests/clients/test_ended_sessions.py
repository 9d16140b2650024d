"""What a session that has ended leaves in memory: no long text of its client."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

#: Longer than the texts of queries whose plans are cached.
_LONG = 5_000_000


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Run without the cyclic collector: a member begins full collections rarely, whatever the sizes of objects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def ended_member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("ended")) as member:
        yield member


def _long_texts(mark: str) -> int:
    """Return the number of long strings with this mark to which objects of this process refer."""
    found = {
        id(part): part
        for item in gc.get_objects()
        for part in gc.get_referents(item)
        if isinstance(part, str | bytes) and len(part) > _LONG
    }
    return sum(mark in text if isinstance(text, str) else mark.encode() in text for text in found.values())


@pytest.mark.parametrize(
    ("mark", "statement"),
    [
        ("ofasetting", "set my.own = '{}'"),
        ("ofaprepared", "prepare p as select '{}'"),
        ("ofaquery", "select length('{}')"),
        ("ofacomment", "select 1 /* {} */"),
        ("ofacursor", "declare c cursor with hold for select '{}'"),
    ],
)
@pytest.mark.usefixtures("no_collections")
def test_long_texts_end_with_their_session(ended_member: LocalMember, mark: str, statement: str) -> None:
    connection = ended_member.connect()
    # A cursor of psycopg's would keep the text, too.
    connection.pgconn.exec_(statement.format(mark + "x" * _LONG).encode())
    connection.close()
    wait_until(lambda: _long_texts(mark) == 0)
