"""Function calls with all clauses that may follow them, and constants of a named type (gram.y: func_application,
AexprConst).
"""

from __future__ import annotations

from sqlglot import exp

from engine.common.keywords import COLUMN_NAME
from engine.sql.parser.grammar.string_forms import StringFormGrammar
from engine.sql.parser.lexical.lexer import Kind, Token
from wire.errors import SqlSyntaxError


class CallGrammar(StringFormGrammar):
    """The grammar of calls."""

    def _constant_of(self, typ: exp.DataType, token: Token) -> exp.Expression:
        text = self.next()
        literal = self.node(exp.Literal, text, this=text.text, is_string=True)
        made = self.node(exp.Cast, token, this=literal, to=typ)
        made.meta["typed_literal"] = True
        return made

    def _generic_constant(
        self, parts: list[exp.Identifier], token: Token, modifiers: list[exp.Expression] | None = None
    ) -> exp.Expression:
        typ = self.data_type(token, parts[-1].name, modifiers)
        if len(parts) > 1:
            typ.set("schema", ".".join(p.name for p in parts[:-1]))
        return self._constant_of(typ, token)

    def _interval_constant(self) -> exp.Expression:
        """Read INTERVAL 'x' [fields] or INTERVAL(p) 'x'; otherwise a column of that name."""
        token = self.next()
        typ = self.data_type(token, "interval")
        if self.take_symbol("("):
            digits = self.expect_kind(Kind.INTEGER)
            typ.set("expressions", [self.node(exp.Literal, digits, this=digits.text, is_string=False)])
            self.expect_symbol(")")
            if self.token.kind is not Kind.STRING:
                self.fail()
            return self._constant_of(typ, token)
        made = self._constant_of(typ, token)
        self.interval_fields(typ)
        return made

    def _function(self, parts: list[exp.Identifier], token: Token) -> exp.Expression:
        """Read a func_application with WITHIN GROUP, FILTER and OVER, or a constant of a type with modifiers."""
        if len(parts) == 1 and token.kind is Kind.WORD and token.text in COLUMN_NAME:
            self.fail()
        if len(parts) > 3:
            dotted = ".".join(p.name for p in parts)
            raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=token.start + 1)
        call = self._call(token, parts[-1].name, [])
        if len(parts) > 1:
            call.set("schema", parts[-2].name)
        self._arguments(call)
        plain = call.expressions and not call.args.get("distinct") and not call.args.get("order")
        if plain and self.token.kind is Kind.STRING:
            # A constant of a type with modifiers: timestamptz(0) 'x'.
            return self._generic_constant(parts, token, call.expressions)
        return self._over(self._filter_clause(self._within_group(call)))

    def _arguments(self, call: exp.Anonymous) -> None:
        self.expect_symbol("(")
        if self.symbol_at("*"):
            star = self.next()
            call.set("expressions", [self.node(exp.Star, star)])
            self.expect_symbol(")")
            return
        if self.take_symbol(")"):
            return
        if self.take("distinct"):
            call.set("distinct", True)
        else:
            self.take("all")
        call.set("expressions", self._argument_list())
        if self.word_at("order"):
            call.set("order", self.order())
        self.expect_symbol(")")

    def _within_group(self, call: exp.Anonymous) -> exp.Expression:
        token = self.token
        if not self.take("within", "group"):
            return call
        if call.args.get("order"):
            message = "cannot use multiple ORDER BY clauses with WITHIN GROUP"
            raise SqlSyntaxError(message, position=token.start + 1)
        if call.args.get("distinct"):
            raise SqlSyntaxError("cannot use DISTINCT with WITHIN GROUP", position=token.start + 1)
        if any(isinstance(a, exp.Variadic) for a in call.expressions):
            raise SqlSyntaxError("cannot use VARIADIC with WITHIN GROUP", position=token.start + 1)
        self.expect_symbol("(")
        order = self.order()
        self.expect_symbol(")")
        return self.node(exp.WithinGroup, token, this=call, expression=order)

    def _filter_clause(self, call: exp.Expression) -> exp.Expression:
        token = self.token
        if not (self.word_at("filter") and self.symbol_at("(", ahead=1)):
            return call
        self.next()
        self.expect_symbol("(")
        where = self.token
        self.expect("where")
        condition = self.node(exp.Where, where, this=self.expression())
        self.expect_symbol(")")
        return self.node(exp.Filter, token, this=call, expression=condition)

    def _over(self, call: exp.Expression) -> exp.Expression:
        if not self.take("over"):
            return call
        if self.symbol_at("("):
            window = self.window()
        else:
            window = self.node(exp.Window, self.token, alias=self.column_id())
            window.meta["bare"] = True
        window.set("this", call)
        return window
