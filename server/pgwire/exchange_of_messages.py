"""The part of a session that both query protocols use to answer a message: it runs portals and reports their results.

`server.pgwire.simple_query` and `server.pgwire.extended_query` decide what is answered. `server.pgwire.session` owns
this object and, after an error, cleans up by the state that it has recorded (`server.pgwire.running`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from server.cursors.cursor import Run
from server.cursors.portal import Portal
from server.logs.lines import Origin
from server.monitor.records import SessionRecords
from server.pgwire.client_stream import ClientStream
from server.pgwire.loop_turn import LoopTurn
from server.pgwire.progress import ProgressReports, progress_line
from server.pgwire.results import row_encoder, send_rows
from server.pgwire.running import Running
from server.pgwire.statement_counts import StatementCounts
from server.pgwire.waiting_rows import PipelinedRows
from server.session.commands import Commands
from server.session.session_settings import SettingsView
from server.session.statement_statistics import StatementStatistics
from wire.errors import Notice, SqlError
from wire.pg import messages as m


class Exchange(Running):
    """See the module's docstring. stream: the client's."""

    def __init__(
        self,
        stream: ClientStream,
        commands: Commands,
        settings: SettingsView,
        interrupt: Callable[[SqlError], None],
        others: Callable[[], int],
        counts: StatementCounts,
        records: SessionRecords,
        statistics: StatementStatistics,
        origin: Callable[[], Origin],
    ) -> None:
        super().__init__(commands, settings, interrupt, others, counts, records, statistics, origin)
        self.stream = stream
        self.loop_turn = LoopTurn(stream)
        self._reports = ProgressReports(self._report)
        #: Executions that wait for those that follow them (`server.pgwire.pipelined_rows`).
        self.rows: PipelinedRows | None = None

    @property
    def now_micros(self) -> int:
        """The start of the transaction, in microseconds since 1970: the meaning of 'now' in a parameter."""
        return int((self.transaction_start or time.time()) * 1_000_000)

    def send(self, message: m.BackendMessage) -> None:
        """Send a message to the client, after the answers of pipelined executions that wait."""
        if self.rows is not None:
            self.rows.answers.append(message)
        else:
            self.stream.send(message)

    # -- running -------------------------------------------------------------------------------------------------

    def begin(self, text: str, *, shared: bool = False) -> None:
        super().begin(text, shared=shared)
        self._reports.start(self.settings.now.progress)

    def stop_clock(self) -> None:
        super().stop_clock()
        self._reports.stop()

    async def _report(self) -> None:
        """Send a notice of the statement's progress, unless the client is slow to read."""
        progress = await self.commands.engine.progress()
        if not self.stream.is_congested:
            self.notice(Notice(progress_line(progress, self.active, self.seconds)))

    async def open(self, portal: Portal) -> None:
        await super().open(portal)
        self.apply_encoding()

    async def send_rows(self, portal: Portal, run: Run) -> int:
        """Send the rows of a movement over a portal. Returns their number."""
        assert portal.columns is not None
        view = self.settings.now
        columns, formats = portal.columns, portal.formats
        encoder = portal.command.encoder.get(
            columns, (view.output, formats), lambda: row_encoder(columns, formats, view.output)
        )
        return await send_rows(self.stream, encoder, run, view.page_bytes)

    def apply_encoding(self) -> None:
        """Apply `client_encoding` to messages, beginning with the statement that changed it."""
        self.stream.connection.set_client_encoding(self.settings.now.client_encoding)

    # -- answering -----------------------------------------------------------------------------------------------

    def notice(self, notice: Notice) -> None:
        """Log a notice, and send it at once if the client wants its severity and the protocol allows it."""
        self.log.notice(notice)
        if self.settings.wants(notice.severity) and self.stream.connection.allows(m.NoticeResponse):
            self.send(m.NoticeResponse(notice))

    def tell_notifications(self) -> None:
        """Send pending notifications, unless a transaction is open or the client is slow to read."""
        heard = self.commands.notifications
        while not self.commands.block.open and not self.stream.is_congested and (one := heard.take()) is not None:
            self.send(m.NotificationResponse(one.pid, one.channel, one.payload))

    def tell_settings(self) -> None:
        self.apply_encoding()
        self.settings.tell_changes(lambda name, value: self.send(m.ParameterStatus(name, value)))

    def ready(self) -> None:
        """End the command: send changed settings, pending notifications, and ReadyForQuery with the transaction's
        status.
        """
        self.over()
        self.tell_settings()
        if not self.commands.block.open:
            self.tell_notifications()
        self.send(m.ReadyForQuery(self.commands.block.status))
