"""Roles in sessions: who is admitted without rules, a session's initial state, what it sees of others and may do to
them; reloading of TLS files and rules.
"""

from __future__ import annotations

import signal
import socket
import ssl
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psycopg
import pytest
from psycopg import sql
from support.answers import value
from support.certificates import Authority
from support.local_member import LocalMember, local_member, say
from support.member_process import MemberProcess, wait_until
from support.packages import needs

from engine.exchange.mesh_tls import TlsFiles
from server.auth.gate import Access
from server.auth.hba import default_rules, parse
from wire.pg.messages import SSL_REQUEST_CODE


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    """Trusts IPv4 of this machine, as without an hba file."""
    access = Access(trusted=parse("host all all 127.0.0.0/8 trust", "test") + default_rules(()))
    with local_member(tmp_path_factory.mktemp("roles"), access) as running:
        with running.connect() as connection:
            connection.execute("create role ann login password 'right'")
            connection.execute("create role bi login connection limit 1 in role ann")
            connection.execute("alter role bi set statement_timeout to '7s'")
            connection.execute("alter role bi set search_path to sales, public")
            connection.execute("create schema sales")
            connection.execute("grant usage on schema sales to bi")
        yield running


_SHARED = "rolname !~ '^pg_' and rolname not in ('tester', 'ann', 'bi')"


@pytest.fixture(autouse=True)
def roles_end_with_their_test(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "local" in request.fixturenames:
        local = request.getfixturevalue("local")
        with local.connect() as admin:
            for (role,) in admin.execute(f"select rolname from pg_roles where {_SHARED}").fetchall():
                wait_until_gone(local, role)
                admin.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def wait_until_gone(local: LocalMember, user: str) -> None:
    """Until the server has heard that all sessions of that user have been closed."""
    with local.connect() as watcher:
        theirs = "select from pg_stat_activity where usename = %s"
        wait_until(lambda: watcher.execute(theirs, (user,)).fetchone() is None)


def test_nobody_is_locked_out_by_the_first_role(local: LocalMember) -> None:
    with local.connect(user="somebody") as other:
        assert value(other, "select current_setting('is_superuser')") == "on"
        assert other.info.parameter_status("is_superuser") == "on"
        assert other.execute("select rolname, rolsuper from pg_roles where rolname !~ '^pg_' order by oid").fetchall() == [
            ("tester", True), ("ann", False), ("bi", False)
        ]  # fmt: skip
    with local.connect(user="ann") as ann:
        assert ann.info.parameter_status("is_superuser") == "off"


def test_a_role_begins_with_its_settings(local: LocalMember) -> None:
    with local.connect(user="bi") as bi:
        assert value(bi, "show statement_timeout") == "7s"
        assert value(bi, "select current_schema()") == "sales"
        with pytest.raises(psycopg.OperationalError, match='too many connections for role "bi"'):
            local.connect(user="bi")
    wait_until_gone(local, "bi")
    with local.connect(user="bi", options="-c statement_timeout=1min") as bi:
        assert value(bi, "show statement_timeout") == "1min"
        bi.execute("set statement_timeout = 0")
        bi.execute("reset all")
        assert value(bi, "show statement_timeout") == "1min"


def test_a_role_to_begin_with_is_checked(local: LocalMember) -> None:
    with local.connect(user="bi", options="-c role=ann") as bi:
        assert value(bi, "select current_user") == "ann"
        bi.execute("set role bi")
        bi.execute("reset role")
        assert value(bi, "select current_user") == "ann"
    for role, told in (("tester", "permission denied to set role"), ("nosuch", 'role "nosuch" does not exist')):
        with pytest.raises(psycopg.OperationalError, match=told):
            local.connect(user="bi", options=f"-c role={role}")
    with pytest.raises(psycopg.OperationalError, match='parameter "is_superuser" cannot be changed'):
        local.connect(user="bi", options="-c is_superuser=on")
    with local.connect(user="bi", options="-c session_authorization=tester") as bi:
        assert bi.execute("select session_user, current_setting('is_superuser')").fetchone() == ("bi", "off")


def test_what_a_role_sees_of_others_and_may_do_to_them(local: LocalMember) -> None:
    with local.connect() as admin, local.connect(user="ann") as ann, local.connect(user="bi") as bi:
        seen = dict(bi.execute("select usename, query from pg_stat_activity").fetchall())
        assert seen["tester"] == "<insufficient privilege>"
        assert seen["ann"] == ""
        assert dict(ann.execute("select usename, state from pg_stat_activity").fetchall())["bi"] is None
        for connection, pid, told in (
            (bi, admin.info.backend_pid, "must be a superuser to cancel superuser query"),
            (
                ann,
                bi.info.backend_pid,
                "must be a member of the role whose query is being canceled or member of pg_sig",
            ),
            (ann, 1, "must be a member of the role whose query is being canceled or member of pg_sig"),
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match=told):
                connection.execute(f"select pg_cancel_backend({pid})".encode())
        assert value(bi, f"select pg_cancel_backend({ann.info.backend_pid})") is True
        assert value(admin, f"select pg_terminate_backend({ann.info.backend_pid})") is True


def test_whoever_is_of_pg_signal_backend_may_cancel_all_but_superusers(local: LocalMember) -> None:
    with local.connect() as admin, local.connect(user="ann") as ann:
        admin.execute("create role caller login in role pg_signal_backend")
        with local.connect(user="caller") as caller:
            assert value(caller, f"select pg_cancel_backend({ann.info.backend_pid})") is True
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be a superuser to cancel"):
                caller.execute(f"select pg_cancel_backend({admin.info.backend_pid})".encode())
        admin.execute("drop role caller")


def test_files_of_the_server_are_for_superusers(local: LocalMember) -> None:
    with local.connect(user="ann") as ann:
        for statement, told in (
            ("copy (select 1) to '/tmp/x'", "must be superuser or have privileges of the pg_write_server_files role"),
            ("copy t from '/tmp/x'", "must be superuser or have privileges of the pg_read_server_files role"),
            ("create foreign table t options (path '/etc/passwd')", "permission denied to create foreign table"),
        ):
            said = say(ann, statement)
            assert said.error is not None
            assert said.error[0] == "42501", said.error
            assert (said.error[1] or "").startswith(told)


def test_a_copied_folder_has_what_its_writer_may_read(local: LocalMember) -> None:
    with local.connect() as admin:
        admin.execute("create role writer login; grant pg_write_server_files to writer; create table kept (a int)")
        folder = local.engine.copy_roots.roots[0]
        with local.connect(user="writer") as writer:
            for target in ("one.parquet", "several/"):
                said = say(writer, f"copy kept to '{folder}/{target}' (format parquet)")
                assert said.error is not None, target
                assert said.error[:2] == ("42501", "permission denied for table kept")
            admin.execute("grant select on kept to writer")
            assert say(writer, f"copy kept to '{folder}/several/' (format parquet)").tag == "COPY 0"
        admin.execute("drop table kept; drop role writer")


def test_a_session_whose_role_is_dropped_has_no_rights(local: LocalMember) -> None:
    with local.connect() as admin:
        admin.execute("create role gone superuser login")
        with local.connect(user="gone") as gone:
            assert value(gone, "select count(*) > 0 from pg_authid") is True
            admin.execute("drop role gone")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                gone.execute("select * from pg_authid")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                gone.execute("create role gone superuser")


def test_passwords_are_not_shown(local: LocalMember) -> None:
    with local.connect() as admin, local.connect() as watcher:
        admin.execute("alter role ann password 'right'")
        shown = value(watcher, f"select query from pg_stat_activity where pid = {admin.info.backend_pid}")
        assert shown == "alter role ann password '***'"


def test_a_role_may_run_so_many_statements_at_once(local: LocalMember) -> None:
    with local.connect() as admin:
        admin.execute("create role busy login")
        admin.execute("alter role busy set sluice.statements_max = 1")
        said = say(admin, "alter role busy set sluice.statements_max = -1")
        assert said.error is not None
    with local.connect(user="busy") as one, local.connect(user="busy") as other:
        assert value(one, "show sluice.statements_max") == "1"
        assert value(other, "select 1") == 1
        for forbidden in ("set sluice.statements_max = 0", "reset sluice.statements_max",
                          "alter role busy set sluice.statements_max = 0",
                          "select set_config('sluice.statements_max', '0', false)"):  # fmt: skip
            said = say(one, forbidden)
            assert said.error is not None
            assert said.error[0] == "42501", forbidden
        with pytest.raises(psycopg.OperationalError, match="permission denied to set parameter"):
            local.connect(user="busy", options="-c sluice.statements_max=0")
        one.execute("create temporary table t (a int4)")
        with one.cursor().copy("copy t from stdin") as copy:
            said = say(other, "select 1")
            assert said.error is not None
            assert said.error[:2] == ("53400", "too many statements of one user: 1 are running already")
            copy.write("1\n")
        assert value(other, "select 1") == 1


def test_a_role_is_given_so_many_rows(local: LocalMember) -> None:
    with local.connect() as admin:
        admin.execute("create role few login")
        admin.execute("alter role few set sluice.rows_max = 100")
    with local.connect(user="few") as few:
        assert len(few.execute("select x from generate_series(1, 100) x").fetchall()) == 100
        said = say(few, "select x from generate_series(1, 101) x")
        assert said.error is not None
        assert said.error[:2] == ("54000", "the statement gives more than 100 rows")
        with few.cursor() as cursor, pytest.raises(psycopg.errors.ProgramLimitExceeded):  # noqa: SIM117
            with cursor.copy("copy (select x from generate_series(1, 101) x) to stdout") as copy:
                list(copy)
        # What is computed on the way is no row that is given.
        assert value(few, "select count(*) from generate_series(1, 10000) x") == 10000
        with few.transaction():
            few.execute("declare c no scroll cursor for select x from generate_series(1, 10000) x")
            assert len(few.execute("fetch 60 from c").fetchall()) == 60
            assert len(few.execute("fetch 40 from c").fetchall()) == 40
            with pytest.raises(psycopg.errors.ProgramLimitExceeded):
                few.execute("fetch 1 from c")
            raise psycopg.Rollback
        few.execute("create temporary table t (a int4)")
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            few.execute("insert into t select x from generate_series(1, 101) x returning a")
        assert value(few, "select count(*) from t") == 0


def test_a_role_cannot_lift_its_limits(local: LocalMember) -> None:
    with local.connect() as admin:
        admin.execute("create role kept login createrole")
        admin.execute("alter role kept set sluice.rows_max = 1")
        admin.execute("alter role kept set sluice.statement_timeout_max = '3s'")
    with local.connect(user="kept") as kept:
        for name in ("sluice.memory_max", "sluice.rows_max", "sluice.statement_timeout_max", "sluice.statements_max"):
            for forbidden in (
                f"set {name} = 0", f"set local {name} = 0", f"set {name} to default", f"reset {name}",
                f"select set_config('{name}', '0', false)", f"alter role kept set {name} = 0",
                f"alter role kept reset {name}", f"alter role all set {name} = 0",
            ):  # fmt: skip
                said = say(kept, forbidden)
                assert said.error is not None, forbidden
                assert said.error[0] == "42501", forbidden
        for harmless in ("reset all", "discard all", "alter role kept reset all", "set role none"):
            say(kept, harmless)
        assert value(kept, "show sluice.rows_max") == "1"
        kept.execute("set statement_timeout = 0")
        with pytest.raises(psycopg.errors.QueryCanceled):
            kept.execute("select pg_sleep(60)")
    with local.connect(user="kept") as again:
        assert value(again, "show sluice.rows_max") == "1"
        assert value(again, "show sluice.statement_timeout_max") == "3s"


@needs("psql")
def test_psql(local: LocalMember) -> None:
    words = ["psql", "-X", "-At", local.dsn, "-c", "\\du", "-c", "\\drds"]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    assert "ann||{}" in told
    assert "bi|1 connection|{ann}" in told
    at = told.index("bi||statement_timeout=7s")
    assert told[at + 1] == "search_path=sales, public"


# -- a member of its own ---------------------------------------------------------------------------------------------


async def test_rules_and_certificates_are_read_anew(tmp_path: Path) -> None:
    """By a process, on SIGHUP: connections that are open go on, a file with a mistake changes nothing."""
    authority = Authority(tmp_path / "authority")
    first, second = (authority.issue("localhost") for _ in range(2))
    certificate, key, rules = tmp_path / "server.crt", tmp_path / "server.key", tmp_path / "hba.conf"
    log = tmp_path / "log"

    def show(which: int) -> None:
        files = (first, second)[which]
        certificate.write_text(Path(files.certificate).read_text())
        key.write_text(Path(files.key).read_text())

    show(0)
    rules.write_text("hostssl all all all trust\n")
    configuration = tmp_path / "member.toml"
    configuration.write_text(
        f'hba_file = "{rules}"\nauth_delay = 0\n[tls]\ncertificate = "{certificate}"\nkey = "{key}"\nmin_version = "1.3"\n'
        '[spark]\nstart = "lazy"\n'
    )
    with MemberProcess(tmp_path / "data", "--config", str(configuration), log=log) as member:
        whole = {"host": "localhost", "hostaddr": member.host, "sslmode": "verify-full", "sslrootcert": first.authority}
        with member.connect(**whole) as connection:
            connection.execute("create role ann login password 'right'")
            assert _shown(member) == _der(first)
            show(1)
            rules.write_text("hostssl all tester all trust\nhostssl all all all scram-sha-256\n")
            member.send(signal.SIGHUP)
            wait_until(lambda: "were read anew" in log.read_text())
            assert _shown(member) == _der(second)
            assert value(connection, "select 1") == 1
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            member.connect(**whole, **{"user": "ann", "password": "wrong"})
        with member.connect(**whole, user="ann", password="right", channel_binding="require") as connection:
            assert value(connection, "select current_user") == "ann"
        ann = await asyncpg.connect(
            host=member.host, port=member.port, user="ann", password="right", database="sluice", ssl="require"
        )
        assert await ann.fetchval("select session_user") == "ann"
        await ann.close()
        rules.write_text("hostssl all all all trusted\n")
        member.send(signal.SIGHUP)
        wait_until(lambda: "not reloaded" in log.read_text())
        assert f'not reloaded: hba_file: {rules}, line 1: invalid authentication method "trusted"' in log.read_text()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            member.connect(**whole, **{"user": "ann", "password": "wrong"})


def _shown(member: MemberProcess) -> bytes:
    """The certificate that a member shows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((member.host, member.port), 20) as plain:
        plain.sendall(struct.pack("!ii", 8, SSL_REQUEST_CODE))
        assert plain.recv(1) == b"S"
        with context.wrap_socket(plain) as encrypted:
            return encrypted.getpeercert(binary_form=True) or b""


def _der(files: TlsFiles) -> bytes:
    return ssl.PEM_cert_to_DER_cert(Path(files.certificate).read_text())
