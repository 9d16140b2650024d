"""Configuration: precedence of file, environment and flags; mistakes that name the key and the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.certificates import Authority

from engine.settings.session_settings import SessionSettings
from server.config.address import Address
from server.config.config import load
from server.config.errors import ConfigurationError


def test_needs_no_configuration() -> None:
    config = load(environment={})
    assert (config.listen, config.mesh, config.console) == ("127.0.0.1:5432", "127.0.0.1:7432", "127.0.0.1:8432")


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = tmp_path / "member.toml"
    file.write_text('listen = "127.0.0.1:1"\nmember = "a"\n[spark]\nmaster = "local[1]"\ndriver_memory = "2g"\n')
    environment = {"SLUICE_LISTEN": "127.0.0.1:2", "SLUICE_SPARK__MASTER": "local[2]", "HOME": "/"}
    config = load(file, {"listen": "127.0.0.1:3", "data": None, "spark": {"master": None}}, environment)
    assert (config.listen, config.member) == ("127.0.0.1:3", "a")
    assert (config.spark.master, config.spark.driver_memory) == ("local[2]", "2g")


def test_variables_of_others_are_passed_over() -> None:
    links = {
        "SLUICE_HISTORY": "~/.history", "SLUICE_SERVICE_HOST": "10.1.2.3", "SLUICE_SERVICE_PORT": "5432",
        "SLUICE_SERVICE_PORT_POSTGRESQL": "5432", "SLUICE_PORT": "tcp://10.1.2.3:5432",
        "SLUICE_PORT_5432_TCP": "tcp://10.1.2.3:5432", "SLUICE_PORT_5432_TCP_ADDR": "10.1.2.3",
        "SLUICE_CATALOG_SERVICE_HOST": "10.1.2.4", "SLUICE_CATALOG_PORT_5432_TCP_PROTO": "tcp",
    }  # fmt: skip
    assert load(environment={**links, "SLUICE_TRACING__SERVICE": "shop"}).tracing.service == "shop"
    with pytest.raises(ConfigurationError, match="environment: ports: there is no such key"):
        load(environment={"SLUICE_PORTS": "5432"})


def test_yaml_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "member.yaml"
    file.write_text("listen: 127.0.0.1:7\nsettings:\n  TimeZone: Europe/Paris\n")
    assert load(file, environment={}).engine().settings["TimeZone"] == "Europe/Paris"


def test_the_local_limit_follows_from_the_local_engines_memory(tmp_path: Path) -> None:
    file = tmp_path / "sluice.toml"
    file.write_text('[local]\nmemory = "3GB"\n')
    assert SessionSettings(load(file, environment={}).engine().settings).get("sluice.local_limit") == "24GB"
    file.write_text('[local]\nmemory = "3GB"\n[settings]\n"sluice.local_limit" = "64MB"\n')
    assert SessionSettings(load(file, environment={}).engine().settings).get("sluice.local_limit") == "64MB"
    assert SessionSettings({}).get("sluice.local_limit") == "16GB"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('member = "a"\nlisten = "nowhere"\n', ["line 2", "listen", "host:port", "nowhere"]),
        ('[spark]\nmaster = "local"\ndriver_memory = "much"\n', ["line 3", "spark.driver_memory", "1g"]),
        ('lisen = "127.0.0.1:1"\n', ["line 1", "lisen", "no such key"]),
        ("max_connections = 0\n", ["line 1", "max_connections", "greater than or equal to 1"]),
        ("max_connections = 3\n", ["superuser_reserved_connections", "fewer than max_connections (3), not 3"]),
        ('[settings]\nTimeZone = "UTC"\nstatement_timeout = "soon"\n', ["line 3", "settings.statement_timeout"]),
        ('[settings]\nnonesuch = "1"\n', ["line 2", "settings.nonesuch"]),
        ('[spark.conf]\nexecutor = "1"\n', ["spark.conf.executor", "spark."]),
        ("listen = \n", ["line 1"]),
        ('[spark]\nstart = "never"\n', ["line 2", "spark.start", "eager"]),
        ('[cluster]\nseeds = ["127.0.0.1"]\n', ["line 2", "cluster.seeds", "host:port"]),
        ("[cluster]\nheartbeat = 2\nfailure_after = 3\n", ["line 3", "cluster.failure_after", "twice the heartbeat"]),
        ('[cluster]\nsecret_file = "/nonesuch"\n', ["line 2", "cluster.secret_file", "cannot read /nonesuch"]),
        ('[cluster]\nsecret = "s"\nsecret_file = "/x"\n', ["line 3", "cluster.secret_file", "one of them"]),
        ('member = "a"\nhba_file = "/nonesuch"\n', ["line 2", "hba_file", "cannot read /nonesuch"]),
        ('trust = ["10.0.0.0/8"]\nhba_file = "/x"\n', ["line 1", "trust", "hba_file is given too"]),
        ('[tls]\ncertificate = "/nonesuch"\nkey = "/k"\n', ["line 2", "tls.certificate", "cannot read /nonesuch"]),
        ('[tls]\ncertificate = "/c"\nkey = "/k"\nmin_version = "1.1"\n', ["line 4", "tls.min_version", "1.2"]),
        ('[cluster]\nseeds = ["10.0.0.1:7432"]\n', ["cluster.secret: ", "10.0.0.1:7432", "cluster.secret_file"]),
        ('[cluster]\nseeds = ["127.0.0.1:7432"]\n', ["cluster.secret: ", "127.0.0.1:7432", "openssl rand -hex 32"]),
        ('[cluster]\nsecret = "s"\nseeds = ["h:1"]\n', ["cluster.advertise: ", "127.0.0.1:7432", "h:1"]),
    ],
)
def test_mistakes_name_the_key_and_the_line(tmp_path: Path, text: str, told: list[str]) -> None:
    file = tmp_path / "member.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        load(file, environment={})
    for words in told:
        assert words in str(error.value)


def test_mistakes_outside_of_the_file_name_their_source(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^environment: console: "):
        load(environment={"SLUICE_CONSOLE": "x"})
    with pytest.raises(ConfigurationError, match=r"^command line: mesh: "):
        load(flags={"mesh": "x"}, environment={})
    with pytest.raises(ConfigurationError, match="cannot read"):
        load(tmp_path / "none.toml", environment={})


def test_addresses() -> None:
    assert Address.parse("[::1]:5432") == Address("::1", 5432)
    assert str(Address.parse("[::1]:5432")) == "[::1]:5432"
    for wrong in ("5432", "a:b", "host:70000", "::1:5432"):
        with pytest.raises(ValueError, match="host:port"):
            Address.parse(wrong)


def test_the_secret(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from a file\n\n")
    given = {
        "SLUICE_CLUSTER__SECRET_FILE": str(file),
        "SLUICE_CLUSTER__SEEDS": "10.0.0.1:1, [::1]:2",
        "SLUICE_MESH": "h:1",
    }
    config = load(environment=given)
    assert config.cluster.secret_bytes() == b"from a file"
    assert config.cluster.seeds == ["10.0.0.1:1", "[::1]:2"]
    assert load(environment={}).cluster.secret_bytes() == b""
    file.write_text("\n")
    with pytest.raises(ConfigurationError, match="no secret in its first line"):
        load(environment=given)


def test_a_secret_that_is_not_given_is_made_in_the_data_directory(tmp_path: Path) -> None:
    first = load(flags={"data": tmp_path, "mesh": "0.0.0.0:7432"}, environment={})
    secret = first.mesh_secret()
    assert len(secret) >= 32
    assert first.mesh_secret() == secret
    # Who starts over the same folder, or is given the file, may join.
    joining = {"cluster": {"seeds": ["127.0.0.1:7432"]}}
    assert load(flags={"data": tmp_path, **joining}, environment={}).mesh_secret() == secret
    elsewhere = {"data": tmp_path / "other", "cluster": {**joining["cluster"], "secret_file": first.made_secret}}
    assert load(flags=elsewhere, environment={}).mesh_secret() == secret
    given = {"data": tmp_path, "mesh": "0.0.0.0:7432", "cluster": {"secret": "s"}}
    assert load(flags=given, environment={}).mesh_secret() == b"s"
    with pytest.raises(ConfigurationError, match=r"cluster\.secret: expected the secret"):
        load(flags={"data": tmp_path / "other", **joining}, environment={})


def test_a_member_that_is_told_of_no_others_is_alone(tmp_path: Path) -> None:
    topology = tmp_path / "topology.yaml"
    topology.write_text("nodes: [{name: m1, address: '127.0.0.1:7432'}]\n")
    assert not load(environment={}).in_cluster
    assert not load(
        flags={"spark": {"master": "spark://h:7077"}, "cluster": {"heartbeat": "2"}}, environment={}
    ).in_cluster
    assert load(flags={"mesh": "127.0.0.1:0"}, environment={}).in_cluster
    for told in ({"secret": "s"}, {"role": "lite"}, {"advertise": "h:1"}, {"topology": topology}):
        assert load(flags={"cluster": told}, environment={}).in_cluster


def test_certificates_are_checked_with_the_rest(tmp_path: Path) -> None:
    files = Authority(tmp_path / "authority").issue("m1")
    keys = {"certificate": files.certificate, "key": files.key, "authority": files.authority}
    given = {f"SLUICE_CLUSTER__TLS__{key.upper()}": path for key, path in keys.items()}
    assert load(environment=given).mesh_tls() is not None
    assert load(environment={}).mesh_tls() is None
    for key in keys:
        others = {name: path for name, path in given.items() if not name.endswith(key.upper())}
        with pytest.raises(ConfigurationError, match=rf"^cluster\.tls\.{key}: Field required$"):
            load(environment=others)
        wrong = {**given, f"SLUICE_CLUSTER__TLS__{key.upper()}": str(tmp_path / "none")}
        with pytest.raises(ConfigurationError, match=rf"^environment: cluster\.tls\.{key}: cannot read "):
            load(environment=wrong)
    with pytest.raises(ConfigurationError, match=r"^environment: cluster\.tls\.certificate: .* expected .* DNS:m2"):
        load(environment={**given, "SLUICE_MEMBER": "m2"})


def test_the_secret_is_not_told(tmp_path: Path) -> None:
    config = load(environment={"SLUICE_CLUSTER__SECRET": "hidden"})
    assert "hidden" not in repr(config)
    for wrong in ({"SLUICE_CLUSTER__FAILURE_AFTER": "0.1"}, {"SLUICE_CLUSTER__SECRET_FILE": str(tmp_path)}):
        with pytest.raises(ConfigurationError) as error:
            load(environment={"SLUICE_CLUSTER__SECRET": "hidden", **wrong})
        assert "hidden" not in str(error.value)
    file = tmp_path / "member.toml"
    file.write_text('[cluster]\nsecret = ["hidden"]\n')
    with pytest.raises(ConfigurationError) as error:
        load(file, environment={})
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "topology.yaml: cluster.secret: expected the secret of the cluster, as members prove to 10.0.0.1:7"),
        ({"secret": "s", "role": "lite"}, "node m1 has physical sources, but is a lite member (cluster.role)"),
        ({"secret": "s"}, "node m1 has the address 127.0.0.1:7, but tells the others 127.0.0.1:7432"),
        ({"secret": "s", "topology": "nonesuch.yaml"}, "cannot read nonesuch.yaml"),
    ],
)
def test_a_topology_has_to_fit_the_member(tmp_path: Path, more: dict[str, str], told: str) -> None:
    file = tmp_path / "topology.yaml"
    source = "physical: [{logical: t, type: csv, path: t.csv}]"
    nodes = f"[{{name: m1, address: '127.0.0.1:7', {source}}}, {{name: far, address: '10.0.0.1:7'}}]"
    file.write_text(f"logical: [{{name: t}}]\nnodes: {nodes}\n")
    with pytest.raises(ConfigurationError) as caught:
        load(None, {"cluster": {"topology": str(file), **more}}, {})
    assert told in str(caught.value)
    config = load(None, {"mesh": "127.0.0.1:7", "cluster": {"topology": str(file), "secret": "s"}}, {})
    topology = config.engine().topology
    assert topology is not None
    assert list(topology.members) == ["m1", "far"]
