"""Fingerprints of statements: a normalised text, and an id that is the same for all statements that differ in their
constants only.

The text is what PostgreSQL's pg_stat_statements shows: constants are `$n`, numbered on from the statement's own
parameters. It is made from tokens, so it costs neither a parse nor a plan. PostgreSQL walks the analysed tree, in which
some numbers and strings are no longer constants; here these are recognised by the tokens around them and left alone:

- positions in ORDER BY and GROUP BY (`order by 1`), but not in those of aggregates and windows;
- modifiers of types (`numeric(10, 2)`), NULL, TRUE and FALSE behind IS.

The id is computed from the folded tokens and the kinds of constants. It does not depend on spaces, comments, the case
of keywords or the server. Unlike PostgreSQL's, it does not know which relation a name refers to, and two spellings of
one query (with another alias or further parentheses) have two ids.

Statements other than queries keep their text, as in PostgreSQL, except for passwords. So do texts longer than
`LONGEST`, which take long to tokenize.

Source: PostgreSQL 15, pg_stat_statements.c (generate_normalized_query, fill_in_constant_lengths).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from engine.sql.parser.lexical.lexer import Kind, Token, tokenize
from engine.sql.parser.masking import mask_passwords
from wire.dataclass import dataclass
from wire.errors import SqlError

#: The maximum number of characters of a text that is tokenized, and of a text that is shown.
LONGEST: Final = 4096

_LITERALS: Final = (Kind.STRING, Kind.NATIONAL, Kind.BITS, Kind.INTEGER, Kind.DECIMAL)
_NUMBERS: Final = (Kind.INTEGER, Kind.DECIMAL)
_CONSTANT_WORDS: Final = frozenset(("true", "false", "null"))
#: Types that have modifiers.
_MODIFIED: Final = frozenset(
    (
        "numeric", "decimal", "dec", "varchar", "char", "character", "nchar", "bpchar", "varying", "bit", "varbit",
        "timestamp", "timestamptz", "time", "timetz", "interval", "float",
    )
)  # fmt: skip
#: Words after which `-` is a sign.
_BEFORE_SIGN: Final = frozenset(
    (
        "select", "where", "and", "or", "not", "then", "else", "when", "case", "by", "limit", "offset", "in", "between", "like",
        "ilike", "return", "returning", "values", "having", "on", "from", "to", "for", "distinct", "all", "as", "is", "any",
        "some", "similar", "using", "set", "rows", "range",
    )
)  # fmt: skip
#: Words that end a list of ORDER BY or GROUP BY.
_ENDS_LIST: Final = frozenset(
    ("limit", "offset", "having", "window", "union", "intersect", "except", "fetch", "for", "order", "where")
)
_QUERIES: Final = frozenset(("select", "with", "values", "table", "insert", "update", "delete", "merge"))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A statement's fingerprint. query_id: a signed 64-bit number, never 0. text: the normalised text, without
    passwords.
    """

    query_id: int
    text: str


def fingerprint(sql: str, *, is_query: bool) -> Fingerprint:
    """Fingerprint one statement that has run, without its semicolon. is_query: whether it is a SELECT, INSERT, UPDATE,
    DELETE or MERGE.
    """
    if len(sql) > LONGEST:
        # What follows may be megabytes, and the caller is the event loop.
        return Fingerprint(_id_of((sql,)), mask_passwords(sql[:LONGEST]))
    try:
        tokens = tokenize(sql)[:-1]
    except SqlError:
        return Fingerprint(_id_of((sql,)), mask_passwords(sql))
    if not is_query:
        return Fingerprint(_id_of(token.text for token in tokens), mask_passwords(sql.strip()))
    constants = _constants(tokens)
    return Fingerprint(_id_of(_words(tokens, constants)), _normalise_constants(sql, tokens, constants))


def _id_of(words: Iterable[str]) -> int:
    digest = hashlib.blake2b("\0".join(words).encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True) or 1


def _words(tokens: Sequence[Token], constants: Sequence[tuple[int, int]]) -> Iterable[str]:
    constant_at, signs = {last for _, last in constants}, {first for first, last in constants if first < last}
    for at, token in enumerate(tokens):
        if at in constant_at:
            yield f"\0{token.kind.value}"
        elif at not in signs:
            yield f"${token.text}" if token.kind is Kind.PARAMETER else token.text


def _normalise_constants(sql: str, tokens: Sequence[Token], constants: Sequence[tuple[int, int]]) -> str:
    highest = max((_number(token) for token in tokens if token.kind is Kind.PARAMETER), default=0)
    parts, at = [], 0
    for number, (first, last) in enumerate(constants, highest + 1):
        parts += [sql[at : tokens[first].start], f"${number}"]
        at = tokens[last].end
    return "".join((*parts, sql[at:])).strip()


def _number(token: Token) -> int:
    return int(token.text.lstrip("$"))


@dataclass(slots=True)
class _Frame:
    """The text between two parentheses. is_query: whether it is a subquery. is_modifier: whether it is a type's
    modifier. in_list: whether the scan is within ORDER BY or GROUP BY.
    """

    is_query: bool
    is_modifier: bool = False
    in_list: bool = False


def _constants(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the first and the last token of each constant."""
    found: list[tuple[int, int]] = []
    frames = [_Frame(is_query=True)]
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        behind = tokens[at + 1] if at + 1 < len(tokens) else None
        frame = frames[-1]
        if token.kind is Kind.OPERATOR:
            if token.text == "(":
                frames.append(_open_frame(before, behind))
            elif token.text == ")" and len(frames) > 1:
                frames.pop()
        elif token.kind is Kind.WORD:
            if token.text == "by":
                frame.in_list = frame.is_query and _word(before) in ("order", "group")
            elif token.text in _ENDS_LIST:
                frame.in_list = False
            elif _is_constant_word(tokens, at, behind):
                found.append((at, at))
        elif token.kind in _LITERALS and not frame.is_modifier and not _is_position(token, frame, before, behind):
            found.append((at - 1 if _is_signed(tokens, at, behind) else at, at))
    return found


def _word(token: Token | None) -> str:
    return token.text if token is not None and token.kind is Kind.WORD else ""


def _open_frame(before: Token | None, behind: Token | None) -> _Frame:
    return _Frame(_word(behind) in _QUERIES, _word(before) in _MODIFIED)


def _is_constant_word(tokens: Sequence[Token], at: int, behind: Token | None) -> bool:
    word = tokens[at].text
    if word in _CONSTANT_WORDS:
        before = [_word(token) for token in tokens[max(at - 2, 0) : at]]
        if before == ["distinct", "from"]:
            return word != "null"
        return not before or "is" not in (before[-1], before[0] if before[-1] == "not" else "")
    # The field of EXTRACT is a string in the tree.
    opens = at > 1 and tokens[at - 1].text == "(" and _word(tokens[at - 2]) == "extract"
    return opens and _word(behind) == "from"


def _is_position(token: Token, frame: _Frame, before: Token | None, behind: Token | None) -> bool:
    """Return whether a number refers to a column of the result."""
    begins = _word(before) == "by" or (before is not None and before.text == ",")
    ends = behind is None or behind.kind is Kind.WORD or behind.text in (",", ")")
    return token.kind is Kind.INTEGER and frame.in_list and begins and ends


def _is_signed(tokens: Sequence[Token], at: int, behind: Token | None) -> bool:
    """Return whether a number has a sign that is part of the constant. `::` binds tighter than the sign."""
    if tokens[at].kind not in _NUMBERS or at == 0 or tokens[at - 1].text != "-":
        return False
    if behind is not None and behind.text == "::":
        return False
    if at == 1:
        return True
    before = tokens[at - 2]
    if before.kind is Kind.OPERATOR:
        return before.text not in (")", "]")
    return before.kind is Kind.WORD and before.text in _BEFORE_SIGN
