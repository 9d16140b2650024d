"""LISTEN, UNLISTEN and NOTIFY."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.statements import Listen, Notify, Statement, Unlisten
from engine.sql.parser.utility.reader import StatementReader


def _listen(reader: StatementReader) -> Statement:
    reader.next()
    return Listen(channel=reader.name(), text="")


def _unlisten(reader: StatementReader) -> Statement:
    reader.next()
    return Unlisten(channel=None if reader.take_symbol("*") else reader.name(), text="")


def _notify(reader: StatementReader) -> Statement:
    reader.next()
    channel, payload = reader.name(), ""
    if reader.take_symbol(","):
        payload = reader.expect_kind(Kind.STRING).text
    return Notify(channel=channel, payload=payload, text="")


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {
    "listen": _listen,
    "unlisten": _unlisten,
    "notify": _notify,
}
