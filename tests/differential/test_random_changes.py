"""Random statements that change rows have the same effect as in PostgreSQL: command tag, RETURNING's rows, SQLSTATE,
and both tables afterwards (`change_scripts`); on one member, and where several compute and write the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from support.campaigns import long_seeds
from support.change_scripts import Script, compare
from support.fault_ground import Ground
from support.local_member import LocalMember, local_member
from support.member_process import MemberProcess
from support.postgres_server import Database

pytestmark = pytest.mark.postgres

_STATEMENTS = 60
_SPARK = {"SLUICE_SPARK__MASTER": "local[1]", "SLUICE_SPARK__DRIVER_MEMORY": "600m"}


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("random")) as running:
        yield running


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MemberProcess]]:
    with ExitStack() as stack:
        yield list(Ground(tmp_path_factory.mktemp("members"), stack, _SPARK).three())


@pytest.mark.parametrize("seed", [0, *long_seeds(range(1, 30))])
def test_same(seed: int, member: LocalMember, postgres_database: Database) -> None:
    with member.connect() as ours, postgres_database.connect() as theirs:
        compare(Script(seed), _STATEMENTS, ours, theirs)


@pytest.mark.parametrize("seed", long_seeds(range(100, 115)))
def test_several_members(seed: int, members: list[MemberProcess], postgres_database: Database) -> None:
    settings = "-c sluice.engine=local -c sluice.distribution=always"
    ours = members[seed % 3].connect(options=settings)
    with closing(ours), postgres_database.connect() as theirs:
        compare(Script(seed), _STATEMENTS, ours, theirs)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [200])
def test_several_sparks(seed: int, members: list[MemberProcess], postgres_database: Database) -> None:
    ours = members[seed % 3].connect(options="-c sluice.engine=spark -c sluice.distribution=always")
    with closing(ours), postgres_database.connect() as theirs:
        compare(Script(seed), _STATEMENTS // 3, ours, theirs)
