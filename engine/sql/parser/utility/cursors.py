"""DECLARE, FETCH, MOVE and CLOSE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from engine.sql.parser.grammar.tail_clauses import strength_of
from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.statements import CloseCursor, DeclareCursor, Fetch, Statement
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import FeatureNotSupported, InvalidCursorDefinition

_Direction = Literal["forward", "backward", "absolute", "relative"]
_Movement = tuple[_Direction, int | None]

#: The directions that consist of one word.
_SINGLE: Final[dict[str, _Movement]] = {
    "next": ("forward", 1),
    "prior": ("backward", 1),
    "first": ("absolute", 1),
    "last": ("absolute", -1),
    "all": ("forward", None),
}


def _declare(reader: StatementReader) -> Statement:
    reader.next()
    name = reader.name()
    binary, insensitive, asensitive, scroll = False, False, False, set[bool]()
    while not reader.take("cursor"):
        if reader.take("binary"):
            binary = True
        elif reader.take("no", "scroll"):
            scroll.add(False)
        elif reader.take("scroll"):
            scroll.add(True)
        elif reader.take("insensitive"):
            insensitive = True
        elif reader.take("asensitive"):
            asensitive = True
        else:
            reader.fail()
    hold = reader.take("with", "hold")
    if not hold:
        reader.take("without", "hold")
    if len(scroll) == 2:
        raise InvalidCursorDefinition("cannot specify both SCROLL and NO SCROLL")
    if insensitive and asensitive:
        raise InvalidCursorDefinition("cannot specify both ASENSITIVE and INSENSITIVE")
    reader.expect("for")
    if not reader.query_at():
        reader.fail()
    query = reader.query_statement()
    for clause in query.tree.args.get("locks") or ():
        _refuse_locks(strength_of(clause), hold=hold, scroll=True in scroll, insensitive=insensitive)
    return DeclareCursor(name=name, query=query, binary=binary, hold=hold, scroll=next(iter(scroll), None), text="")


def _refuse_locks(strength: str, *, hold: bool, scroll: bool, insensitive: bool) -> None:
    """Refuse FOR UPDATE in a cursor with these options (analyze.c: transformDeclareCursorStmt)."""
    if hold:
        raise FeatureNotSupported(
            f"DECLARE CURSOR WITH HOLD ... {strength} is not supported", detail="Holdable cursors must be READ ONLY."
        )
    if scroll:
        raise FeatureNotSupported(
            f"DECLARE SCROLL CURSOR ... {strength} is not supported", detail="Scrollable cursors must be READ ONLY."
        )
    if insensitive:
        raise InvalidCursorDefinition(
            f"DECLARE INSENSITIVE CURSOR ... {strength} is not valid", detail="Insensitive cursors must be READ ONLY."
        )


def _fetch(reader: StatementReader) -> Statement:
    move = reader.next().text == "move"
    direction, count = _movement(reader)
    if not reader.take("from"):
        reader.take("in")
    return Fetch(cursor=reader.name(), direction=direction, count=count, move=move, text="")


def _movement(reader: StatementReader) -> _Movement:
    if reader.number_at():
        return "forward", reader.integer()
    token = reader.token
    if token.kind is not Kind.WORD or _is_cursor(reader):
        return "forward", 1
    if token.text in _SINGLE:
        reader.next()
        return _SINGLE[token.text]
    match token.text:
        case "absolute" | "relative":
            reader.next()
            return ("absolute" if token.text == "absolute" else "relative"), reader.integer()
        case "forward" | "backward":
            reader.next()
            return ("forward" if token.text == "forward" else "backward"), _count(reader)
    return "forward", 1


def _is_cursor(reader: StatementReader) -> bool:
    """Return whether the word is the statement's last: it then names a cursor, whatever it is."""
    return reader.peek().kind is Kind.END or reader.symbol_at(";", ahead=1)


def _count(reader: StatementReader) -> int | None:
    if reader.take("all"):
        return None
    return reader.integer() if reader.number_at() else 1


def _close(reader: StatementReader) -> Statement:
    reader.next()
    if reader.take("all"):
        return CloseCursor(name=None, text="")
    return CloseCursor(name=reader.name(), text="")


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {
    "declare": _declare,
    "fetch": _fetch,
    "move": _fetch,
    "close": _close,
}
