"""The console's API of one member, over sockets: authentication, visibility, cancel, and the websocket."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.certificates import Authority
from support.console_client import ConsoleClient
from support.member_process import MemberProcess, wait_until

from engine.monitor.record import GRAPH_SECONDS

HBA = """
host all boss,sluice 127.0.0.1/32 trust
hostnossl all all 127.0.0.1/32 password
"""
LAZY = {"SLUICE_SPARK__START": "lazy"}
ENDLESS = "select count(*) from generate_series(1, 10000000000) a"


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    """One that trusts whoever comes from this machine."""
    with MemberProcess(tmp_path_factory.mktemp("open"), environment=LAZY) as member:
        yield member


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    """A member with roles, whose rules ask most of them for a password."""
    folder = tmp_path_factory.mktemp("console")
    (folder / "hba.conf").write_text(HBA)
    rules = {"SLUICE_HBA_FILE": str(folder / "hba.conf")}
    with MemberProcess(folder / "data", environment=LAZY | rules) as member:
        with member.connect(user="boss") as connection:
            for statement in (
                "create role boss superuser login",
                "create role ann login password 'secret'",
                "create role bob login password 'other'",
                "create role watch login password 'seen' in role pg_read_all_stats",
                "create role sign login password 'ends' in role pg_signal_backend, pg_read_all_stats",
            ):
                connection.execute(statement)
        yield member


def client(member: MemberProcess, user: str = "", password: str = "", **headers: str) -> ConsoleClient:
    made = ConsoleClient(
        member.ready["console"], headers={name.replace("_", "-"): said for name, said in headers.items()}
    )
    if user:
        assert made.log_in(user, password) == (204, "")
    return made


def running(console: ConsoleClient, text: str) -> dict[str, Any]:
    """The statement under way with this text."""
    found: list[dict[str, Any]] = []

    def look() -> bool:
        status, told = console.get("/api/overview")
        assert status == 200, told
        found[:] = [line for line in told["running"] if text in line["sql"]]
        return bool(found)

    wait_until(look)
    return found[0]


def test_who_is_trusted_here_needs_no_login(member: MemberProcess) -> None:
    console = client(member)
    status, me = console.get("/api/me")
    assert (status, me["user"], me["may_read_all"], me["member"]) == (200, "sluice", True, "m1")
    status, told = console.get("/api/overview")
    assert status == 200
    assert [(m["name"], m["state"], m["role"]) for m in told["members"]] == [("m1", "up", "data")]
    assert told["members"][0]["memory_bytes"] > 1 << 20
    assert client(member, X_Forwarded_For="192.0.2.1").get("/api/me")[0] == 401


def test_nothing_is_shown_without_a_login(guarded: MemberProcess) -> None:
    console = client(guarded)
    paths = ("/api/me", "/api/overview", "/api/queries/m1:1")
    assert [console.get(path)[0] for path in paths] == [401] * 3
    assert console.post("/api/explain", {"sql": "select 1"})[0] == 401
    assert console.cancel("m1:1")[0] == 401
    with console.live() as live:
        assert live.next() is None
        assert live.closed == 4401


def test_the_users_and_passwords_are_those_of_sql(guarded: MemberProcess) -> None:
    console = client(guarded)
    status, told = console.log_in("ann", "wrong")
    assert (status, told["sqlstate"], told["error"]) == (401, "28P01", 'password authentication failed for user "ann"')
    status, told = console.log_in("nobody", "secret")
    assert (status, told["sqlstate"]) == (401, "28P01")
    assert console.cookie == ""
    assert console.log_in("ann", "secret") == (204, "")
    cookie = console.answered["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert console.get("/api/me")[1] | {"version": ""} == {
        "user": "ann", "may_read_all": False, "member": "m1", "version": "",
    }  # fmt: skip
    assert console.post("/api/logout") == (204, "")
    assert console.get("/api/me")[0] == 401


def test_a_stolen_cookie_is_of_no_use_after_a_logout(guarded: MemberProcess) -> None:
    console = client(guarded, "ann", "secret")
    kept = console.cookie
    console.post("/api/logout")
    console.cookie = kept
    assert console.get("/api/me")[0] == 401


def test_a_role_that_is_dropped_is_logged_out(guarded: MemberProcess) -> None:
    with guarded.connect(user="boss") as connection:
        connection.execute("create role leaving login password 'soon'")
        console = client(guarded, "leaving", "soon")
        assert console.get("/api/me")[0] == 200
        connection.execute("drop role leaving")
    assert console.get("/api/me")[0] == 401


def test_requests_of_other_pages_are_refused(member: MemberProcess) -> None:
    console = client(member)
    assert console.ask("POST", "/api/explain", {"sql": "select 1"}, {"X-Sluice-Console": "0"})[0] == 403
    assert console.ask("POST", "/api/explain", {"sql": "select 1"}, {"Origin": "http://evil.example"})[0] == 403
    assert console.ask("GET", "/api/overview", headers={"Host": "evil.example"})[0] == 403
    own = {"Origin": f"http://127.0.0.1:{console.port}"}
    assert console.ask("POST", "/api/explain", {"sql": "select 1"}, own)[0] == 200
    with console.live({"Origin": "http://evil.example"}) as live:
        assert live.next() is None
        assert live.closed == 4401
    with console.live(own) as live:
        assert "overview" in (live.next() or {})
    console.get("/api/me")
    assert console.answered["content-security-policy"].startswith("default-src 'self';")
    assert console.answered["x-content-type-options"] == "nosniff"


def test_statements_of_others_are_hidden(guarded: MemberProcess) -> None:
    with guarded.connect(user="ann", password="secret") as connection:
        connection.execute("begin")
        connection.execute("declare c cursor for select 'of ann' from generate_series(1, 10000)")
        connection.execute("fetch 3 from c")
        line = running(client(guarded, "ann", "secret"), "of ann")
        assert (line["rows"], line["state"], line["portal"]) == (3, "suspended", "c")
        assert running(client(guarded, "watch", "seen"), "of ann")["id"] == line["id"]

        stranger = client(guarded, "bob", "other")
        told = stranger.get("/api/overview")[1]
        [hidden] = [other for other in told["running"] if other["id"] == line["id"]]
        assert (hidden["sql"], hidden["portal"], hidden["reason"]) == ("<insufficient privilege>", None, None)
        assert {s["query"] for s in told["sessions"] if s["user"] == "ann"} == {"<insufficient privilege>"}
        status, refused = stranger.query(line["id"])
        assert (status, refused["sqlstate"]) == (403, "42501")
        status, refused = stranger.cancel(line["id"])
        assert (status, refused["sqlstate"]) == (403, "42501")
        assert client(guarded, "watch", "seen").cancel(line["id"])[0] == 403

        shown = [q["statement"] for q in stranger.get("/status")[1]["queries"]]
        assert shown == ["<insufficient privilege>"]
        assert [q["statement"] for q in client(guarded).get("/status")[1]["queries"]] == ["<insufficient privilege>"]


def test_a_statement_is_cancelled_by_its_id(guarded: MemberProcess) -> None:
    console = client(guarded, "sign", "ends")
    with guarded.connect(user="ann", password="secret") as connection:
        connection.execute("begin")
        connection.execute("declare c cursor for select 'suspended' from generate_series(1, 100000)")
        connection.execute("fetch 3 from c")
        line = running(console, "'suspended'")
        assert console.cancel(line["id"]) == (204, "")
        wait_until(lambda: console.query(line["id"])[1]["state"] == "cancelled")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            connection.execute("fetch 1 from c")
        connection.rollback()
        assert console.cancel(line["id"])[0] == 404
    assert console.query("m1:1")[0] == 404
    assert console.query("nonsense")[0] == 404


def test_a_running_statement_is_cancelled(member: MemberProcess) -> None:
    console = client(member)
    with member.connect() as connection:
        connection.execute("set statement_timeout = '120s'")
        caught: list[str | None] = []

        def run() -> None:
            try:
                connection.execute(ENDLESS)
            except psycopg.Error as error:
                caught.append(error.sqlstate)

        thread = threading.Thread(target=run)
        thread.start()
        line = running(console, "10000000000")
        assert line["state"] in ("planning", "running")
        wait_until(lambda: console.query(line["id"])[1]["state"] == "running")
        # A shorter statement keeps no graph.
        wait_until(lambda: time.time() - line["started"] > 2 * GRAPH_SECONDS)
        assert console.cancel(line["id"]) == (204, "")
        thread.join()
        assert caught == ["57014"]
    over: list[dict[str, Any]] = []

    def listed() -> bool:
        over[:] = [ended for ended in console.get("/api/overview")[1]["finished"] if ended["id"] == line["id"]]
        return bool(over)

    wait_until(listed)
    assert [(line["state"], line["sqlstate"], line["id"]) for line in over] == [("cancelled", "57014", line["id"])]
    graph = console.query(line["id"])[1]["graph"]
    assert [fragment["engine"] for fragment in graph["fragments"]] == ["local", ""]
    assert graph["fragments"][0]["operators"]
    assert [(edge["from"], edge["to"], edge["state"]) for edge in graph["edges"]] == [("1.0", "client", "done")]


def test_a_plan_is_explained(guarded: MemberProcess) -> None:
    console = client(guarded, "ann", "secret")
    status, graph = console.post("/api/explain", {"sql": "select count(*) from generate_series(1, 10) n"})
    assert status == 200
    assert [fragment["id"] for fragment in graph["fragments"]] == ["1.0", "client"]
    names = [operator["name"] for operator in graph["fragments"][0]["operators"]]
    assert "AGGREGATOR" in names
    status, told = console.post("/api/explain", {"sql": "select no_such_column"})
    assert (status, told["sqlstate"], told["position"]) == (400, "42703", 8)
    assert console.post("/api/explain", {"sql": "select 1; select 2"})[0] == 400
    assert console.post("/api/explain", {"sql": "drop table t"})[1]["sqlstate"] == "0A000"
    assert console.post("/api/explain", {"query": "select 1"})[0] == 400


def test_a_page_follows_a_statement(member: MemberProcess) -> None:
    console = client(member)
    with member.connect() as connection, console.live() as live:
        connection.execute("begin")
        connection.execute("declare c cursor for select 'followed' from generate_series(1, 100000)")
        connection.execute("fetch 10 from c")
        live.follow(running(console, "'followed'")["id"])
        assert live.until("query")["rows"] == 10
        connection.execute("fetch 5 from c")
        while live.until("query")["rows"] != 15:
            pass
        connection.execute("close c")
        while live.until("query")["state"] != "finished":
            pass
        live.follow("m1:1")
        assert {"query": None, "id": "m1:1"} in (live.next(), live.next(), live.next())
        live.follow(None)
        assert live.until("overview")["member"] == "m1"


def test_a_page_that_does_not_read_holds_nobody_up(member: MemberProcess) -> None:
    console = client(member)
    with console.live() as slow:
        slow.raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(5):
            assert console.get("/api/overview")[0] == 200
        with console.live() as live:
            first = live.until("overview")["at"]
            assert live.until("overview")["at"] > first
    wait_until(lambda: console.get("/health") == (200, "ok\n"))


def test_what_is_no_message_ends_the_connection(member: MemberProcess) -> None:
    with client(member).live() as live:
        live.until("overview")
        live.raw.sendall(b"\x81\x85\x00\x00\x00\x00hello")
        while live.next() is not None:
            pass
        assert live.closed is not None


def test_a_password_is_taken_under_tls_alone(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    files = authority.issue("console", names="IP:127.0.0.1")
    (tmp_path / "hba.conf").write_text("host all boss 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
    environment = LAZY | {
        "SLUICE_HBA_FILE": str(tmp_path / "hba.conf"),
        "SLUICE_TLS__CERTIFICATE": files.certificate,
        "SLUICE_TLS__KEY": files.key,
    }
    with MemberProcess(tmp_path / "data", environment=environment) as member:
        with member.connect(user="boss") as connection:
            connection.execute("create role boss superuser login")
            connection.execute("create role ann login password 'secret'")
        status, told = client(member).log_in("ann", "secret")
        assert (status, told["sqlstate"]) == (401, "28000")
        assert told["error"] == "password in the clear is refused without encryption"

    with MemberProcess(tmp_path / "data", environment=environment | {"SLUICE_CONSOLE_TLS": "true"}) as member:
        assert member.ready["console"].startswith("https://")
        trusting = ssl.create_default_context(cafile=str(authority.certificate))
        console = ConsoleClient(member.ready["console"], trusting)
        assert console.get("/health") == (200, "ok\n")
        assert console.log_in("ann", "secret") == (204, "")
        assert "; secure" in console.answered["set-cookie"].lower()
        assert console.get("/api/me")[1]["user"] == "ann"
