"""The queries and sessions of the door: `buenavista.core.Connection`.

A query is a statement and its result. Its URLs contain its id and a secret (Trino's slug): whoever has the URL may
fetch the result, as in Trino. A client that sends no request for a while is considered gone, and what it left running
is cancelled. There are at most as many queries as there may be connections; once a client was told a query's end, only
the answer is kept (`server.http.ended_queries`). A session in a transaction is known by the transaction's id, to its
own user only.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from buenavista import core
from fastapi import Response

from server.auth.gate import Visitor
from server.http.ended_queries import EndedQueries, EndedQuery, only_with_slug
from server.http.login import admit
from server.http.result import Result
from server.http.session import Bounds, Session
from server.http.statement_run import Translate
from server.pgwire.host import Host
from server.session.cancel import canceled_by_user, shut_down
from wire.errors import CannotConnectNow, NoActiveSqlTransaction, QueryCanceled, TooManyConnections

_ID_BYTES = 8
_SLUG_BYTES = 16
#: How long a query is kept that its client has given up, in seconds.
_GIVEN_UP_SECONDS = 10.0


@dataclass(slots=True)
class Query:
    """id, slug: see the module's docstring. token: the number of the page that is requested next. last: the answer to
    the previous request, which is sent again if the client repeats the request. started: seconds since the epoch. over:
    whether the client was told the end; requests that waited for their turn meanwhile still refer to the query.
    """

    id: str
    slug: str
    session: Session
    result: Result
    began_in_transaction: bool
    token: int = 1
    last: Response | None = None
    over: bool = False
    started: float = field(default_factory=time.time)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.TimerHandle | None = None


class Connection(core.Connection):
    """See the module's docstring. Made and used on one loop."""

    def __init__(self, host: Host, bounds: Bounds, translate: Translate) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._host = host
        self._bounds = bounds
        self._translate = translate
        self._queries: dict[str, Query] = {}
        self.ended = EndedQueries()
        self._tasks: dict[asyncio.Task[None], Session] = {}
        self._draining = False

    def __len__(self) -> int:
        """Return the number of sessions."""
        return len(self._tasks)

    # -- sessions ------------------------------------------------------------------------------------------------------

    async def admit(self, visitor: Visitor, password: str | None) -> bool:
        """Authenticate a visitor with `server.http.login.admit`."""
        return await admit(self._host, visitor, password)

    def session_for(
        self,
        visitor: Visitor,
        settings: Mapping[str, str],
        peer: tuple[str, int] | None,
        transaction: str | None,
        *,
        superuser: bool,
    ) -> Session:
        """Return the session of a transaction, or a new one. Raises NoActiveSqlTransaction, CannotConnectNow,
        TooManyConnections.
        """
        if len(self._queries) >= self._host.max_connections:
            raise TooManyConnections(
                f"too many queries: the results of {len(self._queries)} wait for their clients",
                hint="Fetch them to their ends, or give them up with DELETE.",
            )
        if transaction is not None:
            found = self._session(transaction)
            if found is None or found.user != visitor.beginning.user:
                raise NoActiveSqlTransaction(f"unknown transaction ID: {transaction}", sqlstate="25P03")
            return found
        if self._draining:
            raise CannotConnectNow("the database system is shutting down")
        self._host.require_room(superuser=superuser)
        session = Session(self._host, self._bounds, self._translate, visitor, settings, peer)
        self._sessions[session.id] = session
        self._tasks[session.task] = session
        session.task.add_done_callback(self._on_session_ended)
        return session

    def _on_session_ended(self, task: asyncio.Task[None]) -> None:
        del self._sessions[self._tasks.pop(task).id]

    def _session(self, transaction: str) -> Session | None:
        """Return the session with a transaction's id, which is the session's id."""
        return next((session for session in self._tasks.values() if str(session.id) == transaction), None)

    # -- queries -------------------------------------------------------------------------------------------------------

    def begin(self, session: Session, text: str, prepared: Mapping[str, str]) -> Query:
        """Begin to run a statement."""
        within = session.in_transaction()
        result = session.execute_sql(text, prepared)
        name = time.strftime("%Y%m%d_%H%M%S_", time.gmtime()) + secrets.token_hex(_ID_BYTES)
        query = Query(name, secrets.token_urlsafe(_SLUG_BYTES), session, result, within)
        self._queries[name] = query
        self.touch(query)
        return query

    def find(self, name: str, slug: str) -> Query | None:
        return only_with_slug(self._queries.get(name), slug)

    def end(self, query: Query, answer: Response) -> None:
        """Keep only the last answer of a query. The client was sent its page, `query.token - 1`."""
        self._forget(query)
        self.ended.add(query.id, EndedQuery(query.slug, query.token - 1, answer))

    def _forget(self, query: Query) -> None:
        self._queries.pop(query.id, None)
        if query.timer is not None:
            query.timer.cancel()

    def touch(self, query: Query) -> None:
        """Restart the timeout after which the client is considered gone."""
        self._abandon_in(query, self._bounds.abandoned_after)

    def _abandon_in(self, query: Query, seconds: float) -> None:
        if query.timer is not None:
            query.timer.cancel()
        query.timer = asyncio.get_running_loop().call_later(seconds, self._abandon, query)

    def _abandon(self, query: Query) -> None:
        self._forget(query)
        if query.result.ending is None:
            cause = QueryCanceled(f"nobody has asked for the result for {self._bounds.abandoned_after:g} s")
            query.session.cancel(query.result, cause)

    def cancel(self, query: Query) -> None:
        """Cancel a query for its client, who may still ask how it ended."""
        if query.result.ending is None:
            query.session.cancel(query.result, canceled_by_user())
        self._abandon_in(query, min(self._bounds.abandoned_after, _GIVEN_UP_SECONDS))

    def transaction_headers(self, query: Query) -> tuple[tuple[str, str], ...]:
        """Return the headers of a query's last answer that report a transaction which it has begun or ended."""
        within = query.session.in_transaction()
        if within and not query.began_in_transaction:
            return (("Started-Transaction-Id", str(query.session.id)),)
        if query.began_in_transaction and not within:
            return (("Clear-Transaction-Id", "true"),)
        return ()

    # -- shutdown ------------------------------------------------------------------------------------------------------

    async def drain(self) -> None:
        """Accept no new sessions. Returns when all sessions have ended, with their statements and transactions."""
        self._draining = True
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def close(self) -> None:
        """End all sessions now."""
        self._draining = True
        for session in self._tasks.values():
            session.interrupt(shut_down())
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        for query in list(self._queries.values()):
            self._forget(query)
