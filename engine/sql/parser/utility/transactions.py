"""BEGIN, COMMIT, ROLLBACK, SAVEPOINT and RELEASE, and the modes of a transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.parser.nodes.statements import Begin, Commit, Release, Rollback, RollbackTo, Savepoint, Statement
from engine.sql.parser.utility.reader import StatementReader

_LEVELS: Final = (("read", "uncommitted"), ("read", "committed"), ("repeatable", "read"), ("serializable",))


def modes(reader: StatementReader) -> tuple[tuple[str, str], ...]:
    """Read a transaction_mode_list as settings; commas between modes are optional."""
    found: list[tuple[str, str]] = []
    while True:
        mode = _mode(reader)
        if mode is None:
            return tuple(found)
        found.append(mode)
        if reader.take_symbol(",") and _mode_missing(reader):
            reader.fail()


def _mode_missing(reader: StatementReader) -> bool:
    return not reader.word_at("isolation", "read", "not", "deferrable")


def _mode(reader: StatementReader) -> tuple[str, str] | None:
    if reader.take("isolation"):
        reader.expect("level")
        for words in _LEVELS:
            if reader.take(*words):
                return "transaction_isolation", " ".join(words)
        reader.fail()
    if reader.take("read"):
        if reader.take("write"):
            return "transaction_read_only", "off"
        reader.expect("only")
        return "transaction_read_only", "on"
    if reader.take("not", "deferrable"):
        return "transaction_deferrable", "off"
    if reader.take("deferrable"):
        return "transaction_deferrable", "on"
    return None


def _work(reader: StatementReader) -> None:
    if not reader.take("work"):
        reader.take("transaction")


def _chain(reader: StatementReader) -> bool:
    if not reader.take("and"):
        return False
    chained = not reader.take("no")
    reader.expect("chain")
    return chained


def _begin(reader: StatementReader) -> Statement:
    reader.next()
    _work(reader)
    return Begin(modes=modes(reader), text="")


def _start(reader: StatementReader) -> Statement:
    reader.expect("start", "transaction")
    return Begin(modes=modes(reader), text="")


def _commit(reader: StatementReader) -> Statement:
    if reader.next().text == "commit" and reader.word_at("prepared"):
        reader.raise_unsupported("COMMIT PREPARED")
    _work(reader)
    return Commit(chain=_chain(reader), text="")


def _rollback(reader: StatementReader) -> Statement:
    word = reader.next().text
    if word == "rollback" and reader.word_at("prepared"):
        reader.raise_unsupported("ROLLBACK PREPARED")
    _work(reader)
    if word == "rollback" and reader.take("to"):
        reader.take("savepoint")
        return RollbackTo(name=reader.name(), text="")
    return Rollback(chain=_chain(reader), text="")


def _savepoint(reader: StatementReader) -> Statement:
    reader.next()
    return Savepoint(name=reader.name(), text="")


def _release(reader: StatementReader) -> Statement:
    reader.next()
    reader.take("savepoint")
    return Release(name=reader.name(), text="")


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {
    "begin": _begin,
    "start": _start,
    "commit": _commit,
    "end": _commit,
    "rollback": _rollback,
    "abort": _rollback,
    "savepoint": _savepoint,
    "release": _release,
}
