"""The grammar of type names (gram.y: Typename and below).

Every type is an `exp.DataType` of kind USERDEFINED, since sqlglot's own vocabulary of types cannot distinguish `int4`
from `int`, nor `char` from `"char"`: `kind` is the Identifier with pg_type's name (with its `schema`, if written),
`expressions` are the modifiers, `array` counts its dimensions and `fields` the words of an interval's fields.
`engine.sql.binder.type_names.resolve_type` makes a SqlType of it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from sqlglot import exp

from engine.sql.parser.grammar.reader import Reader
from engine.sql.parser.lexical.lexer import Kind, Token

#: One-word types of the grammar and their names in pg_type.
_PLAIN: Final = {
    "int": "int4",
    "integer": "int4",
    "smallint": "int2",
    "bigint": "int8",
    "real": "float4",
    "boolean": "bool",
}
_NUMERIC: Final = frozenset(("numeric", "decimal", "dec"))
_CHARACTER: Final = frozenset(("character", "char", "nchar", "varchar", "national"))
_DATETIME: Final = frozenset(("time", "timestamp"))
_SPECIAL: Final = frozenset(_PLAIN) | _NUMERIC | _CHARACTER | _DATETIME | {"float", "double", "interval", "bit"}
_INTERVAL_SPANS: Final = {
    "year": ("month",),
    "day": ("hour", "minute", "second"),
    "hour": ("minute", "second"),
    "minute": ("second",),
}


class TypeGrammar(Reader):
    """The grammar of type names."""

    @abstractmethod
    def expression(self) -> exp.Expression:
        """Read an a_expr, which modifiers of generic types need; the layer above defines it."""

    def type_name(self) -> exp.DataType:
        """Read a Typename: a simple type with its array bounds."""
        if self.word_at("setof"):
            self.fail()
        return self.array_bounds(self.simple_type())

    def array_bounds(self, typ: exp.DataType) -> exp.DataType:
        dimensions = 0
        if self.word_at("array"):
            self.next()
            dimensions = 1
            if self.take_symbol("["):
                self.expect_kind(Kind.INTEGER)
                self.expect_symbol("]")
        else:
            while self.take_symbol("["):
                if self.token.kind is Kind.INTEGER:
                    self.next()
                self.expect_symbol("]")
                dimensions += 1
        if dimensions:
            typ.set("array", dimensions)
        return typ

    def constant_type_at(self) -> bool:
        """Return whether one of the grammar's own types begins here, which a string constant may follow
        (ConstTypename).
        """
        token = self.token
        if token.kind is not Kind.WORD or token.text not in _SPECIAL:
            return False
        return token.text != "double" or self.word_at("precision", ahead=1)

    def simple_type(self) -> exp.DataType:
        if self.constant_type_at():
            return self.builtin_type()
        if not self.type_function_name_at():
            self.fail()
        return self._generic_type()

    def builtin_type(self) -> exp.DataType:
        """Read one of the grammar's own types. An interval's fields are read here; in a constant they follow the
        string.
        """
        token = self.next()
        word = token.text
        if word in _PLAIN:
            return self.data_type(token, _PLAIN[word])
        if word in _NUMERIC:
            return self.data_type(token, "numeric", self._modifiers())
        if word in _CHARACTER:
            return self._character(token)
        if word in _DATETIME:
            return self._datetime(token)
        if word == "float":
            return self._float(token)
        if word == "double":
            self.expect("precision")
            return self.data_type(token, "float8")
        if word == "bit":
            if self.take("varying"):
                return self.data_type(token, "varbit", self._modifiers())
            one = self.node(exp.Literal, token, this="1", is_string=False)
            return self.data_type(token, "bit", self._modifiers() or [one])
        return self._interval(token)

    def data_type(self, token: Token, name: str, modifiers: list[exp.Expression] | None = None) -> exp.DataType:
        return self.node(
            exp.DataType,
            token,
            this=exp.DType.USERDEFINED,
            kind=self.node(exp.Identifier, token, this=name, quoted=False),
            expressions=modifiers or [],
        )

    def _generic_type(self) -> exp.DataType:
        token = self.next()
        names = [token.text]
        while self.take_symbol("."):
            names.append(self.column_label().name)
        typ = self.data_type(token, names[-1], self._modifiers())
        if len(names) > 1:
            typ.set("schema", ".".join(names[:-1]))
        return typ

    def _modifiers(self) -> list[exp.Expression]:
        return self.parenthesized_list(self.expression) if self.symbol_at("(") else []

    def _one_number(self) -> list[exp.Expression]:
        """Read ( n ), the modifier of the grammar's own types: an integer constant."""
        if not self.take_symbol("("):
            return []
        token = self.expect_kind(Kind.INTEGER)
        self.expect_symbol(")")
        return [self.node(exp.Literal, token, this=token.text, is_string=False)]

    def _character(self, token: Token) -> exp.DataType:
        word = token.text
        if word == "national":
            if not self.word_at("character", "char"):
                self.fail()
            self.next()
        varying = word == "varchar" or self.take("varying")
        length = self._one_number()
        if varying:
            return self.data_type(token, "varchar", length)
        one = self.node(exp.Literal, token, this="1", is_string=False)
        return self.data_type(token, "bpchar", length or [one])

    def _datetime(self, token: Token) -> exp.DataType:
        precision = self._one_number()
        zoned = self.take("with", "time", "zone")
        if not zoned:
            self.take("without", "time", "zone")
        return self.data_type(token, token.text + ("tz" if zoned else ""), precision)

    def _float(self, token: Token) -> exp.DataType:
        return self.data_type(token, "float", self._one_number())

    def _interval(self, token: Token) -> exp.DataType:
        if self.symbol_at("("):
            return self.data_type(token, "interval", self._one_number())
        typ = self.data_type(token, "interval")
        self.interval_fields(typ)
        return typ

    def interval_fields(self, typ: exp.DataType) -> None:
        """Read an opt_interval: YEAR, DAY TO SECOND(3) and so on."""
        if not self.word_at("year", "month", "day", "hour", "minute", "second"):
            return
        fields = [self.next().text]
        if fields[0] in _INTERVAL_SPANS and self.take("to"):
            if not self.word_at(*_INTERVAL_SPANS[fields[0]]):
                self.fail()
            fields.append(self.next().text)
        if fields[-1] == "second" and (precision := self._one_number()):
            typ.set("expressions", precision)
        typ.set("fields", " to ".join(fields))
