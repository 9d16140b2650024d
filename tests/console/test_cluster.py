"""The console over three real members: a distributed query is followed, cancelled and found again, on the page of
another member than its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect
from support.local_cluster import LocalCluster
from support.member_process import MemberProcess, wait_until
from support.numbers_cluster import declare, members


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with members(tmp_path_factory.mktemp("console") / "c") as cluster:
        yield cluster


def address(cluster: LocalCluster, member: str) -> str:
    return f"http://{cluster.members[member]['console']}/"


def credit_left(page: Page) -> float:
    """The least share of its window that an edge to m1's receivers has."""
    widths = "[...document.querySelectorAll('.gauge-level')].map((level) => level.width.baseVal.value)"
    whole = "document.querySelector('.gauge').width.baseVal.value"
    return float(page.evaluate(f"Math.min(...{widths}) / {whole}"))


def test_a_suspended_cursor_is_followed_from_another_member(page: Page, cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner:
        declare(owner)
        page.goto(address(cluster, "m2"))
        expect(page.locator(".member")).to_have_count(3)
        line = page.locator("section", has=page.get_by_role("heading", name="Running")).locator(
            "tbody tr", has_text="declare c"
        )
        expect(line).to_contain_text("suspended")
        expect(line).to_contain_text("distributed")
        line.get_by_role("link").click()
        expect(page.locator(".lane")).to_have_count(3)
        for member in ("m1", "m2", "m3"):
            expect(page.locator(".lane-name", has_text=member)).to_be_attached()
        owner.execute("fetch 1 from c")
        wait_until(lambda: credit_left(page) < 0.5)
        expect(page.locator(".edge[data-motion=stalled]").first).to_be_attached()
        expect(page.locator(".facts")).to_contain_text("tester")
        owner.execute("fetch 20000 from c")
        expect(page.locator(".facts")).to_contain_text("20,001")
        owner.execute("close c")
        expect(page.locator(".head .state")).to_have_text("finished")
        expect(page.get_by_role("button", name="Cancel statement")).to_be_hidden()


def test_a_running_query_is_cancelled_from_the_page_and_found_in_the_history(page: Page, cluster: LocalCluster) -> None:
    slow = "select count(*) from numbers a, numbers b where a.n * b.n % 1000003 = 7"
    with cluster.connect("m1") as owner, ThreadPoolExecutor() as threads:
        owner.execute("set sluice.engine = local")
        running = threads.submit(owner.execute, slow)
        page.goto(address(cluster, "m3"))
        section = page.locator("section", has=page.get_by_role("heading", name="Running"))
        section.locator("tbody tr", has_text="a.n * b.n").get_by_role("link").click()
        page.get_by_role("button", name="Cancel statement").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel statement").click()
        expect(page.get_by_text("57014: canceling statement due to user request")).to_be_visible()
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result()
    page.get_by_role("link", name="Overview").click()
    page.get_by_label("State", exact=True).select_option("cancelled")
    history = page.locator("section", has=page.get_by_role("heading", name="History"))
    expect(history.locator("tbody tr", has_text="a.n * b.n")).to_contain_text("57014")


def test_markup_in_sql_is_text(page: Page, cluster: LocalCluster) -> None:
    with cluster.connect("m1", application_name="<script>window.hit = 1</script>") as owner:
        owner.execute("select '<script>window.hit = 2</script><img src=x onerror=window.hit=3>'")
        page.goto(address(cluster, "m2"))
        expect(page.locator("td.sql", has_text="<script>window.hit = 2</script>").first).to_be_visible()
        expect(page.get_by_text("<script>window.hit = 1</script>").first).to_be_visible()
        assert page.evaluate("window.hit ?? null") is None
        assert page.locator("main script, main img").count() == 0


def test_sql_is_explained_by_the_member(page: Page, cluster: LocalCluster) -> None:
    page.goto(f"{address(cluster, 'm1')}#/explain")
    text = page.locator("textarea").locator("visible=true")
    text.fill("select n % 10, count(*) from numbers group by 1 order by 1")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".graph")).to_contain_text("TABLE READER")
    text.fill("select * from nothing_like_it")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert")).to_contain_text('42P01: relation "nothing_like_it" does not exist')


@pytest.mark.parametrize(
    "form", ["explain (format json)", "explain (distsql, format json)", "explain (analyze, distsql, format json)"]
)
def test_a_pasted_plan_of_a_member_is_drawn(page: Page, cluster: LocalCluster, form: str) -> None:
    with cluster.connect("m1") as owner:
        owner.execute("set sluice.distribution = always")
        owner.execute("set sluice.engine = local")
        [(plan,)] = owner.execute(
            f"{form} select n % 10, count(*) from numbers group by 1 order by 1".encode()
        ).fetchall()
    page.goto(f"{address(cluster, 'm1')}#/explain")
    page.get_by_role("tab", name="Paste a plan").click()
    page.locator("textarea").locator("visible=true").fill(plan if isinstance(plan, str) else json.dumps(plan))
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".graph")).to_contain_text("TABLE READER")
    expect(page.locator(".lane")).to_have_count(3 if "distsql" in form else 1)


def test_a_member_that_wants_passwords_refuses_the_wrong_user(page: Page, tmp_path: Path) -> None:
    rules = tmp_path / "hba.conf"
    rules.write_text("host all tester all trust\nhostnossl all all all password\n")
    with MemberProcess(
        tmp_path / "data", environment={"SLUICE_HBA_FILE": str(rules), "SLUICE_SPARK__START": "lazy"}
    ) as member:
        with member.connect() as connection:
            connection.execute("create role ada login password 'a password'")
        page.goto(member.ready["console"])
        page.get_by_label("User").fill("ada")
        page.get_by_label("Password").fill("another")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_have_text('password authentication failed for user "ada"')
        assert page.locator(".member").count() == 0
        page.get_by_label("Password").fill("a password")
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".member")).to_have_count(1)
        expect(page.get_by_text("Members of pg_read_all_stats see those of all users.")).to_be_visible()
