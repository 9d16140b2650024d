"""docker-compose.yml: it conforms to the compose specification, and members understand the configuration in it.

Where `docker-compose` is installed, it reads the file too. `tests/cluster/test_compose_topology.py` runs the services
as processes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from ipaddress import ip_network
from typing import Any

import pytest
from support.compose_file import ROOT, compose, environment_of, member_names

from server.config.config import load

SERVICE_KEYS = {
    "build", "command", "depends_on", "entrypoint", "environment", "healthcheck", "image", "init", "ports", "restart",
    "stop_grace_period", "volumes",
}  # fmt: skip
HEALTH_KEYS = {"test", "interval", "timeout", "retries", "start_period"}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def test_there_are_three_data_members_a_lite_one_a_spark_and_a_catalog(services: dict[str, dict[str, Any]]) -> None:
    roles = {name: load(ROOT / "deploy/member.toml", {}, environment_of(name)).cluster.role for name in member_names()}
    assert roles == {"m1": "data", "m2": "data", "m3": "data", "l1": "lite"}
    assert set(services) - set(roles) == {"catalog", "spark", "worker"}


def test_every_service_is_checked_and_waits_for_what_it_needs(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        assert set(service) <= SERVICE_KEYS, name
        assert set(service["healthcheck"]) == HEALTH_KEYS, name
        for other, how in service.get("depends_on", {}).items():
            assert other in services
            assert how == {"condition": "service_healthy"}


def test_members_are_told_what_fits_together(services: dict[str, dict[str, Any]]) -> None:
    names = member_names()
    configs = {name: load(ROOT / "deploy/member.toml", {}, environment_of(name)) for name in names}
    assert [config.member for config in configs.values()] == names
    assert {config.mesh for config in configs.values()} == {f"{name}:7432" for name in names}
    [subnet] = [entry["subnet"] for entry in compose()["networks"]["default"]["ipam"]["config"]]
    for name, config in configs.items():
        assert set(config.cluster.seeds) <= {f"{name}:7432" for name in names}
        assert config.cluster.advertise_client == f"{name}:5432"
        assert ip_network(subnet) in config.trust
        assert config.catalog == "postgresql://sluice@catalog:5432/sluice"
        assert config.spark.master == "spark://spark:7077"
        assert f"./sluice-data:{config.base}" in services[name]["volumes"]
        assert f"./sluice-data:{config.base}" in services["worker"]["volumes"]


def test_ports_are_published_on_this_machine_alone_and_once(services: dict[str, dict[str, Any]]) -> None:
    published = [port for service in services.values() for port in service.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert len({port.rsplit(":", 1)[0] for port in published}) == len(published) == 8


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed")
def test_docker_compose_reads_it() -> None:
    environment = {**os.environ, "CLUSTER_SECRET": "secret"}
    command = ["docker-compose", "-f", str(ROOT / "docker-compose.yml"), "config", "-q"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
