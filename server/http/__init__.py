"""The HTTP servers of a member: the console, and a second door.

    serving.py    a listening socket, uvicorn under an application, the end
    guard.py      bounds of connections whose clients are not known
    login.py      who asks, at both
    console.py    the state as JSON, health
    metrics.py    the state for Prometheus
    addressed.py, console_login.py, console_api.py, console_views.py, console_explain.py, live.py
                  the console's API: who looks, what all members do, plans, the websocket
    page.py       the console's page: the files of static/

The second door is Trino's client protocol over HTTP, for clients that speak Trino and not PostgreSQL. It is off unless it is
configured, and built on buenavista's abstractions: its `Connection`, `Session` and `QueryResult` (`buenavista.core`), over our
sessions; its messages (`buenavista.http.schemas`) and headers (`buenavista.http.context`); its `Rewriter` and Trino dialect. Its
PostgreSQL server and its DuckDB backend are no part of this.

    door.py       start and end
    routes.py     HTTP requests and answers
    connection.py queries by id, sessions by transaction
    session.py    one session of ours, with no socket
    result.py     one statement's result, page by page
    dialect.py    Trino's syntax to PostgreSQL's
    requests.py   what a statement asks of the door itself: prepared statements, USE, SET SESSION
    relations.py  SHOW ..., DESCRIBE, and relations that Trino has and PostgreSQL has not, or otherwise
    types.py      Trino's names of types
    values.py     a batch as rows of JSON
    failure.py    errors as Trino tells them

Rejected: `buenavista.http.main.quacko`, the front end itself. It answers a statement when all of its rows are there, in one
page, so that a result has to fit into memory and cannot be cancelled; its sessions are shared by everybody who says the same
name, and keep what the last one has set; an error has no SQLSTATE. To mend that from outside would have left nothing of it.

Source: Trino's "Client REST API"; trino-python-client 0.340 (client.py).
"""
