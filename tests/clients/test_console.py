"""The web console over HTTP: metrics for Prometheus, health and readiness."""

from __future__ import annotations

import re
import signal
import urllib.error
import urllib.request
from pathlib import Path

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.member_process import MemberProcess, wait_until
from support.member_state import status

from server.http.metrics import FIGURES

LAZY = {"SLUICE_SPARK__START": "lazy"}
PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def read(member: MemberProcess, path: str) -> tuple[int, str]:
    """The status and the text of an answer."""
    try:
        with urllib.request.urlopen(member.ready["console"] + path, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def metrics(member: MemberProcess) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The values of all samples, by name, as Prometheus' own parser reads them."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(read(member, "metrics")[1]):
        assert family.documentation, family.name
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_every_counter_of_the_status_is_a_metric(member: MemberProcess) -> None:
    counters = status(member)["counters"]
    told = metrics(member)
    assert {(room, name) for room, named in counters.items() for name in named} == set(FIGURES)
    for figure in FIGURES.values():
        name = figure.name + ("_total" if figure.kind == "counter" else "")
        assert [labels for labels, _ in told[name]] == [{}], name


def test_metrics_follow_what_happens(member: MemberProcess) -> None:
    with member.connect() as connection:
        connection.execute("begin")
        connection.execute("declare c cursor for select * from lineitem")
        connection.execute("fetch 1 from c")
        told = metrics(member)
    assert ({"state": "suspended"}, 1.0) in told["sluice_queries"]
    assert ({"state": "idle in transaction"}, 1.0) in told["sluice_sessions"]
    assert told["sluice_local_streams"] == [({}, 1.0)] or told["sluice_spark_streams"] == [({}, 1.0)]
    assert ({"engine": "local"}, 1.0) in told["sluice_engine_ready"]
    assert ({"member": "m1", "role": "data"}, 1.0) in told["sluice_member_up"]
    [(_, memory)] = told["process_resident_memory_bytes"]
    assert memory > 1 << 20


def test_caches_commits_and_spark_are_counted(member: MemberProcess) -> None:
    def figure(name: str, **labels: str) -> float:
        return {tuple(told.items()): value for told, value in metrics(member)[name]}[tuple(labels.items())]

    caches = "statements", "footers"
    hits = {cache: figure("sluice_cache_hits_total", cache=cache) for cache in caches}
    misses = figure("sluice_cache_misses_total", cache="statements")
    with member.connect(autocommit=True) as connection:
        connection.execute("select count(*) from nation where n_nationkey < 77")
        connection.execute("select count(*) from nation where n_nationkey < 77")
        assert figure("sluice_cache_hits_total", cache="statements") > hits["statements"]
        assert figure("sluice_cache_misses_total", cache="statements") > misses
        assert figure("sluice_cache_hits_total", cache="footers") > hits["footers"]
        commits = figure("sluice_commits_total")
        connection.execute("create table counted (a int)")
        connection.execute("insert into counted values (1)")
        assert figure("sluice_commits_total") == commits + 2
        connection.execute("drop table counted")
        wait_until(lambda: figure("sluice_publish_pending") == 0 == figure("sluice_publish_lag_seconds"))
        tasks, sent = figure("sluice_spark_tasks_done_total"), figure("sluice_edge_sent_bytes_total")
        connection.execute("set sluice.engine = spark")
        connection.execute("select l_orderkey from lineitem")
        wait_until(lambda: figure("sluice_spark_tasks_done_total") > tasks)
        assert figure("sluice_edge_sent_bytes_total") > sent
    assert figure("sluice_spark_executors") == 1
    assert figure("sluice_spark_task_slots") > 0
    assert 1 << 20 < figure("sluice_memory_resident_bytes") < figure("sluice_memory_limit_bytes")


def test_statements_are_counted_as_they_end(member: MemberProcess) -> None:
    def counted() -> tuple[float, float]:
        told = metrics(member)
        selects = {labels["command"]: value for labels, value in told["sluice_statement_seconds_count"]}
        errors = {labels["sqlstate"]: value for labels, value in told.get("sluice_statement_errors_total", [])}
        return selects.get("SELECT", 0.0), errors.get("22012", 0.0)

    with member.connect() as connection:
        selects, errors = counted()
        connection.execute("select 1")
        connection.execute("select %s::int", (1,), prepare=True)
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("select 1 / 0")
        assert counted() == (selects + 2, errors + 1)
        with connection.transaction(), connection.cursor("c") as cursor:
            cursor.itersize = 1
            cursor.execute("select generate_series(1, 3)")
            assert counted() == (selects + 2, errors + 1), "a suspended portal has not ended"
            assert len(cursor.fetchall()) == 3


def test_statements_are_counted_by_engine(member: MemberProcess) -> None:
    def counted() -> dict[str, float]:
        return {labels["engine"]: value for labels, value in metrics(member).get("sluice_statement_engines_total", [])}

    with member.connect() as connection:
        before = counted()
        connection.execute("select count(*) from nation")
        connection.execute("set sluice.engine = spark")
        connection.execute("select count(*) from nation")
        connection.execute("show timezone")
        after = counted()
    assert {engine: after[engine] - before.get(engine, 0) for engine in after if after[engine] != before.get(engine)} == {
        "local": 1, "spark": 1
    }  # fmt: skip


def test_the_log_has_refused_logins_and_slow_statements(tmp_path: Path) -> None:
    """In PostgreSQL's words; a text that a client sends stays within its line."""
    log = tmp_path / "log"
    with MemberProcess(tmp_path / "data", environment=LAZY, log=log) as logging:
        with pytest.raises(psycopg.OperationalError):
            logging.connect(dbname="no\nsuch")
        with logging.connect(options="-c log_min_duration_statement=0") as connection:
            connection.execute("select 1,\n2")
            connection.execute("set log_min_duration_statement = '1h'")
            connection.execute("select 3")
    text = log.read_text()
    assert re.search(r' 127\.0\.0\.1 FATAL:  database "no\n\tsuch" does not exist', text)
    assert re.search(r"tester@sluice 127\.0\.0\.1 LOG:  duration: \d+\.\d{3} ms  statement: select 1,\n\t2\n", text)
    assert "select 3" not in text


def test_the_page_of_metrics_lists_all_of_them(member: MemberProcess) -> None:
    listed = dict(re.findall(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) \|", PAGE.read_text(), re.MULTILINE))
    text = read(member, "metrics")[1]
    families = {family.name: family.type for family in text_string_to_metric_families(text)}
    ours = {name: kind for name, kind in families.items() if name.startswith("sluice")}
    assert listed == {name + {"counter": "_total", "info": "_info"}.get(kind, ""): kind for name, kind in ours.items()}


def test_health_and_readiness(member: MemberProcess) -> None:
    assert read(member, "health") == (200, "ok\n")
    assert read(member, "ready") == (200, "ready\n")
    assert read(member, "nothing")[0] == 404


def test_a_member_that_drains_is_alive_and_not_ready(tmp_path: Path) -> None:
    with (
        MemberProcess(tmp_path, environment=LAZY | {"SLUICE_CLUSTER__DRAIN_SECONDS": "60"}) as draining,
        draining.connect(autocommit=False) as connection,
    ):
        connection.execute("select 1")
        draining.send(signal.SIGTERM)
        wait_until(lambda: read(draining, "ready") == (503, "draining\n"))
        assert read(draining, "health") == (200, "ok\n")
        connection.execute("select 2")


@pytest.mark.parametrize("path", ["health", "status", "metrics", "api/me"])
def test_a_connection_is_for_one_answer(member: MemberProcess, path: str) -> None:
    with urllib.request.urlopen(member.ready["console"] + path, timeout=30) as answer:
        assert answer.headers["Connection"] == "close"
