"""psql 15 as people use it: its output for the member equals that for PostgreSQL, letter for letter where PostgreSQL
says the same.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable

import pytest
from support.member_process import MemberProcess, wait_until
from support.member_state import status
from support.packages import needs
from support.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.spark,
    needs("psql"),
]
Psql = Callable[..., str]
ENDLESS = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"


def command(dsn: str, *arguments: str) -> list[str]:
    return ["psql", "-X", dsn, *arguments]


def environment(options: str = "") -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**kept, "LANG": "C.UTF-8", "PGOPTIONS": options, "PAGER": ""}


def run(dsn: str, *arguments: str, script: str = "", options: str = "") -> str:
    """Return psql's output, errors included."""
    done = subprocess.run(
        command(dsn, *arguments), input=script, env=environment(options), text=True, capture_output=True, check=False
    )
    return done.stdout + done.stderr


@pytest.fixture
def both(member: MemberProcess, postgres: PostgresServer) -> Psql:
    """Runs psql for the member and for PostgreSQL, asserts that it prints the same, and gives that."""

    def same(*arguments: str, script: str = "", options: str = "") -> str:
        ours, theirs = (run(s.dsn, *arguments, script=script, options=options) for s in (member, postgres))
        assert ours == theirs
        return ours

    return same


# -- statements and what psql shows of them --------------------------------------------------------------------------


def test_tables_of_values(both: Psql) -> None:
    told = both("-c", "select g as n, g * 1.5 as x, 'row ' || g as name, null as nothing from generate_series(1, 3) g")
    assert "(3 rows)" in told
    for mode in ("-A", "-t", "-x", "-H", "--csv"):
        both(mode, "-c", "select 1 as one, 'two' as two, array[1, 2] as three, null::date as four")


def test_several_statements_in_one_command(both: Psql) -> None:
    both("-c", "select 1; select 2")
    both("-c", "select 1; select 1/0; select 2")
    both("-c", "begin; select 1; commit; select 2")
    both("-c", ";", "-c", "", "-c", "select 1;;select 2;")
    both("-1", "-c", "select 1", "-c", "select nothing", "-c", "select 2")


def test_a_script(both: Psql) -> None:
    both(
        script="""
        \\set number 5
        select :number + 1 as six;
        select :'number' || 'x' as text \\gset
        \\echo :text
        begin;
        select 1/0;
        select 1;
        rollback;
        select 'next' as after \\gx
        select 1 as a, 'x' as b \\gdesc
        values (1, 'a'), (2, 'b') \\crosstabview
        select format('select %s', g) from generate_series(1, 3) g \\gexec
        set TimeZone = 'Asia/Tokyo';
        select timestamptz '2024-01-01 00:00Z';
        show DateStyle;
        \\encoding
        \\encoding LATIN1
        \\encoding
        prepare p(int4) as select $1 * 2;
        execute p(21);
        deallocate p;
        """
    )


def test_errors_point_at_their_place(both: Psql) -> None:
    for statement in (
        "selec 1",
        "select 1 +",
        "select nothing from (values (1)) t(a)",
        "select *\nfrom nowhere",
        "select 'x'::int4",
        "select no_such_function(1)",
        "select 1 where 'a' = 1",
        "select a, count(*) from (values (1)) t(a)",
        "select 'grüße', nothing",
        "select 1/0",
        "select $1",
    ):
        both("-c", statement)
        both("-v", "VERBOSITY=sqlstate", "-c", statement)


def test_pages_of_a_cursor(both: Psql) -> None:
    """With FETCH_COUNT psql declares a cursor and fetches from it."""
    told = both("-A", "-t", "-v", "FETCH_COUNT=7", "-c", "select g from generate_series(1, 50) g order by g")
    assert told.split() == [str(n) for n in range(1, 51)]
    script = "\\set FETCH_COUNT 3\nselect g, 1/(8 - g) from generate_series(1, 10) g order by g;\nselect 'alive';\n"
    both("-A", script=script)


def test_cursors_by_hand(both: Psql) -> None:
    both(
        "-A",
        script="""
        begin;
        declare c scroll cursor for select g from generate_series(1, 20) g order by g;
        fetch 3 from c;
        move 5 in c;
        fetch backward 2 from c;
        fetch last from c;
        fetch absolute 1 from c;
        close c;
        declare d cursor with hold for select 1 as one;
        commit;
        fetch all from d;
        close all;
        fetch d;
        """,
    )


def test_notices_and_status(both: Psql) -> None:
    both(
        "-c",
        "drop view if exists nowhere",
        "-c",
        "set client_min_messages = warning",
        "-c",
        "drop view if exists nowhere",
        "-c",
        "commit",
    )
    both("-c", "\\timing off", "-c", "create temp view v as select 1 as a", "-c", "table v", "-c", "drop view v")


def test_settings_from_the_environment(both: Psql) -> None:
    told = both(
        "-A",
        "-t",
        "-c",
        "show work_mem",
        "-c",
        "show application_name",
        options="-c work_mem=7MB -c application_name=me",
    )
    assert told == "7MB\npsql\n"


def test_a_setting_that_does_not_exist(member: MemberProcess) -> None:
    told = run(member.dsn, "-c", "select 1", options="-c no_such_setting=1")
    assert 'FATAL:  unrecognized configuration parameter "no_such_setting"' in told


# -- the member's own ------------------------------------------------------------------------------------------------


def test_connection_information(member: MemberProcess) -> None:
    told = run(member.dsn, "-c", "\\conninfo")
    assert told == (
        f'You are connected to database "sluice" as user "tester" on host "{member.host}" at port "{member.port}".\n'
    )


def test_the_engine_is_chosen_by_options(member: MemberProcess) -> None:
    for engine in ("spark", "local"):
        told = run(
            member.dsn, "-A", "-t", "-c", "explain select count(*) from lineitem", options=f"-c sluice.engine={engine}"
        )
        assert f"Engine: {engine} (sluice.engine is {engine})" in told
    told = run(member.dsn, "-c", "select 1", options="-c sluice.engine=abacus")
    assert 'invalid value for parameter "sluice.engine": "abacus"' in told


def test_copy_of_a_query(member: MemberProcess) -> None:
    told = run(member.dsn, "-c", "\\copy (select n_nationkey, n_name from nation order by 1 limit 2) to stdout csv")
    assert told == "0,ALGERIA\n1,ARGENTINA\n"
    told = run(member.dsn, "-v", "VERBOSITY=verbose", "-c", "\\copy nation to stdout", "-c", "select 'alive'")
    assert '42809: cannot copy from foreign table "nation"' in told
    assert "alive" in told


def test_rows_of_spark_by_pages(member: MemberProcess) -> None:
    told = run(
        member.dsn, "-A", "-t", "-v", "FETCH_COUNT=1000", "-c", "select o_orderkey from orders order by 1",
        options="-c sluice.engine=spark",
    )  # fmt: skip
    keys = [int(line) for line in told.split()]
    assert len(keys) == 150_000
    assert keys == sorted(keys)


def test_interrupt(member: MemberProcess) -> None:
    """Control-C: psql sends a CancelRequest, and ends its script when the error has come."""
    with subprocess.Popen(
        command(member.dsn, "-A", "-t"), env=environment("-c sluice.engine=spark"), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as psql:  # fmt: skip
        assert psql.stdin is not None
        psql.stdin.write(f"{ENDLESS};\n")
        psql.stdin.flush()
        wait_until(lambda: status(member)["counters"]["spark"]["streams"])
        psql.send_signal(signal.SIGINT)
        out, error = psql.communicate(timeout=60)
    assert "canceling statement due to user request" in error
    assert (out, psql.returncode) == ("", 3)


def test_a_killed_psql_leaves_nothing(member: MemberProcess) -> None:
    with subprocess.Popen(
        command(member.dsn, "-c", ENDLESS), env=environment("-c sluice.engine=spark"), stdout=subprocess.DEVNULL
    ) as psql:
        wait_until(lambda: status(member)["counters"]["spark"]["streams"])
        psql.kill()
    wait_until(lambda: not status(member)["counters"]["spark"]["streams"])
