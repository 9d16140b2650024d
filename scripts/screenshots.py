"""Takes the pictures of the console for README and docs: `make screenshots`.

Three real members serve TPC-H data at scale 0.1 in several files a table. A cursor over a distributed query is
suspended, so that its edges are under backpressure, while another query runs; Debian's Chromium takes the pictures into
docs/images.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from playwright.sync_api import Page  # noqa: E402
from support.browser import chromium, watched_page  # noqa: E402
from support.local_cluster import LocalCluster  # noqa: E402
from support.tpch import TABLES, generate  # noqa: E402

IMAGES: Final = ROOT / "docs" / "images"
_SIZE: Final = {"width": 1280, "height": 980}
_JOIN: Final = """select l_orderkey, o_orderdate, l_extendedprice
from lineitem join orders on l_orderkey = o_orderkey
where o_orderdate >= date '1995-01-01'
order by o_orderdate, l_orderkey"""
_GROUPS: Final = """select l_returnflag, l_linestatus, sum(l_quantity) as quantity, count(*) as items
from lineitem group by 1, 2 order by 1, 2"""
_LONG: Final = (
    "select count(*) from lineitem a join lineitem b on a.l_linenumber = b.l_linenumber where a.l_comment < b.l_comment"
)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="sluice-pictures-") as scratch,
        LocalCluster(Path(scratch) / "c", 3) as cluster,
    ):
        folder = cluster.folder / "tpch"
        folder.mkdir()
        generate(folder, 0.1, "parquet", 3)
        with _session(cluster, "m1", "etl") as owner, _session(cluster, "m2", "report") as other:
            _register(owner)
            owner.execute(_GROUPS.encode())
            owner.execute("begin")
            owner.execute(f"declare rows no scroll cursor for {_JOIN}".encode())
            owner.execute("fetch 100 from rows")
            long = threading.Thread(target=_until_cancelled, args=(other,))
            long.start()
            address = f"http://{cluster.members['m1']['console']}/"
            with chromium() as browser, watched_page(browser, viewport=_SIZE, device_scale_factor=2) as page:
                _take(page, address)
            other.cancel()
            long.join()
            owner.execute("rollback")


def _session(cluster: LocalCluster, member: str, user: str) -> psycopg.Connection[Any]:
    options = "-c sluice.engine=local -c sluice.distribution=always -c cursor_buffer_size=64kB"
    return cluster.connect(member, user=user, options=options)


def _register(connection: psycopg.Connection[Any]) -> None:
    for table in TABLES:
        connection.execute(
            sql.SQL("create foreign table {} options (path {}, format 'parquet')").format(
                sql.Identifier(table), sql.Literal(f"tpch/{table}/*.parquet")
            )
        )


def _until_cancelled(connection: psycopg.Connection[Any]) -> None:
    try:
        connection.execute(_LONG.encode())
    except psycopg.errors.QueryCanceled:
        return


def _take(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("td.sql a", has_text="declare rows").wait_for()
    page.wait_for_timeout(3000)
    page.screenshot(path=IMAGES / "overview.png")
    page.locator("td.sql a", has_text="declare rows").click()
    page.locator(".edge[data-motion=stalled]").first.wait_for()
    page.screenshot(path=IMAGES / "statement.png")
    page.goto(f"{address}#/explain")
    page.locator("textarea").locator("visible=true").fill(_GROUPS)
    page.get_by_role("button", name="Explain").click()
    page.locator(".graph svg").wait_for()
    page.screenshot(path=IMAGES / "explain.png")


if __name__ == "__main__":
    main()
