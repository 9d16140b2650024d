"""Runs one statement of a session whose client has no connection: parses and prepares it, executes it, and gives its
rows page by page.

Neighbours: `server.http.session` owns the timeouts and the end of the statement; `server.http.result` hands the pages
to the client's requests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from engine.sql.parser.nodes.statements import Statement
from engine.statements.copy.copied_files import CopiedFiles
from engine.statements.copy.copy_from import CopyFromExecution
from engine.statements.copy.copy_to import CopyToExecution
from engine.statements.copy.folder_target import CopiedFolder
from server.cursors.cursor import rows_within
from server.cursors.portal import Portal
from server.http.query_stats import note_plan
from server.http.requests import Asked, understand
from server.http.result import Ending, Result
from server.pgwire.running import Running
from wire.errors import FeatureNotSupported, ProgramLimitExceeded, SqlError, SqlSyntaxError

#: Runs a call that translates a text of so many characters: `StatementParser.translate`.
Translate = Callable[[Callable[[], Asked], int], Awaitable[Asked]]


async def answer(running: Running, result: Result, rows_max: int, translate: Translate) -> Ending:
    """Run the statement of a result, to which its pages are given. rows_max: of a result; 0: without limit."""
    running.start_clock()
    characters = len(result.text) + sum(map(len, result.prepared.values()))
    asked = await translate(lambda: understand(result.text, result.prepared), characters)
    if asked.sql is None:
        return _set(running, asked)
    try:
        return await _execute(running, result, asked, asked.sql, rows_max)
    except SqlError as error:
        if asked.sql != result.text:
            error.position = None  # it refers to PostgreSQL's SQL, which the client has not seen
        raise


async def _execute(running: Running, result: Result, asked: Asked, sql: str, rows_max: int) -> Ending:
    running.log.on_message(sql)
    running.read(sql)
    result.record = running.record
    statement = _only_one(await running.commands.engine.parse(sql))
    running.note_parsed()
    running.log.simple((statement,))
    running.begin(sql)
    running.require_usable(statement)
    command = await running.commands.prepare_simple(statement)
    portal = Portal("", command, running.commands.columns(command))
    await running.open(portal)
    note_plan(result)
    if portal.columns is not None:
        await _give_rows(running, portal, result, rows_max)
    written = await _run_copy(portal)
    tag = portal.tag(written)
    running.active = None
    await portal.close()
    running.stop_clock()
    await running.log_slow_plan(portal)
    # Commit before the ending is reported, so that a failed commit is reported instead.
    await running.commands.transaction.finish_statement()
    running.complete(portal, tag)
    running.log.simple_done()
    return Ending(headers=asked.headers) if portal.columns is not None else _ending_of(tag, asked)


async def _give_rows(running: Running, portal: Portal, result: Result, rows_max: int) -> None:
    assert portal.columns is not None
    run, page_bytes = portal.running_cursor.run(None), running.settings.now.page_bytes
    result.describe(portal.columns)
    while (batch := await run.next_batch()) is not None:
        _require_within(run.rows, rows_max)
        rows_per_page = rows_within(batch, page_bytes)
        for start in range(0, batch.num_rows, rows_per_page):
            await result.give(portal.columns, batch.slice(start, rows_per_page))


def _require_within(rows: int, rows_max: int) -> None:
    if 0 < rows_max < rows:
        raise ProgramLimitExceeded(
            f"the result has more than {rows_max} rows",
            detail="Over HTTP no more are given.",
            hint="Add a LIMIT, or read it over the PostgreSQL protocol. The limit is http.rows_max.",
        )


def _set(running: Running, asked: Asked) -> Ending:
    """Apply SET SESSION to this session; the client's headers carry it to later sessions."""
    for name, value in asked.settings:
        running.commands.engine.settings.set(name, value)
    return Ending(kind=asked.kind, headers=asked.headers)


def _only_one(statements: Sequence[Statement]) -> Statement:
    if len(statements) != 1:
        raise SqlSyntaxError("expected one statement")
    return statements[0]


async def _run_copy(portal: Portal) -> int:
    """Run a COPY between tables and files. A COPY between table and client is refused, since HTTP has no subprotocol
    for it.
    """
    match portal.execution:
        case CopiedFiles() | CopiedFolder() as execution:
            return await execution.write()
        case CopyFromExecution() | CopyToExecution():
            raise FeatureNotSupported(
                "not supported: this COPY over HTTP", hint="Use the PostgreSQL protocol, or FORMAT parquet with a file."
            )
    return 0


def _ending_of(tag: str, asked: Asked) -> Ending:
    """Translate a command tag into Trino's terms: `INSERT 0 5` is INSERT, of 5 rows."""
    words = tag.split()
    counts = [int(word) for word in words if word.isdigit()]
    kind = " ".join(word for word in words if not word.isdigit())
    return Ending(kind=kind, count=counts[-1] if counts else None, headers=asked.headers)
