"""The HTTP servers of a member: the console, and a second door.

    serving.py    a listening socket, uvicorn under an application, the shutdown
    guard.py      limits for connections of unauthenticated clients
    login.py      authentication at both
    console.py    the state as JSON, health
    metrics.py    the state for Prometheus
    addressed.py, console_login.py, console_api.py, console_views.py, console_explain.py, live.py
                  the console's API: viewers, the activity of all members, plans, the websocket
    page.py       the console's page: the files of static/

The second door is Trino's client protocol over HTTP, for clients that speak Trino and not PostgreSQL. It is off unless
it is configured. It is built on buenavista's abstractions: its `Connection`, `Session` and `QueryResult`
(`buenavista.core`) over Sluice's sessions; its messages (`buenavista.http.schemas`) and headers
(`buenavista.http.context`); its `Rewriter` and Trino dialect. It does not use buenavista's PostgreSQL server or its
DuckDB backend.

    door.py       start and shutdown
    routes.py     HTTP requests and answers
    connection.py queries by id, sessions by transaction
    ended_queries.py   the last answers of queries that have ended
    session.py    one session without a socket
    result.py     one statement's result, page by page
    dialect.py    Trino's syntax to PostgreSQL's
    requests.py   statements that the door answers itself: prepared statements, USE, SET SESSION
    relations.py  SHOW ..., DESCRIBE, and relations that PostgreSQL lacks or that differ in Trino
    types.py      Trino's names of types
    values.py     a batch as rows of JSON
    failure.py    errors in Trino's form

Rejected: `buenavista.http.main.quacko`, the front end itself. It answers a statement only when it has all rows, in one
page, so that a result has to fit into memory and cannot be cancelled; all clients that give the same name share one
session, with the settings of whoever came last; an error has no SQLSTATE. Fixing that from outside would have left
nothing of it.

Source: Trino's "Client REST API"; trino-python-client 0.340 (client.py).
"""
