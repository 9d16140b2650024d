"""The console's page in a real Chromium over generated figures: what it shows, what it requests, and what it never
does.
"""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect
from support.generated_console import PASSWORD, USER, GeneratedConsole, World

from server.http import page as page_files

STATIC = Path(page_files.__file__).parent / "static"
MARKUP = 'select \'<script>window.hit = 1</script><img src=x onerror="window.hit = 2">\' as "<b>bold</b>"'


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def console(world: World) -> Iterator[GeneratedConsole]:
    with GeneratedConsole(world) as console:
        yield console


def open_statement(page: Page, console: GeneratedConsole, id_: str = "m1.0") -> None:
    page.goto(f"{console.address}#/statements/{id_}")
    expect(page.locator(".graph svg")).to_be_visible()


def test_the_overview_shows_the_cluster(page: Page, console: GeneratedConsole) -> None:
    page.goto(console.address)
    expect(page.locator(".member")).to_have_count(3)
    expect(page.locator(".member").first).to_contain_text("m1")
    expect(page.locator(".member").first).to_contain_text("410 MB")
    running = page.locator("section", has=page.get_by_role("heading", name="Running")).locator("tbody tr")
    expect(running).to_have_count(4)
    expect(running.nth(2)).to_contain_text("sluice.local_limit 64 MB")
    expect(running.nth(3)).to_contain_text("suspended")
    expect(running.nth(3).get_by_role("cell", name="c", exact=True)).to_be_visible()
    expect(running.nth(3).locator("td").last).to_have_attribute(
        "title", re.compile(r"^Parse 0\.40 ms, Bind 1\.1 ms, .*, Run ")
    )
    expect(running.nth(1)).to_contain_text(re.compile(r"\d/s"))
    expect(page.get_by_text("grace").first).to_be_visible()
    expect(page.get_by_role("contentinfo")).to_have_text("Sluice 0.1.0, member m1")


def test_an_idle_cluster_says_so(page: Page) -> None:
    with GeneratedConsole(World(statements=0, sessions=0, finished=0)) as console:
        page.goto(console.address)
        for text in ("No statement is running.", "Nobody is connected.", "No statement has ended yet."):
            expect(page.get_by_text(text)).to_be_visible()


def test_the_history_is_filtered(page: Page, console: GeneratedConsole, world: World) -> None:
    world.overrides["m1.90003"] = {"sql": "select 'needle'"}
    page.goto(console.address)
    history = page.locator("section", has=page.get_by_role("heading", name="History"))
    expect(history.locator("tbody tr")).to_have_count(30)
    page.get_by_label("State", exact=True).select_option("failed")
    expect(history.locator("tbody tr")).to_have_count(6)
    expect(history.locator(".count")).to_have_text("6 of 30")
    page.get_by_label("User", exact=True).fill("grace")
    expect(history.locator("tbody tr")).to_have_count(2)
    page.get_by_label("State", exact=True).select_option("")
    page.get_by_label("User", exact=True).fill("")
    page.get_by_label("Text of the statement").fill("NEEDLE")
    expect(history.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Text of the statement").fill("in no statement")
    expect(page.get_by_text("No statement in the history fits the filter.")).to_be_visible()


def test_long_lists_grow_when_asked(page: Page) -> None:
    with GeneratedConsole(World(finished=120, sessions=60)) as console:
        page.goto(console.address)
        history = page.locator("section", has=page.get_by_role("heading", name="History"))
        expect(history.locator("tbody tr")).to_have_count(50)
        expect(history.locator(".count")).to_have_text("120")
        history.get_by_role("button", name="Show 50 more of 70").click()
        expect(history.locator("tbody tr")).to_have_count(100)
        history.get_by_role("button", name="Show 20 more of 20").click()
        expect(history.locator("tbody tr")).to_have_count(120)
        expect(history.get_by_role("button")).to_be_hidden()
        sessions = page.locator("section", has=page.get_by_role("heading", name="Sessions"))
        sessions.get_by_role("button", name="Show 10 more of 10").click()
        expect(sessions.locator("tbody tr")).to_have_count(60)


def test_a_statements_page_follows_it(page: Page, console: GeneratedConsole) -> None:
    page.goto(console.address)
    page.locator("section", has=page.get_by_role("heading", name="Running")).locator("tbody a").first.click()
    expect(page.get_by_role("heading", name="Statement m1.0")).to_be_visible()
    expect(page).to_have_title("Statement m1.0 \u2013 Sluice")
    expect(page.locator(".sql-text")).to_contain_text("from lineitem join orders")
    expect(page.locator(".phase-list")).to_contain_text("First row")
    expect(page.locator(".lane")).to_have_count(3)
    expect(page.locator(".box")).to_have_count(8)
    expect(page.locator(".edge")).to_have_count(13)
    edge = page.locator(".edges tbody tr", has=page.get_by_text("2 m2-m2", exact=True))
    expect(edge).to_contain_text("hash, 2 streams")
    expect(edge).to_contain_text("of 8 MB")
    before = edge.inner_text()
    expect(edge).not_to_have_text(before)
    expect(edge).to_contain_text("flowing")
    stalled = page.locator(".edge[data-motion=stalled]")
    expect(stalled).to_have_count(2)
    expect(stalled.first).to_contain_text("stalled \u00b7 4 MB held")
    expect(page.locator(".wire[data-motion=flowing]").first).to_be_attached()
    expect(page.get_by_text("3 stages,")).to_be_visible()
    expect(page.get_by_role("link", name="Job in Spark\u2019s UI")).to_have_attribute(
        "href", "http://127.0.0.1:4040/jobs/job/?id=7"
    )


def test_what_changes_is_patched(page: Page, console: GeneratedConsole, world: World) -> None:
    """Nodes stay the same while their figures grow."""
    page.goto(console.address)
    # The history is the last that a new page shows: it has its own frame.
    history = page.locator("section", has=page.get_by_role("heading", name="History"))
    expect(history.locator("tbody tr")).to_have_count(30)
    mark = "for (const node of document.querySelectorAll('tr, .member, .edge, .box, svg')) node.seen = true"
    unmarked = "[...document.querySelectorAll('tr, .member, .edge, .box, svg')].filter((node) => !node.seen).length"
    page.evaluate(mark)
    step = world.step
    while world.step < step + 4:
        page.wait_for_timeout(50)
    assert page.evaluate(unmarked) == 0
    open_statement(page, console)
    expect(page.locator(".edges tbody tr")).to_have_count(13)
    page.evaluate(mark)
    step = world.step
    while world.step < step + 4:
        page.wait_for_timeout(50)
    assert page.evaluate(unmarked) == 0


def test_markup_shows_as_text(page: Page, console: GeneratedConsole, world: World) -> None:
    listed = [f"{field} {MARKUP}" for field in ("sql", "user", "reason", "engine", "state", "member")]
    shown = [*listed, *(f"{field} {MARKUP}" for field in ("error", "portal"))]
    world.overrides["m1.0"] = {text.partition(" ")[0]: text for text in shown}
    page.goto(console.address)
    expect(page.locator(".member")).to_have_count(3)
    for text in listed:
        expect(page.get_by_text(text).first).to_be_attached()
    open_statement(page, console)
    for text in shown:
        expect(page.get_by_text(text).first).to_be_visible()
    assert page.evaluate("window.hit ?? null") is None
    assert page.locator("main script, main img, main b").count() == 0


def test_markup_in_a_plan_shows_as_text(page: Page, console: GeneratedConsole) -> None:
    page.goto(f"{console.address}#/explain")
    page.get_by_role("tab", name="Paste a plan").click()
    plan = '[{"Plan": {"Node Type": "<img src=x onerror=window.hit=1>", "Filter": "<script>window.hit = 2</script>"}}]'
    page.get_by_label("Plan as JSON").locator("visible=true").last.fill(plan)
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".graph svg")).to_contain_text("<img src=x")
    assert page.evaluate("window.hit ?? null") is None
    assert page.locator("main img, main script").count() == 0


def test_a_link_to_spark_is_a_web_address(page: Page, console: GeneratedConsole, world: World) -> None:
    jobs = [
        {
            "id": 1,
            "name": "j",
            "stages": 1,
            "tasks": 1,
            "tasks_done": 1,
            "tasks_failed": 0,
            "url": "javascript:window.hit=1",
        }
    ]
    world.overrides["m1.0"] = {"spark_jobs": jobs}
    open_statement(page, console)
    expect(page.get_by_text("Job 1: j")).to_be_visible()
    expect(page.locator(".jobs a")).to_be_hidden()
    assert page.locator("[href^=javascript]").count() == 0


def test_cancel_asks_first(page: Page, console: GeneratedConsole, world: World) -> None:
    open_statement(page, console)
    page.get_by_role("button", name="Cancel statement").click()
    expect(page.get_by_role("dialog", name="Cancel this statement?")).to_contain_text("select l_returnflag")
    expect(page.get_by_role("button", name="Keep it running")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Cancel statement").click()
    page.get_by_role("button", name="Keep it running").click()
    assert world.cancelled == []
    page.get_by_role("button", name="Cancel statement").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel statement").click()
    expect(page.get_by_text("57014: canceling statement due to user request")).to_be_visible()
    assert world.cancelled == ["m1.0"]
    expect(page.get_by_role("button", name="Cancel statement")).to_be_hidden()
    page.get_by_role("link", name="Overview").click()
    history = page.locator("section", has=page.get_by_role("heading", name="History"))
    expect(history.locator("tbody tr").first).to_contain_text("cancelled")


def test_a_cancel_that_is_refused_is_told(page: Page, console: GeneratedConsole, world: World) -> None:
    open_statement(page, console, "m2.1")
    page.get_by_role("button", name="Cancel statement").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel statement").click()
    expect(page.get_by_text("must be a member of the role whose query is being canceled")).to_be_visible()
    assert world.cancelled == []


def test_a_statement_that_is_not_there(page: Page, console: GeneratedConsole) -> None:
    page.goto(f"{console.address}#/statements/m9.1")
    expect(page.get_by_text("There is no such statement. It may have left the history.")).to_be_visible()


def test_users_log_in_and_out(page: Page, world: World) -> None:
    with GeneratedConsole(world, login=True) as console:
        page.goto(console.address)
        expect(page.get_by_label("User")).to_be_focused()
        expect(page.get_by_role("navigation")).to_be_hidden()
        page.keyboard.type("eve")
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text('password authentication failed for user "eve"')
        assert page.locator(".member").count() == 0
        page.get_by_label("User").fill(USER)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".member")).to_have_count(3)
        expect(page.locator("#user")).to_have_text(USER)
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        assert page.locator(".member").count() == 0
        assert PASSWORD not in page.content()
        assert page.url == console.address


def test_who_may_not_read_all_is_told(page: Page) -> None:
    with GeneratedConsole(World(may_read_all=False)) as console:
        page.goto(console.address)
        expect(page.get_by_text("Members of pg_read_all_stats see those of all users.")).to_be_visible()


def test_a_lost_connection_is_told_and_retried(page: Page, console: GeneratedConsole, world: World) -> None:
    page.goto(console.address)
    expect(page.locator(".member")).to_have_count(3)
    console.refusing = True
    expect(
        page.get_by_text(re.compile(r"The connection to member m1 is lost; trying again in \d+ s\."))
    ).to_be_visible()
    expect(page.locator(".member")).to_have_count(3)
    console.refusing = False
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#banner")).to_be_hidden()
    console.refusing = True
    expect(page.locator("#banner")).to_be_visible()
    console.refusing = False
    expect(page.locator("#banner")).to_be_hidden()
    step = world.step
    expect(page.locator(".member")).to_have_count(3)
    while world.step < step + 2:
        page.wait_for_timeout(50)


def test_sql_is_explained(page: Page, console: GeneratedConsole) -> None:
    page.goto(console.address)
    page.get_by_role("link", name="Explain").click()
    page.locator("textarea").locator("visible=true").fill("select *\nfrom \U0001f600, nothing")
    page.get_by_role("button", name="Explain").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text('42P01: relation "nothing" does not exist')
    expect(alert.locator("pre")).to_have_text("from \U0001f600, nothing")
    expect(alert.locator("mark")).to_have_text("n")
    page.locator("textarea").locator("visible=true").fill("select 1")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".box")).to_have_count(8)
    expect(alert).to_be_hidden()
    expect(page.locator(".edges tbody tr").first).to_contain_text("hash")
    expect(page.locator(".edges tbody tr", has_text="5,000")).to_have_count(0)
    expect(page.locator(".wire[data-motion=flowing]")).to_have_count(0)


def test_a_pasted_plan_is_drawn(page: Page, console: GeneratedConsole) -> None:
    page.goto(f"{console.address}#/explain")
    page.get_by_role("tab", name="Explain SQL").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Paste a plan")).to_be_focused()
    text = page.locator("textarea").locator("visible=true")
    text.fill('[{"Plan": {"Node Type": "FINAL", "Plans": [{"Node Type": "TABLE READER", "Table": "public.numbers"}]}}]')
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".graph")).to_contain_text("TABLE READER")
    expect(page.locator(".box")).to_have_count(2)
    text.fill("select 1")
    page.get_by_role("button", name="Draw").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not JSON")
    expect(page.locator(".graph")).to_be_hidden()


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("view", ["", "#/statements/m1.0", "#/explain"])
def test_no_view_is_wider_than_the_window(page: Page, view: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    with GeneratedConsole(World(members=8, statements=20)) as console:
        page.goto(console.address + view)
        expect(page.locator({"": ".member", "#/explain": "textarea"}.get(view, ".graph svg")).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_that_can_be_used_has_a_name(page: Page, console: GeneratedConsole) -> None:
    script = """() => [...document.querySelectorAll('a, button, input, select, textarea, [tabindex="0"], img, svg, progress')]
        .filter((node) => node.checkVisibility() && !node.closest('[aria-hidden]'))
        .filter((node) => !(node.getAttribute('aria-label') || node.labels?.length || node.textContent.trim() || node.alt === ''))
        .map((node) => node.outerHTML)"""
    for view in ("", "#/statements/m1.0", "#/explain"):
        page.goto(console.address + view)
        expect(page.locator({"": ".member", "#/explain": "textarea"}.get(view, ".graph svg")).first).to_be_visible()
        assert page.evaluate(script) == []
        assert page.locator("th:not([scope])").count() == 0
        assert page.locator("main h1").count() == 1


def test_the_colours_follow_the_system(page: Page, console: GeneratedConsole) -> None:
    shades: list[list[int]] = []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        page.goto(console.address)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades.append([int(part) for part in re.findall(r"\d+", colour)[:3]])
    assert min(shades[0]) > 200
    assert max(shades[1]) < 60


def read(address: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def test_files_are_served_with_a_policy_and_only_those(console: GeneratedConsole) -> None:
    for name in ("", "static/main.js", "static/console.css", "static/icon.svg", "static/nothing.js"):
        status, headers, body = read(console.address + name)
        assert status == (404 if "nothing" in name else 200)
        headers = {key.lower(): value for key, value in headers.items()}
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        if status == 200:
            assert body
            again = read(console.address + name, **{"If-None-Match": headers["etag"]})
            assert (again[0], again[2]) == (304, b"")
    for name in ("static/../page.py", "static/%2e%2e/page.py", "static/..%2fpage.py", "static/__init__.py"):
        assert read(console.address + name)[0] == 404


def test_no_file_of_the_page_makes_markup_of_texts_or_names_another_server() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function|\sstyle=|\son\w+=\""
    )
    elsewhere = re.compile(r"https?://(?!www\.w3\.org/2000/svg)\S")
    for file in STATIC.iterdir():
        text = file.read_text()
        assert not forbidden.search(text), file.name
        assert not elsewhere.search(text), file.name
        assert max(map(len, text.splitlines())) <= 132, file.name
