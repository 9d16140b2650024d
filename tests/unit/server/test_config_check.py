"""`sluice serve --check`: every mistake in one run."""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.certificates import Authority
from typer.testing import CliRunner

from server.cli.main import app
from server.config.check import check


def lines_of(text: str, folder: Path, **environment: str) -> tuple[str, ...]:
    """The mistakes of a file, with free ports where it names none."""
    file = folder / "member.toml"
    file.write_text(text)
    free = {"SLUICE_LISTEN": "127.0.0.1:0", "SLUICE_CONSOLE": "127.0.0.1:0", "SLUICE_DATA": str(folder / "data")}
    given = {name: value for name, value in free.items() if f"{name.removeprefix('SLUICE_').lower()} =" not in text}
    return check(file, {}, {**given, **environment}).mistakes


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("java")
    (home / "bin").mkdir()
    (home / "bin" / "java").write_text("")
    (home / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))


def test_nothing_is_wrong_and_nothing_is_made(tmp_path: Path) -> None:
    assert lines_of('member = "a"\n', tmp_path) == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["member.toml"]


def test_all_at_once(tmp_path: Path) -> None:
    """Mistakes of fields, sections, the whole, files that it names, and the machine are told together."""
    (tmp_path / "file").write_text("")
    (tmp_path / "hba").write_text("host all all nowhere trust\nhost all\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = f"""member = "not a name"
listen = "127.0.0.1:{port}"
data = "{tmp_path}/file/data"
roots = ["{tmp_path}", "{tmp_path}/nonesuch"]
hba_file = "{tmp_path}/hba"
lisen = "127.0.0.1:1"
[spark]
master = "spork://h:1"
[tls]
certificate = "/nonesuch"
key = "/k"
[cluster]
heartbeat = 2
failure_after = 3
[settings]
nonesuch = "1"
"""
        found = lines_of(text, tmp_path)
    where = f"{tmp_path}/member.toml, line"
    expected = [
        (f"{where} 1: member: ", "not a name"),
        (f"{where} 6: lisen: ", "there is no such key"),
        (f"{where} 8: spark.master: ", "spark://host:port"),
        (f"{where} 14: cluster.failure_after: ", "twice the heartbeat"),
        (f"{where} 16: settings.nonesuch: ", "unrecognized configuration parameter"),
        (f"{where} 10: tls.certificate: ", "cannot read /nonesuch"),
        (f"{where} 5: hba_file: ", f"{tmp_path}/hba, line 1"),
        ("", f"{tmp_path}/hba, line 2"),
        (f"{where} 3: data: ", f"{tmp_path}/file is none"),
        (f"{where} 4: roots: ", f"there is no folder {tmp_path}/nonesuch"),
        (f"{where} 2: listen: ", "Address already in use"),
    ]
    told = "\n".join(found)
    for start, words in expected:
        assert any(line.startswith(start) and words in line for line in told.splitlines()), (start, words, told)
    assert len(told.splitlines()) == len(expected), told


def test_what_follows_from_another_mistake_is_not_told(tmp_path: Path) -> None:
    text = '[cluster]\nseeds = ["127.0.0.1:7432"]\nsecret_file = "/nonesuch"\n'
    [mistake] = lines_of(text, tmp_path)
    assert "cluster.secret_file: cannot read /nonesuch" in mistake
    files = Authority(tmp_path / "authority").issue("other")
    text += (
        f'[cluster.tls]\ncertificate = "{files.certificate}"\nkey = "{files.key}"\nauthority = "{files.authority}"\n'
    )
    assert len(lines_of(text, tmp_path)) == 2


@pytest.mark.parametrize(
    "master",
    ["local", "local[4]", "local[*]", "local[*,3]", "local-cluster[2,1,1024]", "k8s://https://h:6443"],
)
def test_masters_that_can_be(tmp_path: Path, master: str) -> None:
    assert lines_of(f'[spark]\nmaster = "{master}"\n', tmp_path) == ()


def test_masters_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for master in ("", "local[]", "local[many]", "local[0]", "local[0,3]", "spark://h", "mesos://h:5050", "7077"):
        [mistake] = lines_of(f'[spark]\nmaster = "{master}"\n', tmp_path)
        assert "line 2: spark.master: expected local[N]" in mistake
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert "spark.master: yarn needs HADOOP_CONF_DIR" in lines_of('[spark]\nmaster = "yarn"\n', tmp_path)[0]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert lines_of(f'[spark]\nmaster = "spark://127.0.0.1:{port}"\n', tmp_path) == ()
    [mistake] = lines_of(f'[spark]\nmaster = "spark://127.0.0.1:{port}"\n', tmp_path)
    assert f"spark.master: cannot connect to spark://127.0.0.1:{port}: Connection refused" in mistake


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert lines_of("", tmp_path) == (f"spark: there is no Java in JAVA_HOME ({tmp_path})",)


def test_ports(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    [mistake] = lines_of(f'listen = "127.0.0.1:{port}"\nconsole = "127.0.0.1:{port}"\n', tmp_path)
    assert f"line 2: console: 127.0.0.1:{port} is what listen listens on" in mistake
    assert "listen: cannot listen on 192.0.2.1:5432" in lines_of('listen = "192.0.2.1:5432"\n', tmp_path)[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_folders_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    [mistake] = lines_of(f'data = "{tmp_path}/closed/data"\n', tmp_path)
    assert f"data: {tmp_path}/closed/data cannot be made: no right to write in {tmp_path}/closed" in mistake


def test_roles_of_rules_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "hba").write_text('host all ann,+staff,all 127.0.0.1/32 trust\nhost all "bob" 127.0.0.1/32 trust\n')
    catalog = tmp_path / "catalog.sqlite"
    with closing(sqlite3.connect(catalog)) as made:
        made.execute("create table roles (name text primary key, body text not null)")
        made.execute("insert into roles values ('ann', '{}')")
        made.commit()
    file = tmp_path / "member.toml"
    file.write_text(f'catalog = "{catalog}"\nhba_file = "{tmp_path}/hba"\n')
    given = {"SLUICE_LISTEN": "127.0.0.1:0", "SLUICE_CONSOLE": "127.0.0.1:0", "SLUICE_DATA": str(tmp_path / "data")}
    found = check(file, {}, given)
    assert found.mistakes == ()
    assert found.warnings == (
        f'{file}, line 2: hba_file: {tmp_path}/hba, line 1: there is no role "staff"',
        f'{file}, line 2: hba_file: {tmp_path}/hba, line 2: there is no role "bob"',
    )
    catalog.write_text("this is no database, and long enough for SQLite to see it")
    assert "catalog: cannot read" in check(file, {}, given).mistakes[0]


def test_the_command(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["serve", "--check", "--data", "/dev/null/x", "--listen", "nowhere"])
    assert told.exit_code == 2
    assert "sluice: command line: listen: expected host:port" in told.output
    assert "sluice: command line: data: /dev/null/x cannot be a folder: /dev/null is none" in told.output


def test_help_shows_defaults() -> None:
    told = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    for default in ("[127.0.0.1:5432]", "[local[*]]", "[sluice-data]"):
        assert default in told
