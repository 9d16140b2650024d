r"""Scripts for psql: statements that end with a semicolon, the data of COPY ... FROM STDIN, and psql's own commands.

The reader executes `\set` and `\getenv`, which make file names, and replaces their variables (`:name`, `:'name'`,
`:"name"`). `\gset`, `\gexec` and `\crosstabview` end a statement as a semicolon does; all other commands are skipped. A
part between `\if` and `\endif` is read as if it were not conditional.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from corpora.statement import Statement

#: What statements are made of. Alternatives are tried in order, so that a semicolon in a text ends nothing.
_TOKEN: Final = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/ )
    | (?P<text> [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | (?P<tag>\$(?:[A-Za-z_]\w*)?\$).*?(?P=tag) )
    | (?P<variable> (?<![:\w]):(?:'\w+'|"\w+"|\w+) )
    | (?P<end> ; )
    | (?P<command> \\[^\n]* )
    | (?P<open> [(\[] ) | (?P<close> [)\]] )
    | (?P<word> \w+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COPY: Final = re.compile(r"\s*copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)
_ENDS: Final = (r"\g", r"\gset", r"\gexec", r"\gdesc", r"\gx", r"\crosstabview", r"\;")
#: A statement whose body has semicolons of its own.
_ROUTINE: Final = re.compile(r"\s*create\s+(or\s+replace\s+)?(function|procedure)\b", re.IGNORECASE)


def statements(text: str, environment: Mapping[str, str]) -> Iterator[Statement]:
    r"""The script's statements, in order. environment: what `\getenv` reads."""
    yield from _Reader(text, environment)


class _Reader:
    def __init__(self, text: str, environment: Mapping[str, str]) -> None:
        self._text = text
        self._environment = environment
        self._variables: dict[str, str] = {}

    def __iter__(self) -> Iterator[Statement]:
        position, parts = 0, list[str]()
        begins, depth, bodies = 0, 0, 0
        while (found := _TOKEN.match(self._text, position)) is not None:
            kind, token = found.lastgroup or "", found[0]
            position = found.end()
            if kind == "tag":
                kind = "text"
            if not "".join(parts).strip():
                begins = found.start()
            if kind == "word" and _ROUTINE.match("".join(parts)):
                bodies += (token.lower() == "atomic") - (token.lower() == "end" and bodies > 0)
            depth += (kind == "open") - (kind == "close")
            ended = kind == "end" and depth <= 0 and not bodies
            if kind == "command":
                ended = token.split()[0] in _ENDS
                self._obey(token)
            elif kind == "variable":
                parts.append(self._value(token))
            elif not ended:
                parts.append(token if kind != "comment" else " ")
            if ended:
                sql = "".join(parts).strip()
                parts, depth = [], 0
                data = None
                if _COPY.match(sql):
                    data, position = self._data(position)
                if sql:
                    yield Statement(sql, self._text.count("\n", 0, begins) + 1, data)

    def _data(self, position: int) -> tuple[bytes, int]:
        r"""The lines up to `\.`, and where the script goes on."""
        start = self._text.find("\n", position) + 1
        end = re.compile(r"^\\\.$", re.MULTILINE).search(self._text, start)
        if end is None:
            return self._text[start:].encode(), len(self._text)
        return self._text[start : end.start()].encode(), end.end()

    def _obey(self, command: str) -> None:
        words = command.split()
        if words[0] == r"\getenv" and len(words) == 3:
            self._variables[words[1]] = self._environment.get(words[2], "")
        elif words[0] == r"\set" and len(words) >= 3:
            values = (self._value(word) if word.startswith(":") else word.strip("'") for word in words[2:])
            self._variables[words[1]] = "".join(values)

    def _value(self, variable: str) -> str:
        """A variable's value, quoted as it is asked for; one that is not set stays as it is written, as in psql."""
        name = variable[1:].strip("'\"")
        if name not in self._variables:
            return variable
        value = self._variables[name]
        if variable[1] == "'":
            return "'" + value.replace("'", "''") + "'"
        return '"' + value.replace('"', '""') + '"' if variable[1] == '"' else value
