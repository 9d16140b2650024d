"""The topology of docker-compose.yml as processes of this machine: its command lines, environments, configuration and
health checks, with every host and port mapped to a free port of 127.0.0.1.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.compose_file import ROOT, compose, environment_of, member_names
from support.member_process import wait_until
from support.ports import free_port
from support.postgres_server import PostgresServer

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timeout(900)]
START_SECONDS = 120.0


class Topology:
    """The services as processes below `folder`. connect: to a member, as a client outside would."""

    def __init__(self, folder: Path, catalog: PostgresServer) -> None:
        self.folder = folder
        self.services: dict[str, dict[str, Any]] = compose()["services"]
        self._ports = {("catalog", "5432"): catalog.port, ("spark", "7077"): free_port()}
        for name in member_names():
            self._ports |= {(name, port): free_port() for port in ("5432", "7432", "8432")}
        self._ports["worker", "8081"] = free_port()

    def mapped(self, text: str, service: str) -> str:
        """`text` as the service reads it, with the addresses and folders of this machine."""

        def address(match: re.Match[str]) -> str:
            host = match[1] if match[1] in self.services else service
            return f"127.0.0.1:{self._ports[host, match[2]]}"

        names = "|".join(self.services)
        text = re.sub(rf"\b({names}|0\.0\.0\.0|127\.0\.0\.1):(\d{{4}})\b", address, text)
        text = re.sub(rf"'({names})', (\d{{4}})", lambda m: f"'127.0.0.1', {self._ports[m[1], m[2]]}", text)
        return text.replace('"/data"', f'"{self.folder}/data"').replace("/var/lib/sluice", f"{self.folder}/{service}")

    def connect(self, member: str, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        where = {"host": "127.0.0.1", "port": self._ports[member, "5432"], "user": "me", "dbname": "sluice"}
        return psycopg.connect(**{**where, "autocommit": True, **more})

    @contextmanager
    def running(self, service: str) -> Iterator[None]:
        log = (self.folder / f"{service}.log").open("wb")
        process = subprocess.Popen(
            self._command(service), stdout=log, stderr=log, start_new_session=True, env=self._environment(service),
            cwd=self.folder,
        )  # fmt: skip
        try:
            wait_until(lambda: self._healthy(service, process), START_SECONDS)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            log.close()

    def _command(self, service: str) -> list[str]:
        if service in member_names():
            config = self.folder / f"{service}.toml"
            config.write_text(self.mapped((ROOT / "deploy/member.toml").read_text(), service))
            return [sys.executable, "-m", "server.cli.main", "serve", "--config", str(config)]
        program, main, *words = self.services[service]["entrypoint"]
        words = [self.mapped(word, service) for word in words]
        if service == "spark":
            words[words.index("--host") + 1] = "127.0.0.1"
            words[words.index("--port") + 1] = str(self._ports["spark", "7077"])
        else:
            words[words.index("--port") + 1] = "0"
        web = self._ports.get((service, "8081"), 0)
        return [str(Path(sys.executable).with_name(program)), main, "--webui-port", str(web), *words]

    def _environment(self, service: str) -> Mapping[str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        ours = {"PATH": path, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(self.folder / "work")}
        if service in member_names():
            ours |= {name: self.mapped(value, service) for name, value in environment_of(service).items()}
        return {**os.environ, **ours}

    def _healthy(self, service: str, process: subprocess.Popen[bytes]) -> bool:
        if process.poll() is not None:
            raise AssertionError(f"{service} ended:\n{(self.folder / f'{service}.log').read_text()[-3000:]}")
        _, program, *words = self.services[service]["healthcheck"]["test"]
        program = sys.executable if program == "python" else program
        check = [program, *(self.mapped(word, service) for word in words)]
        return subprocess.run(check, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def topology(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    folder = tmp_path_factory.mktemp("compose")
    (folder / "data").mkdir()
    pq.write_table(pa.table({"x": pa.array(range(100_000), pa.int64())}), folder / "data" / "t.parquet")
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute("create role sluice superuser login")
    topology = Topology(folder, postgres)
    with postgres.database("sluice", owner="sluice"), ExitStack() as stack:
        for service in ("spark", "worker", *member_names()):
            stack.enter_context(topology.running(service))
        yield topology
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute("drop role sluice")
    shutil.rmtree(folder)


def test_all_members_know_each_other(topology: Topology) -> None:
    names = sorted(member_names())

    def known(member: str) -> list[str]:
        with topology.connect(member, options="-c sluice.lite_routing=refuse") as connection:
            rows = connection.execute("select id from sluice.members where state = 'up' order by id").fetchall()
            return [row[0] for row in rows]

    for name in names:
        wait_until(lambda name=name: known(name) == names)


def test_a_table_made_on_one_member_is_read_on_others_by_spark_and_through_the_door(topology: Topology) -> None:
    with topology.connect("m1") as connection:
        connection.execute("create foreign table t options (path 't.parquet', format 'parquet')")
    for member in ("m2", "l1"):
        with topology.connect(member) as connection:
            assert connection.execute("select sum(x) from t").fetchone() == (4_999_950_000,)
    with topology.connect("m3", options="-c sluice.engine=spark") as connection:
        assert connection.execute("select count(*), max(x) from t where x % 7 = 0").fetchone() == (14_286, 99_995)
        assert len(connection.execute("select x from t").fetchall()) == 100_000


def test_the_door_is_passed_by_when_a_data_member_is_wanted(topology: Topology) -> None:
    ports = ",".join(str(topology._ports[name, "5432"]) for name in ("l1", "m1"))
    with topology.connect(
        "l1", host="127.0.0.1,127.0.0.1", port=ports, options="-c sluice.lite_routing=refuse",
        target_session_attrs="read-write",
    ) as connection:  # fmt: skip
        assert connection.info.port == topology._ports["m1", "5432"]
