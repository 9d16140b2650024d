"""Members as separate processes that speak TLS to each other, a query over both, and members that do not belong to the
cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.certificates import Authority
from support.member_process import MemberProcess, wait_until

from engine.exchange.mesh_tls import TlsFiles

Start = Callable[..., MemberProcess]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(name, seed, tls=files)`: a member over a catalog and a folder that all share, which ends with the test."""
    shared = tmp_path / "shared"
    shared.mkdir()
    with ExitStack() as stack:

        def begin(name: str, *seeds: MemberProcess, tls: TlsFiles | None = None) -> MemberProcess:
            cluster = {
                "seeds": ",".join(f"127.0.0.1:{seed.mesh[1]}" for seed in seeds),
                "secret": "for the tests only", "heartbeat": "0.1", "failure_after": "60",
            }  # fmt: skip
            if tls is not None:
                cluster |= {"tls__certificate": tls.certificate, "tls__key": tls.key, "tls__authority": tls.authority}
            environment = {f"SLUICE_CLUSTER__{key.upper()}": value for key, value in cluster.items() if value}
            environment |= {
                "SLUICE_MEMBER": name, "SLUICE_SPARK__START": "lazy", "SLUICE_BASE": str(shared),
                "SLUICE_CATALOG": str(tmp_path / "catalog.sqlite"),
            }  # fmt: skip
            data = tmp_path / name
            data.mkdir()
            return stack.enter_context(MemberProcess(data, environment=environment, log=data / "log"))

        yield begin


def states(member: MemberProcess) -> dict[str, Any]:
    with member.connect() as connection:
        return dict(connection.execute("select id, state from sluice.members").fetchall())


def log_of(member: MemberProcess) -> str:
    assert member.log is not None
    return member.log.read_text()


def require_distributed_answer(member: MemberProcess) -> None:
    with member.connect() as connection:
        connection.execute("set sluice.distribution = always")
        statement = "select n % 7 as k, count(*), sum(m) from t group by 1 order by 1"
        plan = "\n".join(row[0] for row in connection.execute(f"explain (distsql) {statement}").fetchall())
        assert "m1" in plan
        assert "m2" in plan
        expected = [(k, len(range(k, 100_000, 7)), 2 * sum(range(k, 100_000, 7))) for k in range(7)]
        assert connection.execute(statement).fetchall() == expected


def test_two_members_and_two_that_are_refused(start: Start, authority: Authority, tmp_path: Path) -> None:
    m1 = start("m1", tls=authority.issue("m1"))
    m2 = start("m2", m1, tls=authority.issue("m2"))
    for member in (m1, m2):
        wait_until(lambda member=member: states(member) == {"m1": "up", "m2": "up"})
    for part in range(6):
        numbers = pa.array(range(part, 100_000, 6), pa.int64())
        pq.write_table(pa.table({"n": numbers, "m": pa.array([2 * n.as_py() for n in numbers])}),
                       tmp_path / "shared" / f"part{part}.parquet")  # fmt: skip
    with m1.connect() as connection:
        connection.execute("create foreign table t options (path '*.parquet', format 'parquet')")
    require_distributed_answer(m1)
    require_distributed_answer(m2)

    without = start("m3", m1)
    wait_until(lambda: "refused: it does not speak TLS" in log_of(m1))
    wait_until(lambda: "cannot join the member" in log_of(without))
    strange = start("m4", m1, tls=Authority(tmp_path / "theirs").issue("m4"))
    wait_until(lambda: "its certificate is not accepted" in log_of(strange))
    for stranger in (without, strange):
        assert [name for name, state in states(stranger).items() if state == "up"] in (["m3"], ["m4"])
    assert states(m1) == {"m1": "up", "m2": "up"}
    require_distributed_answer(m2)
