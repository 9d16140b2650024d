"""The steps from a new socket to a session: encryption, protocol version, parameters, authentication.

The startup packet is checked here in PostgreSQL's order and refused with PostgreSQL's errors; the settings in it are
left to the engine, which knows them. Cancel requests also come as startup packets and end here.

Source: PostgreSQL 15, 55.2.1 "Start-up"; postmaster.c (ProcessStartupPacket), postinit.c (process_startup_options,
pg_split_opts), postgres.c (process_postgres_switches).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from engine.catalog.model.objects import DATABASE
from server.auth.beginning import Beginning
from server.auth.client_tls import ClientTls
from server.pgwire.client_stream import ClientStream
from wire.errors import (
    FatalError,
    InvalidAuthorizationSpecification,
    InvalidCatalogName,
    ProtocolViolation,
    SqlError,
)
from wire.pg import messages as m
from wire.pg.auth import Authentication, Step
from wire.pg.connection import negotiate

#: The database to which clients connect that know no other name; here it is the only database.
_MAINTENANCE: Final = "postgres"
#: Startup parameters that are not settings.
_NOT_SETTINGS: Final = ("user", "database", "options", "replication")
_REPLICATION_OFF: Final = ("false", "off", "no", "0", "f", "n", "fals", "fal", "fa", "of")


async def read_startup(stream: ClientStream, tls: ClientTls | None) -> m.Startup | m.CancelRequest:
    """Return the startup packet, after answering requests for encryption.

    Raises ProtocolViolation, ClientGone, or OSError (ssl.SSLError) if the handshake fails.
    """
    while True:
        message = await stream.next_event()
        match message:
            case m.SslRequest():
                stream.send(m.EncryptionAnswer(accepted=tls is not None))
                if tls is not None:
                    await stream.start_tls(tls)
            case m.GssEncRequest():
                stream.send(m.EncryptionAnswer(accepted=False))
            case m.Startup() | m.CancelRequest():
                return message
            case _:
                raise AssertionError(f"{type(message).__name__} before the startup packet")


def check_startup(startup: m.Startup) -> tuple[Beginning, m.NegotiateProtocolVersion | None]:
    """Validate the startup packet. Returns its parameters, and the message that negotiates another protocol version if
    one is needed.

    Raises PostgreSQL's FatalErrors.
    """
    protocol, answer = negotiate(startup)
    parameters = startup.parameters
    user = parameters.get("user", "")
    if not user:
        raise InvalidAuthorizationSpecification("no PostgreSQL user name specified in startup packet")
    if "\0" in user:
        raise ProtocolViolation("invalid startup packet layout: expected terminator as last byte")
    _refuse_replication(parameters.get("replication", "false"))
    database = parameters.get("database") or user
    if database == _MAINTENANCE:
        database = DATABASE
    settings = read_options(parameters.get("options", ""))
    settings |= {
        name: value for name, value in parameters.items() if name not in _NOT_SETTINGS and not name.startswith("_pq_.")
    }
    return Beginning(protocol, user, database, settings), answer


def _refuse_replication(value: str) -> None:
    if value.lower() not in _REPLICATION_OFF:
        raise FatalError("not supported: replication connections", sqlstate="0A000")


def check_database(name: str) -> None:
    """Check that the database exists. This happens after authentication, so that unauthenticated clients do not learn
    which databases there are.
    """
    if name != DATABASE:
        raise InvalidCatalogName(f'database "{name}" does not exist')


def read_options(options: str) -> dict[str, str]:
    """Parse the settings in the `options` parameter: `-c name=value`, `-cname=value` and `--name=value`."""
    settings: dict[str, str] = {}
    words = iter(_split(options))
    for word in words:
        if word == "-c":
            assignment = next(words, None)
            if assignment is None:
                raise FatalError("option requires an argument -- 'c'", sqlstate="42601")
        elif word.startswith(("--", "-c")):
            assignment = word[2:]
        else:
            raise FatalError(f"invalid command-line argument for server process: {word}", sqlstate="42601")
        name, equals, value = assignment.partition("=")
        if not equals:
            flag = "--" if word.startswith("--") else "-c "
            raise FatalError(f"{flag}{assignment} requires a value", sqlstate="42601")
        settings[name.replace("-", "_")] = value
    return settings


def _split(options: str) -> list[str]:
    """Split at white space; a backslash escapes the next character."""
    words: list[str] = []
    word: list[str] | None = None
    characters = iter(options)
    for character in characters:
        if character.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        word = [] if word is None else word
        word.append(next(characters, "") if character == "\\" else character)
    if word is not None:
        words.append("".join(word))
    return words


async def authenticate(
    stream: ClientStream, machine: Authentication, advance: Callable[[m.PasswordMessage], Awaitable[Step]]
) -> None:
    """Run an authentication until it succeeds, which the client is not told yet. advance: returns the machine's next
    step (`server.auth.gate.Gate.advance`). Raises the machine's errors.
    """
    step = machine.begin()
    while True:
        for message in step:
            if isinstance(message, m.AuthenticationOk):
                return
            stream.send(message)
        stream.flush()
        answer = await stream.next_event()
        assert isinstance(answer, m.PasswordMessage)
        step = await advance(answer)


def as_fatal(error: SqlError) -> FatalError:
    """Convert an error to a FatalError: any error before a session has begun ends the connection."""
    if isinstance(error, FatalError):
        return error
    return FatalError(
        error.message, detail=error.detail, hint=error.hint, position=error.position, sqlstate=error.sqlstate
    )
