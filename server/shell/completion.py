r"""Completions for Tab: keywords, relations after FROM and similar keywords, columns of the relations that the
statement names, members after \c and \connect.

Names are those of the system catalog when it was last queried; the shell queries it again after a DDL statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from engine.common.identifiers import quote_ident
from engine.common.keywords import RESERVED, TYPE_FUNCTION_NAME
from wire.dataclass import dataclass

#: The name that is being typed, with its qualifiers. Its last quote may still be open.
_WORD: Final = re.compile(r'(?:(?:"[^"]*"|[\w$]+)\.)*(?:"[^"]*"|[\w$]+)?$')
_OPEN: Final = re.compile(r'(?:(?:"[^"]*"|[\w$]+)\.)*"[^"]*$')
_BEFORE: Final = re.compile(r"(\\?\w+)\s*$|(,)\s*$")
_RELATIONS: Final = frozenset(
    {"from", "join", "into", "update", "table", "using", "truncate", "analyze", "vacuum", "\\d", "on"}
)
#: A relation that a statement names, with its alias.
_NAMED: Final = re.compile(
    r'\b(?:from|join|into|update|using)\s+((?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?)(?:\s+(?:as\s+)?("[^"]+"|\w+))?'
    r'|,\s*((?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?)(?:\s+(?:as\s+)?("[^"]+"|\w+))?',
    re.IGNORECASE,
)
COMMANDS: Final = ("\\?", "\\c", "\\connect", "\\d", "\\i", "\\plan", "\\q", "\\timing", "\\x")
#: First words of statements.
_STATEMENTS: Final = (
    "alter", "begin", "call", "comment", "commit", "copy", "deallocate", "declare", "delete", "drop", "execute", "explain", "fetch",
    "import", "insert", "listen", "lock", "merge", "notify", "prepare", "refresh", "reindex", "release", "reset", "revoke",
    "rollback", "savepoint", "set", "show", "truncate", "update", "vacuum", "values",
)  # fmt: skip
#: Words that are no keywords of the server, but are typed as often.
_FUNCTIONS: Final = ("avg", "by", "coalesce", "count", "interval", "max", "min", "over", "sum")
KEYWORDS: Final = (*sorted({*RESERVED, *TYPE_FUNCTION_NAME, *_STATEMENTS}), *_FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Relation:
    """visible: it is found without its schema."""

    schema: str
    name: str
    visible: bool
    columns: tuple[str, ...]


class Names(Completer):
    """See the module's docstring. `relations` and `members` are set by the shell."""

    def __init__(self) -> None:
        self.relations: tuple[Relation, ...] = ()
        self.members: tuple[str, ...] = ()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        del complete_event
        begun, text = document.current_line_before_cursor, document.text_before_cursor
        if begun.lstrip().startswith("\\") and " " not in begun.lstrip():
            yield from _completions(COMMANDS, begun.lstrip(), len(begun.lstrip()))
            return
        found = (_OPEN if text.count('"') % 2 else _WORD).search(text)
        word = found.group() if found is not None else ""
        yield from _completions(self._candidates(text[: len(text) - len(word)], word, document.text), *_last(word))

    def _candidates(self, before: str, word: str, whole: str) -> Iterable[str]:
        found = _BEFORE.search(before)
        keyword = (found[1] or found[2]).lower() if found is not None else ""
        if keyword in ("\\c", "\\connect"):
            return self.members
        wants_relation = keyword in _RELATIONS
        if "." in word:
            qualifier = _unquote(word.rpartition(".")[0])
            if wants_relation:
                return [quote_ident(each.name) for each in self.relations if each.schema == qualifier]
            return [quote_ident(name) for name in self._columns_of(qualifier, whole)]
        if wants_relation:
            visible = [quote_ident(each.name) for each in self.relations if each.visible]
            return [*visible, *dict.fromkeys(quote_ident(each.schema) + "." for each in self.relations)]
        named = self._named_relations(whole)
        columns = [quote_ident(name) for each in named.values() for name in each.columns]
        return [*dict.fromkeys(columns), *map(quote_ident, named), *KEYWORDS]

    def _columns_of(self, qualifier: str, whole: str) -> tuple[str, ...]:
        found = self._named_relations(whole).get(qualifier)
        return () if found is None else found.columns

    def _named_relations(self, text: str) -> dict[str, Relation]:
        """Return the relations that a statement names, by their names or aliases in it."""
        known = {f"{each.schema}.{each.name}": each for each in self.relations}
        known |= {each.name: each for each in self.relations if each.visible}
        found: dict[str, Relation] = {}
        for first, alias, other, other_alias in _NAMED.findall(text):
            relation = known.get(_unquote(first or other))
            if relation is not None:
                called = _unquote(alias or other_alias)
                found[called if called and called not in KEYWORDS else relation.name] = relation
        return found


def _last(word: str) -> tuple[str, int]:
    """Return the last part of a dotted word, which is being typed, and its length."""
    last = word.rpartition(".")[2]
    return last, len(last)


def _completions(candidates: Iterable[str], begun: str, length: int) -> Iterator[Completion]:
    lowered = begun.lower().lstrip('"')
    for candidate in candidates:
        if candidate.lower().lstrip('"').startswith(lowered):
            yield Completion(candidate, -length)


def _unquote(name: str) -> str:
    return ".".join(part[1:-1] if part.startswith('"') else part.lower() for part in name.split("."))
