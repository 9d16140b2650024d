"""The rules of authentication: how they are parsed, which one matches, and which errors name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.auth.hba import Connection, HbaError, find, parse, read

_RULES = parse(
    """
# comment
local   all all trust
host    sales,"all"  ann, bob   10.0.0.0 255.0.0.0  reject   # another
hostssl all     +staff    ::1/128       scram-sha-256 clientcert=verify-ca
hostnossl sameuser all \\
        samehost  md5
host    samerole all      192.168.1.7/32 password
host    all     "all"     all           trust
""",
    "rules",
)


def _method(user: str, database: str, host: str, *, encrypted: bool = False, here: str = "10.9.9.9") -> str | None:
    staff = {"staff": ("ann",), "group": ("ann",)}
    connection = Connection(user, database, host, here, encrypted, lambda role: user in staff.get(role, ()))
    rule = find(_RULES, connection)
    return rule.method if rule is not None else None


def test_the_first_that_fits() -> None:
    assert _method("ann", "sales", "10.1.2.3") == "reject"
    assert _method("ann", "all", "10.1.2.3", encrypted=True) == "reject"
    assert _method("ann", "sales", "11.1.2.3") is None
    assert _method("bob", "other", "10.1.2.3") is None
    assert _method("ann", "x", "::1", encrypted=True) == "scram-sha-256"
    assert _method("ann", "x", "::1") is None
    assert _method("eve", "x", "::1", encrypted=True) is None
    assert _method("eve", "eve", "::ffff:10.9.9.9") == "md5"
    assert _method("eve", "eve", "10.9.9.9", encrypted=True) is None
    assert _method("ann", "group", "192.168.1.7") == "password"
    assert _method("eve", "group", "192.168.1.7") is None
    assert _method("all", "x", "1.2.3.4") == "trust"
    assert _method("eve", "eve", "not an address") is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("hots all all all trust", 'invalid connection type "hots"'),
        ("host", "end-of-line before database specification"),
        ("host all", "end-of-line before role specification"),
        ("host all all", "end-of-line before IP address specification"),
        ("host all all all", "end-of-line before authentication method specification"),
        ("host all all 10.0.0.1 trust", 'invalid IP mask "trust"'),
        ("host all all 10.0.0.1 255.0.255.0 trust", 'invalid IP mask "255.0.255.0"'),
        ("host all all 10.0.0.0/33 trust", 'invalid IP address "10.0.0.0/33"'),
        ("host all all example.org trust", 'not supported: the host name "example.org"'),
        ("host all all samenet trust", "not supported: samenet"),
        ("host all all all ldap", "not supported: the authentication method ldap"),
        ("host all all all scram", 'invalid authentication method "scram"'),
        ("host all all all cert", "cert authentication is only supported on hostssl connections"),
        ("host all all all trust clientcert=verify-ca", "clientcert can only be configured for hostssl rows"),
        ("hostssl all all all trust clientcert=1", 'invalid value for clientcert: "1"'),
        ("hostssl all all all cert map=m", 'not supported: the authentication option "map=m"'),
        ("host all all all trust now", 'authentication option not in name=value format: "now"'),
        ("host @names all all trust", "not supported: @names in place of a database"),
        ("host all /^a all trust", "not supported: /^a in place of a role"),
        ("include other", "not supported: include"),
        ('host "all all all trust', "unexpected"),
        ('host a"b" all all trust', "expected a blank before"),
        ("host a,", "unexpected end of line"),
    ],
)
def test_mistakes_name_the_line(line: str, told: str) -> None:
    with pytest.raises(HbaError) as error:
        parse(f"host all all all trust\n\n{line}\n", "the file")
    assert str(error.value).startswith("the file, line 3: ")
    assert told in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HbaError, match=r"cannot read .*nosuch"):
        read(tmp_path / "nosuch")
