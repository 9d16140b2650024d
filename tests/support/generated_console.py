"""A console without a member: the real page, and API answers from generated figures, over real HTTP and websockets.

    with GeneratedConsole(World(members=8, statements=50)) as console:
        browser.goto(console.address)

It generates what a real cluster shows seldom or never: fifty statements over eight members, an edge without credit,
Spark's tasks half done, names full of markup, a server that closes its connections. As in a real cluster, the figures
change with each answer.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from server.http import page
from server.http.console import with_headers

USER: Final = "ada"
PASSWORD: Final = "a password"
_WINDOW: Final = 8 << 20
#: Edges whose senders have no credit.
_STALLED: Final = ("2 m3-m1", "1 m2")
_STATES: Final = ("running", "running", "running", "suspended", "planning", "queued")
_SQL: Final = """select l_returnflag, l_linestatus, sum(l_quantity) as quantity, avg(l_discount) as discount
from lineitem join orders on l_orderkey = o_orderkey
where o_orderdate >= date '1995-01-01' and l_shipdate <= date '1998-12-01' - interval '{} days'
group by 1, 2 order by 1, 2"""


@dataclass
class World:
    """The contents of the console.

    members, statements: how many of each.
    step: increases with each answer, and all figures increase with it.
    overrides: the fields that differ from the generated ones, by a statement's id.
    cancelled: the ids of the statements that the page has cancelled.
    """

    members: int = 3
    statements: int = 4
    sessions: int = 6
    finished: int = 30
    may_read_all: bool = True
    step: int = 0
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.time)
    _history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [f"m{number}" for number in range(1, self.members + 1)]

    @property
    def running_ids(self) -> list[str]:
        return [
            id_
            for number in range(self.statements)
            if (id_ := f"m{number % self.members + 1}.{number}") not in self.cancelled
        ]

    def overview(self) -> dict[str, Any]:
        return {
            "at": time.time(),
            "member": "m1",
            "members": [self._member(number, name) for number, name in enumerate(self.names)],
            "sessions": [self._session(number) for number in range(self.sessions)],
            "running": [self.line(id_) for id_ in self.running_ids],
            "finished": [*(self.line(id_) for id_ in self.cancelled), *self._past()],
        }

    def _past(self) -> list[dict[str, Any]]:
        """Return the ended statements: the same objects each time, because a long history would cost more to build than
        to show.
        """
        if not self._history:
            self._history = [self._finished(number) for number in range(self.finished)]
        return self._history

    def line(self, id_: str) -> dict[str, Any]:
        number = int(id_.rpartition(".")[2])
        distributed = number % 3 != 2
        ended = id_ in self.cancelled
        line = {
            "id": id_, "member": id_.partition(".")[0], "pid": 4000 + number, "user": ("ada", "grace", "report")[number % 3],
            "sql": _SQL.format(number + 1), "state": "cancelled" if ended else _STATES[number % len(_STATES)],
            "engine": "distributed" if distributed else "spark",
            "reason": "its tables are on three members" if distributed else "it reads 4.2 GB, beyond sluice.local_limit 64 MB",
            "portal": "c" if number % len(_STATES) == 3 else None, "rows": 1000 * number + 37 * self.step * (number % 7),
            "started": self.began - 3 * number, "ended": time.time() if ended else None,
            "phases": {"parse": 0.0004, "bind": 0.0011, "plan": 0.004, "compile": 0.0023, "start": 0.012, "first_row": 0.31,
                       "run": time.time() - self.began + 3 * number},
            "sqlstate": "57014" if ended else None, "error": "canceling statement due to user request" if ended else None,
        }  # fmt: skip
        return {**line, **self.overrides.get(id_, {})}

    def query(self, id_: str) -> dict[str, Any] | None:
        if id_ not in self.running_ids and id_ not in self.cancelled:
            return None
        jobs = [{"id": 7, "name": "m1.7 fragment 1", "stages": 3, "tasks": 64, "tasks_done": min(64, self.step), "tasks_failed": 1,
                 "url": "http://127.0.0.1:4040/jobs/job/?id=7"}]  # fmt: skip
        return {"graph": self.graph(), "spark_jobs": jobs, **self.line(id_)}

    def graph(self) -> dict[str, Any]:
        """Return a plan graph: a scan on each member, whose groups are repartitioned by hash to all members and from
        there sent in order to the first.
        """
        scans = [self._scan(name) for name in self.names]
        groups = [self._groups(name) for name in self.names]
        last = [_operator(0, "FINAL", "", [1], 40), _operator(1, "RECEIVE", "Synchronizer: ordered by 1, 2", [], 40)]
        root = {"id": "0", "member": "m1", "engine": "local", "state": "running", "operators": last}
        hashed = [self._edge(f"2 {a}-{b}", f"2 {a}", f"1 {b}", "hash") for a in self.names for b in self.names]
        merged = [self._edge(f"1 {name}", f"1 {name}", "0", "merge") for name in self.names]
        result = {**self._edge("result", "0", "client", "result"), "credit": None, "window": None}
        return {
            "fragments": [*scans, *groups, root, {"id": "client", "operators": []}],
            "edges": [*hashed, *merged, result],
        }

    def _scan(self, name: str) -> dict[str, Any]:
        operators = [
            _operator(0, "AGGREGATOR (local)", "Group: l_returnflag, l_linestatus", [1], 4),
            _operator(1, "JOIN", "Condition: l_orderkey = o_orderkey", [2, 3], 900 * self.step),
            _operator(
                2,
                "TABLE READER",
                "Table: public.lineitem; Filter: l_shipdate <= date '1998-12-01'",
                [],
                4000 * self.step,
            ),
            _operator(3, "TABLE READER", "Table: public.orders", [], 1000 * self.step),
        ]
        return {"id": f"2 {name}", "member": name, "engine": "spark", "state": "running", "operators": operators}

    def _groups(self, name: str) -> dict[str, Any]:
        operators = [
            _operator(0, "SORT", "Key: l_returnflag, l_linestatus", [1], None),
            _operator(1, "AGGREGATOR (final)", "Group: l_returnflag, l_linestatus", [2], 4),
            _operator(2, "RECEIVE", "Synchronizer: unsynchronized", [], 12),
        ]
        return {"id": f"1 {name}", "member": name, "engine": "local", "state": "running", "operators": operators}

    def _edge(self, id_: str, source: str, target: str, kind: str) -> dict[str, Any]:
        number = sum(map(ord, id_))
        stalled = id_ in _STALLED
        return {
            "id": id_, "from": source, "to": target, "kind": kind, "streams": 1 + number % 4,
            "rows": 5000 if stalled else 1000 * number % 5000 + (number % 13) * 11 * self.step,
            "bytes": 81920 * (1 + number % 5) + 900 * self.step, "credit": 0 if stalled else _WINDOW * (number % 10 + 1) // 11,
            "window": _WINDOW, "backlog_bytes": _WINDOW // 2 if stalled else 0, "stalls": self.step if stalled else number % 3,
            "stalled_seconds": self.step / 4 if stalled else 0.0, "spooled_bytes": 3 << 20 if number % 21 == 0 else 0,
            "state": "open",
        }  # fmt: skip

    def _member(self, number: int, name: str) -> dict[str, Any]:
        return {
            "name": name, "role": "lite" if self.members > 3 and number == self.members - 1 else "data", "state": "up",
            "version": "0.1.0", "load": (number * 5 + self.step // 3) % 17, "mesh": f"10.0.0.{number + 1}:7432",
            "client": f"10.0.0.{number + 1}:5432", "memory_bytes": (410 + 13 * number) << 20, "spool_bytes": (number % 3) << 22,
        }  # fmt: skip

    def _session(self, number: int) -> dict[str, Any]:
        return {
            "member": self.names[number % self.members], "pid": 4000 + number, "user": ("ada", "grace", "report")[number % 3],
            "database": "sluice", "application_name": ("psql", "Metabase", "")[number % 3], "client": "10.0.1.7:51234",
            "state": ("active", "idle", "idle in transaction")[number % 3], "since": self.began - 60 * number,
            "query": _SQL.format(number),
        }  # fmt: skip

    def _finished(self, number: int) -> dict[str, Any]:
        failed = number % 5 == 4
        line = self.line(f"m1.{90000 + number}")
        ended = self.began - 20 * number
        told = {"sqlstate": "22012", "error": "division by zero"} if failed else {"sqlstate": None, "error": None}
        return {
            **line,
            "state": "failed" if failed else "finished",
            "started": ended - 1.5,
            "ended": ended,
            "rows": 40,
            **told,
        }


def _operator(number: int, name: str, detail: str, inputs: list[int], rows: int | None) -> dict[str, Any]:
    return {"id": number, "name": name, "detail": detail, "inputs": inputs, "rows": rows}


class GeneratedConsole:
    """A context manager that serves a world on a free port, from its own thread. address: the page's address.

    login: whether the API requires a login.
    refusing: whether every request is answered with 503 and the websockets are closed.
    """

    def __init__(self, world: World, *, login: bool = False, interval: float = 0.25) -> None:
        self.world = world
        self.login = login
        self.refusing = False
        self._interval = interval
        api = {"me": self._me, "overview": self._overview, "queries/{id}": self._query}
        posts = {
            "login": self._login,
            "logout": self._logout,
            "queries/{id}/cancel": self._cancel,
            "explain": self._explain,
        }
        application = Starlette(
            routes=[
                *page.routes(),
                *(Route(f"/api/{path}", answer) for path, answer in api.items()),
                *(Route(f"/api/{path}", answer, methods=["POST"]) for path, answer in posts.items()),
                WebSocketRoute("/api/live", self._serve_live),
            ]
        )
        self._application = with_headers(application)

    def __enter__(self) -> Self:
        listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        config = uvicorn.Config(
            self._application,
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="wsproto",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refusing = True
        self._server.should_exit = True
        self._thread.join()

    # -- the API ------------------------------------------------------------------------------------------------------

    def _known(self, request: Request | WebSocket) -> bool:
        return not self.login or request.cookies.get("session") == USER

    def _refusal(self, request: Request) -> Response | None:
        if self.refusing:
            return Response(status_code=503)
        return None if self._known(request) else JSONResponse({"error": "not logged in"}, 401)

    async def _me(self, request: Request) -> Response:
        told = {"user": USER, "may_read_all": self.world.may_read_all, "member": "m1", "version": "0.1.0"}
        return self._refusal(request) or JSONResponse(told)

    async def _overview(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse(self.world.overview())

    async def _query(self, request: Request) -> Response:
        query = self.world.query(request.path_params["id"])
        return self._refusal(request) or (
            JSONResponse(query) if query else JSONResponse({"error": "no such query"}, 404)
        )

    async def _login(self, request: Request) -> Response:
        told: Mapping[str, str] = await request.json()
        if (told["user"], told["password"]) != (USER, PASSWORD):
            error = f'password authentication failed for user "{told["user"]}"'
            return JSONResponse({"error": error, "sqlstate": "28P01"}, 401)
        answer = Response(status_code=204)
        answer.set_cookie("session", USER, httponly=True, samesite="strict")
        return answer

    async def _logout(self, _request: Request) -> Response:
        answer = Response(status_code=204)
        answer.delete_cookie("session")
        return answer

    async def _cancel(self, request: Request) -> Response:
        id_ = request.path_params["id"]
        if self.world.line(id_)["user"] != USER:
            return JSONResponse(
                {"error": "must be a member of the role whose query is being canceled", "sqlstate": "42501"}, 403
            )
        self.world.cancelled.append(id_)
        return Response(status_code=204)

    async def _explain(self, request: Request) -> Response:
        sql: str = (await request.json())["sql"]
        if "nothing" in sql:
            told = {
                "error": 'relation "nothing" does not exist',
                "sqlstate": "42P01",
                "position": sql.index("nothing") + 1,
            }
            return JSONResponse(told, 400)
        return JSONResponse(self.world.graph())

    async def _serve_live(self, socket: WebSocket) -> None:
        if self.refusing or not self._known(socket):
            await socket.close(4401)
            return
        await socket.accept()
        followed: list[str | None] = [None]
        listening = asyncio.create_task(_listen(socket, followed))
        try:
            while not self.refusing and not listening.done():
                self.world.step += 1
                message: dict[str, Any] = {"overview": self.world.overview()}
                if followed[0] is not None and (query := self.world.query(followed[0])) is not None:
                    message["query"] = query
                await socket.send_json(message)
                await asyncio.wait((listening,), timeout=self._interval)
            if not listening.done():
                await socket.close(1012)
        except (WebSocketDisconnect, RuntimeError):
            # The browser has left while a message was written.
            return
        finally:
            listening.cancel()


async def _listen(socket: WebSocket, followed: list[str | None]) -> None:
    try:
        while True:
            followed[0] = (await socket.receive_json())["follow"]
    except WebSocketDisconnect:
        return
