"""tsvector, carried as the text that PostgreSQL prints: distinct lexemes in order, with their positions and weights in
order.

Two values are equal exactly if their texts are; `engine.executors.local.sort_keys` defines their order. The reader of
words is shared with tsquery (`wire.types.text_search_queries`).

Source: PostgreSQL 15, tsvector_parser.c (gettoken_tsvector), tsvector.c (tsvectorin, uniquePos, tsvectorout,
tsvectorsend).
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator
from typing import Final

from wire.errors import InvalidBinaryRepresentation, ProgramLimitExceeded, SqlSyntaxError
from wire.types.client_encodings import from_client

BLANKS: Final = " \t\n\r\v\f"
DIGITS: Final = "0123456789"
_OPERATORS: Final = "!&|()<"
#: The maximum number of bytes of a lexeme, and of a whole value.
WORD_BYTES: Final = 2046
TEXTS_BYTES: Final = (1 << 20) - 1
_PLACES, _PLACE_LAST = 256, 16383
_WEIGHTS: Final = {"a": 3, "A": 3, "*": 3, "b": 2, "B": 2, "c": 1, "C": 1, "d": 0, "D": 0}
_LETTERS: Final = ("", "C", "B", "A")
_PLAIN: Final = re.compile(r"'((?:[^'\\]|''|\\\\)*)'(?::([\d,ABC]+))?(?: |$)", re.DOTALL)

#: A position and its weight, 0 to 3 for D to A.
Place = tuple[int, int]
#: A word and its positions; empty if no positions are given.
Entry = tuple[str, list[Place]]


class Words:
    """Reads words from a tsvector or a tsquery. at: the current position."""

    def __init__(self, text: str, kind: str) -> None:
        self.text, self.at = text, 0
        self._kind = kind

    def wrong(self) -> SqlSyntaxError:
        return SqlSyntaxError(f'syntax error in {self._kind}: "{self.text}"')

    def here(self) -> str:
        """Return the next character; an empty string at the end."""
        return self.text[self.at : self.at + 1]

    def word(self) -> str | None:
        """Return the next word without quotes; None at the end. Raises SqlSyntaxError."""
        while (first := self.here()) and first in BLANKS:
            self.at += 1
        if not first:
            return None
        if first == "'":
            return self._read_quoted()
        if self._ends(first):
            raise self.wrong()
        found = list[str]()
        while (here := self.here()) and here not in BLANKS and not self._ends(here) and (here != ":" or not found):
            found.append(self._read_escaped() if here == "\\" else here)
            self.at += 1
        return "".join(found)

    def _ends(self, character: str) -> bool:
        return self._kind == "tsquery" and character in _OPERATORS

    def _read_escaped(self) -> str:
        self.at += 1
        if not self.here():
            raise SqlSyntaxError(f'there is no escaped character: "{self.text}"')
        return self.here()

    def _read_quoted(self) -> str:
        found = list[str]()
        while True:
            self.at += 1
            here = self.here()
            if not here:
                raise self.wrong()
            if here == "'":
                self.at += 1
                if self.here() != "'":
                    break
            found.append(self._read_escaped() if here == "\\" else here)
        if not found:
            raise self.wrong()
        return "".join(found)


def read_tsvector(text: str) -> str:
    """Return the canonical text. Raises SqlSyntaxError, ProgramLimitExceeded."""
    words, entries, size = Words(text, "tsvector"), dict[str, list[Place]](), 0
    while (word := words.word()) is not None:
        length = len(word.encode())
        if length > WORD_BYTES:
            raise ProgramLimitExceeded(f"word is too long ({length} bytes, max {WORD_BYTES} bytes)")
        _check_size(size)
        size += length
        places = list(_places(words)) if words.here() == ":" else []
        entries.setdefault(word, []).extend(places)
    unique = [(word, _unique(entries[word])) for word in sorted(entries, key=str.encode)]
    _check_size(texts_bytes(unique))
    return _write_entries(unique)


def _check_size(size: int) -> None:
    if size > TEXTS_BYTES:
        raise ProgramLimitExceeded(f"string is too long for tsvector ({size} bytes, max {TEXTS_BYTES} bytes)")


def _places(words: Words) -> Iterator[Place]:
    """Yield the positions after a word and its colon. Digits after a weight are ignored."""
    more = True
    while more:
        words.at += 1
        begin = words.at
        while (here := words.here()) and here in DIGITS:
            words.at += 1
        if begin == words.at:
            raise words.wrong()
        place, weight = _place(words.text[begin : words.at]), 0
        if place == 0:
            raise SqlSyntaxError(f'wrong position info in tsvector: "{words.text}"')
        while (here := words.here()) and here not in BLANKS and here != ",":
            if here not in DIGITS:
                if here not in _WEIGHTS or weight:
                    raise words.wrong()
                weight = _WEIGHTS[here]
            words.at += 1
        more = here == ","
        yield place, weight


def _place(digits: str) -> int:
    """Read a position as C's atoi does, limited to its fourteen bits."""
    number = min(int(digits.lstrip("0")[:20] or "0"), 2**63 - 1) & 0xFFFFFFFF
    return _PLACE_LAST if _PLACE_LAST < number < 1 << 31 else number & _PLACE_LAST


def _unique(places: list[Place]) -> list[Place]:
    """Return each position once, with the highest weight that it was given, and no more positions than a lexeme may
    have.
    """
    found: list[Place] = []
    for place, weight in sorted(places, key=lambda given: given[0]):
        if not found or found[-1][0] != place:
            found.append((place, weight))
            if len(found) == _PLACES or (len(found) > 1 and place == _PLACE_LAST):
                break
        elif weight > found[-1][1]:
            found[-1] = (place, weight)
    return found


def quote_word(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _write_entries(entries: list[Entry]) -> str:
    """Write entries as tsvectorout does."""
    return " ".join(
        quote_word(word) + (":" if places else "") + ",".join(f"{place}{_LETTERS[weight]}" for place, weight in places)
        for word, places in entries
    )


def entries_of(text: str) -> list[Entry]:
    """Read the entries of a canonical text."""
    return [(_bare(found[1]), _read_places(found[2])) for found in _PLAIN.finditer(text)]


def _bare(word: str) -> str:
    return word.replace("''", "'").replace("\\\\", "\\")


def _read_places(places: str | None) -> list[Place]:
    shown = places.split(",") if places else ()
    return [(int(one.rstrip("ABC")), _WEIGHTS.get(one[-1], 0)) for one in shown]


def texts_bytes(entries: list[Entry]) -> int:
    """Return the number of bytes that PostgreSQL needs for the words and positions of a value; positions begin at even
    bytes.
    """
    size = 0
    for word, places in entries:
        size += len(word.encode())
        if places:
            size += size % 2 + 2 + 2 * len(places)
    return size


def send_tsvector(text: str) -> bytes:
    entries = entries_of(text)
    sent = [struct.pack("!i", len(entries))]
    for word, places in entries:
        packed = [weight << 14 | place for place, weight in places]
        sent.append(word.encode() + b"\0" + struct.pack(f"!H{len(packed)}H", len(packed), *packed))
    return b"".join(sent)


class Received:
    """A reader of a binary value. Raises InvalidBinaryRepresentation if the value ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        size = struct.calcsize(layout)
        if self._at + size > len(self._data):
            raise InvalidBinaryRepresentation("insufficient data left in message")
        self._at += size
        return struct.unpack_from(layout, self._data, self._at - size)

    def word(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise InvalidBinaryRepresentation("invalid string in message")
        found = from_client(self._data[self._at : end], "UTF8")
        if end - self._at > WORD_BYTES:
            raise InvalidBinaryRepresentation("invalid lexeme: too long")
        self._at = end + 1
        return found

    def end(self) -> None:
        if self._at != len(self._data):
            raise InvalidBinaryRepresentation("incorrect binary data format")


def receive_tsvector(data: bytes) -> str:
    """Return the canonical text of a binary value. Raises InvalidBinaryRepresentation."""
    received, entries = Received(data), list[Entry]()
    for _ in range(received.numbers("!I")[0]):
        word = received.word()
        (count,) = received.numbers("!H")
        if count > _PLACES:
            raise InvalidBinaryRepresentation("unexpected number of tsvector positions")
        places = [(one & _PLACE_LAST, one >> 14) for one in received.numbers(f"!{count}H")]
        if any(after[0] <= before[0] for before, after in itertools.pairwise(places)):
            raise InvalidBinaryRepresentation("position information is misordered")
        entries.append((word, places))
    received.end()
    entries.sort(key=lambda entry: entry[0].encode())
    if any(before[0] == after[0] for before, after in itertools.pairwise(entries)):
        raise InvalidBinaryRepresentation("invalid tsvector: a lexeme is there twice")
    if any(not word or (places and not places[0][0]) for word, places in entries) or texts_bytes(entries) > TEXTS_BYTES:
        raise InvalidBinaryRepresentation("invalid tsvector: no such lexeme or position")
    return _write_entries(entries)
