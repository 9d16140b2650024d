"""`sluice diagnose`: the contents of the bundle of a running member and of a stopped one, which contains no secret."""

from __future__ import annotations

import json
import logging
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.local_member import local_member
from typer.testing import CliRunner

from server.cli.main import app
from server.config.config import load
from server.config.shown import secrets_of, show

MARK = "swordfish"
CONFIGURATION = f"""
data = "{{data}}"
listen = "127.0.0.1:{{port}}"
console = "127.0.0.1:1"
catalog = "postgresql://keeper:{MARK}-catalog@db.example/catalog?sslmode=require"

[cluster]
secret = "{MARK}-cluster"

[spark.conf]
"spark.hadoop.fs.s3a.secret.key" = "{MARK}-hadoop"
"spark.authenticate.secret" = "{MARK}-spark"
"spark.executor.memory" = "2g"

[stores.lake]
buckets = ["lake"]
key = "{MARK}-key"
secret = "{MARK}-store"

[catalogs.ice]
type = "rest"
uri = "http://user:{MARK}-uri@ice.example"
properties = {{{{ token = "{MARK}-token", credential = "{MARK}-credential" }}}}
"""


def configured(folder: Path, port: int = 1) -> Path:
    file = folder / "sluice.toml"
    file.write_text(CONFIGURATION.format(data=folder / "data", port=port))
    return file


def bundle_of(file: Path) -> dict[str, str]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["diagnose", *words])


def test_a_configuration_is_shown_without_its_secrets(tmp_path: Path) -> None:
    config = load(configured(tmp_path), environment={})
    told = show(config)
    assert MARK not in json.dumps(told)
    assert told["spark"]["conf"]["spark.executor.memory"] == "2g"
    assert told["catalog"] == "postgresql://***@db.example/catalog?sslmode=require"
    assert told["stores"]["lake"]["secret"] == "***"
    assert told["auth_delay"] == 0.5
    ends = "catalog", "cluster", "hadoop", "spark", "key", "store", "uri", "token", "credential"
    assert {f"{MARK}-{end}" for end in ends} <= secrets_of(config)


def test_where_no_member_answers(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"the store refused {MARK}-store\nhttp://user:other@host/\n")
    target = tmp_path / "bundle.zip"
    done = run(str(target), "--config", str(configured(tmp_path)), "--log", str(log))
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    found = bundle_of(target)
    assert set(found) == {"configuration.json", "versions.json", "manifest.json", "log.txt"}
    assert found["log.txt"] == "the store refused ***\nhttp://***@host/\n"
    assert set(json.loads(found["manifest.json"])["missing"]) == {"metrics.txt", "status.json", "sql"}
    assert "duckdb" in json.loads(found["versions.json"])["packages"]
    assert not any(MARK in text for text in found.values())
    again = run(str(target), "--config", str(configured(tmp_path)))
    assert (again.exit_code, "File exists" in again.output) == (1, True)


def test_of_a_running_member(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with local_member(tmp_path / "member") as member, member.connect() as connection:
        connection.execute("create table t as select n from generate_series(1, 100) n")
        connection.execute("select sum(n) from t")
        connection.execute(f"create role carl password '{MARK}-role'")
        connection.execute("begin")
        connection.execute("declare c cursor for select n from t")
        connection.execute("fetch 1 from c")
        target = tmp_path / "bundle.zip"
        config = configured(tmp_path, member.port)
        done = run(str(target), "--config", str(config), "--console", "", "--user", "tester")
    assert done.exit_code == 0, done.output
    found = bundle_of(target)
    assert json.loads(found["manifest.json"])["missing"] == {}
    assert not any(MARK in text for text in found.values())
    [running] = [told for told in json.loads(found["sql/queries.json"]) if told["cursor"] == "c"]
    assert running["state"] == "suspended"
    history = {told["statement"]: told for told in json.loads(found["sql/history.json"])}
    assert "create role carl password '***'" in history
    plan = found[f"plans/{history['select sum(n) from t']['query_id'].replace(':', '-')}.txt"]
    assert plan.startswith("select sum(n) from t\n\n")
    assert "Aggregate" in plan
    assert json.loads(found["sql/settings.json"])
