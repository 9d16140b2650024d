"""The lexer: tokens of PostgreSQL's SQL, split exactly as its scanner splits them (scan.l).

The grammar (`engine.sql.parser.grammar`) and the utility statements (`engine.sql.parser.utility`) build on it. It
resolves escapes, folds names and records the position of each token; it knows no keyword. Tokens keep their source
extent, since a syntax error quotes the token as it was written.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable
from typing import Final

from engine.common.interrupts import check_for_interrupts
from wire.common.digits import is_digits
from wire.dataclass import dataclass
from wire.errors import CharacterNotInRepertoire, InvalidEscapeSequence, SqlSyntaxError

#: Names are truncated to this many bytes, with a notice (NAMEDATALEN - 1).
NAME_BYTES_MAX: Final = 63
#: The number of texts whose tokens are kept, and their maximum length: a statement is read when it is parsed, and again
#: when it is counted (`engine.sql.fingerprint`).
_READ_ONCE: Final = 64
_READ_ONCE_CHARACTERS: Final = 2048

_UPPER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


class Kind(enum.Enum):
    WORD = "word"
    NAME = "quoted name"
    STRING = "string"
    NATIONAL = "national string"
    BITS = "bit string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    PARAMETER = "parameter"
    OPERATOR = "operator"
    END = "end of input"


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the source.

    text: a word in lower case, a string with its escapes resolved, an operator's symbol, a number's digits. start, end:
    its extent in the source.
    """

    kind: Kind
    text: str
    start: int
    end: int


def tokenize(sql: str, notice: Callable[[str], None] = lambda _message: None, *, escapes: bool = False) -> list[Token]:
    """Return all tokens, with an END last. escapes: whether plain strings have escapes (standard_conforming_strings
    off). Raises SqlSyntaxError with the position and the text at fault.
    """
    if escapes or len(sql) > _READ_ONCE_CHARACTERS:
        return _Lexer(sql, notice, escapes).run()
    tokens, notices = _read_once(sql)
    for message in notices:
        notice(message)
    return list(tokens)


@functools.lru_cache(_READ_ONCE)
def _read_once(sql: str) -> tuple[tuple[Token, ...], tuple[str, ...]]:
    """Return a text's tokens and notices."""
    notices: list[str] = []
    tokens = tuple(_Lexer(sql, notices.append, escapes=False).run())
    return tokens, tuple(notices)


def fold(name: str) -> str:
    """Fold an unquoted name to lower case: ASCII letters only, as in a UTF-8 database."""
    return name.translate(_UPPER)


#: Patterns here are possessive, so that they do not backtrack. A comment ends at the end of its line and not before;
#: with a choice of ends, a line of dashes could be split into comments in exponentially many ways.
_SPACE: Final = re.compile(r"(?:[ \t\n\r\f]++|--[^\n\r]*+)++")
#: A letter (A-Z, a-z, _, all beyond ASCII), a letter or a digit, a letter or a digit or $. These are negated sets,
#: because `re` takes milliseconds to compile a range to the end of Unicode.
_LETTER: Final = r"[^\0-@[-^`{-\x7f]"
_LETTER_OR_DIGIT: Final = r"[^\0-/:-@[-^`{-\x7f]"
_WORD_CHARACTER: Final = r"[^\0-#%-/:-@[-^`{-\x7f]"
_WORD: Final = re.compile(rf"{_LETTER}{_WORD_CHARACTER}*")
_NUMBER: Final = re.compile(r"(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[Ee][-+]?\d+)?")
_JUNK: Final = re.compile(rf"[Ee][-+]|{_LETTER}{_WORD_CHARACTER}*")
_PARAMETER: Final = re.compile(r"\$(\d+)")
_DOLLAR: Final = re.compile(rf"\$(?:{_LETTER}{_LETTER_OR_DIGIT}*)?\$")
#: Characters that may begin white space or a comment.
_BEFORE_TOKENS: Final = frozenset(" \t\n\r\f-/")
#: Characters that end most parameters, so that no further checks are needed.
_ENDING: Final = frozenset(",) ")
_OPERATOR: Final = re.compile(r"[~!@#^&|`?+\-*/%<>=]+")
_SELF: Final = frozenset(",()[].;:+-*/%^<>=")
_CONTINUED: Final = re.compile(r"(?:[ \t\f]++|--[^\n\r]*+)*+[\n\r](?:[ \t\n\r\f]++|--[^\n\r]*+[\n\r])*+'")
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL
)
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UESCAPE: Final = re.compile(
    r"(?:[ \t\n\r\f]++|--[^\n\r]*+)*+uescape(?:[ \t\n\r\f]++|--[^\n\r]*+)*+'([^'])'", re.IGNORECASE
)


class _Lexer:
    def __init__(self, sql: str, notice: Callable[[str], None], escapes: bool) -> None:
        self._sql = sql
        self._escapes = escapes
        self._at = 0
        self._notice = notice
        #: The end of the signs that follow an operator and are no part of it: each is a token of its own.
        self._signs_end = 0

    def run(self) -> list[Token]:
        tokens = []
        self._skip()
        while self._at < len(self._sql):
            check_for_interrupts()
            tokens.append(self._next())
            if self._sql[self._at : self._at + 1] in _BEFORE_TOKENS:
                self._skip()
        tokens.append(Token(Kind.END, "", len(self._sql), len(self._sql)))
        return tokens

    def _skip(self) -> None:
        """Skip white space and comments; block comments nest."""
        while True:
            if (found := _SPACE.match(self._sql, self._at)) is not None:
                self._at = found.end()
            if not self._sql.startswith("/*", self._at):
                return
            self._block_comment()

    def _block_comment(self) -> None:
        start, depth = self._at, 0
        for mark in re.compile(r"/\*|\*/").finditer(self._sql, start):
            depth += 1 if mark[0] == "/*" else -1
            if depth == 0:
                self._at = mark.end()
                return
        raise self._error("unterminated /* comment", start)

    def _next(self) -> Token:
        sql, start = self._sql, self._at
        char = sql[start]
        if char in ",()":
            return self._token(Kind.OPERATOR, char, start, start + 1)
        if char == "$":
            return self._dollar(start)
        if char == "'":
            return self._quoted_string(Kind.STRING, start, start, escapes=self._escapes)
        if char == '"':
            return self._name(start, start)
        if (special := self._prefixed_string(char, start)) is not None:
            return special
        if (word := _WORD.match(sql, start)) is not None:
            return self._token(Kind.WORD, self._cut(fold(word[0])), start, word.end())
        if is_digits(char) or (char == "." and is_digits(sql[start + 1 : start + 2])):
            return self._number(start)
        return self._operator(start)

    def _token(self, kind: Kind, text: str, start: int, end: int) -> Token:
        self._at = end
        return Token(kind, text, start, end)

    def _prefixed_string(self, char: str, start: int) -> Token | None:
        """Read E'', B'', X'', N'', U&'' or U&""; None if the letter begins a word."""
        following = self._sql[start + 1 : start + 3]
        if char in "uU" and following[:1] == "&" and following[1:] in ("'", '"'):
            return self._unicode(start)
        if following[:1] != "'":
            return None
        if char in "eE":
            return self._quoted_string(Kind.STRING, start, start + 1, escapes=True)
        if char in "nN":
            return self._quoted_string(Kind.NATIONAL, start, start + 1, escapes=self._escapes)
        if char in "bBxX":
            return self._quoted_string(Kind.BITS, start, start + 1)
        return None

    def _quoted_string(self, kind: Kind, start: int, quote: int, *, escapes: bool = False) -> Token:
        """Read a string from its opening quote, with its continuations on further lines."""
        raw, end = self._text_between(quote, "'", escapes, "unterminated quoted string", start)
        while (continued := _CONTINUED.match(self._sql, end)) is not None:
            more, end = self._text_between(continued.end() - 1, "'", escapes, "unterminated quoted string", start)
            raw += more
        text = self._unescape(raw, quote + 1) if escapes else raw
        return self._token(kind, text, start, end)

    def _text_between(self, quote: int, mark: str, escapes: bool, what: str, start: int) -> tuple[str, int]:
        """Read the text between two quotes, with doubled quotes reduced to one; return it and its end."""
        sql, at, parts = self._sql, quote + 1, []
        while True:
            end = self._find_closing(at, mark, escapes)
            if end < 0:
                raise self._error(what, start)
            parts.append(sql[at:end])
            if sql[end + 1 : end + 2] != mark:
                return mark.join(parts), end + 1
            at = end + 2

    def _find_closing(self, at: int, mark: str, escapes: bool) -> int:
        if not escapes:
            return self._sql.find(mark, at)
        while at < len(self._sql):
            if self._sql[at] == "\\":
                at += 2
            elif self._sql[at] == mark:
                return at
            else:
                at += 1
        return -1

    def _unescape(self, raw: str, start: int) -> str:
        """Resolve the backslashes of an E'' string; octal and hexadecimal escapes give bytes, which must be UTF-8."""
        if "\\" not in raw:
            return raw
        parts: list[bytes] = []
        at = 0
        for found in _ESCAPE.finditer(raw):
            parts.append(raw[at : found.start()].encode("utf-8", "surrogatepass"))
            parts.append(self._unescape_match(found, start))
            at = found.end()
        parts.append(raw[at:].encode("utf-8", "surrogatepass"))
        joined = b"".join(parts)
        if b"\0" in joined:
            raise CharacterNotInRepertoire('invalid byte sequence for encoding "UTF8": 0x00')
        try:
            return joined.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            bad = " ".join(f"0x{b:02x}" for b in joined[error.start : error.end])
            raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {bad}') from None

    def _unescape_match(self, found: re.Match[str], start: int) -> bytes:
        octal, hexadecimal, short, long, plain = found.groups()
        if octal is not None:
            return bytes([int(octal, 8) & 0xFF])
        if hexadecimal is not None:
            return bytes([int(hexadecimal, 16)])
        if short is not None or long is not None:
            return self._code_point(int(short or long, 16), start + found.start()).encode("utf-8", "surrogatepass")
        if plain in "uU":
            raise InvalidEscapeSequence(
                "invalid Unicode escape",
                hint="Unicode escapes must be \\uXXXX or \\UXXXXXXXX.",
                position=start + found.start() + 1,
            )
        return _ESCAPED.get(plain, plain).encode("utf-8", "surrogatepass")

    def _code_point(self, code: int, at: int) -> str:
        if not 0 < code <= 0x10FFFF:
            raise SqlSyntaxError("invalid Unicode escape value", position=at + 1)
        return chr(code)

    def _unicode(self, start: int) -> Token:
        """Read U&'...' or U&"..." with an optional UESCAPE 'c' after it."""
        mark = self._sql[start + 2]
        string = mark == "'"
        what = "unterminated quoted string" if string else "unterminated quoted identifier"
        raw, end = self._text_between(start + 2, mark, False, what, start)
        escape = "\\"
        if (chosen := _UESCAPE.match(self._sql, end)) is not None:
            escape, end = chosen[1], chosen.end()
            if escape in "0123456789abcdefABCDEF+\"' \t\n\r\f":
                quoted = self._sql[chosen.start(1) - 1 : chosen.end(1) + 1]
                message = f'invalid Unicode escape character at or near "{quoted}"'
                raise SqlSyntaxError(message, position=chosen.start(1))
        text = self._unicode_escapes(raw, escape, start + 3)
        if string:
            return self._token(Kind.STRING, text, start, end)
        return self._token(Kind.NAME, self._cut(text), start, end)

    def _unicode_escapes(self, raw: str, escape: str, start: int) -> str:
        e = re.escape(escape)
        pattern = re.compile(rf"{e}(?:({e})|([0-9A-Fa-f]{{4}})|\+([0-9A-Fa-f]{{6}})|(?P<bad>))")

        def resolve(found: re.Match[str]) -> str:
            doubled, short, long, _ = found.groups()
            if doubled is not None:
                return escape
            if short is None and long is None:
                raise SqlSyntaxError(
                    "invalid Unicode escape",
                    hint="Unicode escapes must be \\XXXX or \\+XXXXXX.",
                    position=start + found.start() + 1,
                )
            return self._code_point(int(short or long, 16), start + found.start())

        text = pattern.sub(resolve, raw)
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise SqlSyntaxError("invalid Unicode surrogate pair", position=start) from None

    def _name(self, start: int, quote: int) -> Token:
        text, end = self._text_between(quote, '"', False, "unterminated quoted identifier", start)
        if not text:
            raise SqlSyntaxError('zero-length delimited identifier at or near """"', position=start + 1)
        return self._token(Kind.NAME, self._cut(text), start, end)

    def _cut(self, name: str) -> str:
        """Truncate a name to NAME_BYTES_MAX bytes."""
        encoded = name.encode("utf-8", "surrogatepass")
        if len(encoded) <= NAME_BYTES_MAX:
            return name
        short = encoded[:NAME_BYTES_MAX].decode("utf-8", "ignore")
        self._notice(f'identifier "{name}" will be truncated to "{short}"')
        return short

    def _number(self, start: int) -> Token:
        found = _NUMBER.match(self._sql, start)
        assert found is not None
        junk = _JUNK.match(self._sql, found.end())
        if junk is not None:
            raise self._error("trailing junk after numeric literal", start, junk.end())
        kind = Kind.INTEGER if found[0].isdecimal() else Kind.DECIMAL
        return self._token(kind, found[0], start, found.end())

    def _dollar(self, start: int) -> Token:
        if (parameter := _PARAMETER.match(self._sql, start)) is not None:
            end = parameter.end()
            follows = self._sql[end : end + 1]
            if follows not in _ENDING and (junk := _JUNK.match(self._sql, end)) is not None:
                raise self._error("trailing junk after parameter", start, junk.end())
            return self._token(Kind.PARAMETER, parameter[1], start, end)
        tag = _DOLLAR.match(self._sql, start)
        if tag is None:
            raise self._error("syntax error", start, start + 1)
        end = self._sql.find(tag[0], tag.end())
        if end < 0:
            raise self._error("unterminated dollar-quoted string", start)
        return self._token(Kind.STRING, self._sql[tag.end() : end], start, end + len(tag[0]))

    def _operator(self, start: int) -> Token:
        sql = self._sql
        if start < self._signs_end:
            return self._token(Kind.OPERATOR, sql[start], start, start + 1)
        for fixed in ("::", "..", ":="):
            if sql.startswith(fixed, start):
                return self._token(Kind.OPERATOR, fixed, start, start + 2)
        found = _OPERATOR.match(sql, start)
        if found is None:
            if sql[start] in _SELF:
                return self._token(Kind.OPERATOR, sql[start], start, start + 1)
            raise self._error("syntax error", start, start + 1)
        symbol = found[0]
        for comment in ("--", "/*"):
            symbol = symbol.split(comment, 1)[0] if comment in symbol else symbol
        if symbol[-1] in "+-" and not any(c in "~!@#^&|`?%" for c in symbol):
            self._signs_end = start + len(symbol)
            symbol = symbol[0] + symbol[1:].rstrip("+-")
        return self._token(Kind.OPERATOR, "<>" if symbol == "!=" else symbol, start, start + len(symbol))

    def _error(self, what: str, start: int, end: int | None = None) -> SqlSyntaxError:
        return SqlSyntaxError(f'{what} at or near "{self._sql[start:end]}"', position=start + 1)
