"""ORDER BY and window specifications, wherever they occur (gram.y: sort_clause, window_specification)."""

from __future__ import annotations

from sqlglot import exp

from engine.sql.parser.grammar.types import TypeGrammar
from engine.sql.parser.lexical.lexer import Token
from wire.errors import WindowingError


class WindowGrammar(TypeGrammar):
    """The grammar of orderings and windows."""

    def expression_list(self) -> list[exp.Expression]:
        return self.comma_list(self.expression)

    def order(self) -> exp.Order:
        """Read a sort_clause."""
        token = self.token
        self.expect("order", "by")
        return self.node(exp.Order, token, expressions=self.comma_list(self._order_key))

    def _order_key(self) -> exp.Expression:
        token = self.token
        key = self.expression()
        descending = False
        if self.take("using"):
            symbol = self.next()
            if symbol.text not in ("<", ">"):
                self.raise_unsupported(f"ORDER BY ... USING {self.sql[symbol.start : symbol.end]}", symbol)
            descending = symbol.text == ">"
        elif self.take("desc"):
            descending = True
        else:
            self.take("asc")
        nulls_first = descending
        if self.take("nulls", "first"):
            nulls_first = True
        elif self.take("nulls", "last"):
            nulls_first = False
        return self.node(exp.Ordered, token, this=key, desc=descending, nulls_first=nulls_first)

    def window(self) -> exp.Window:
        """Read a window_specification."""
        token = self.expect_symbol("(")
        window = self.node(exp.Window, token)
        if self.column_id_at() and not self.word_at("partition", "range", "rows", "groups"):
            window.set("alias", self.column_id())
        if self.word_at("partition"):
            self.expect("partition", "by")
            window.set("partition_by", self.expression_list())
        if self.word_at("order"):
            window.set("order", self.order())
        if self.word_at("range", "rows", "groups"):
            window.set("spec", self._frame())
        self.expect_symbol(")")
        return window

    def _frame(self) -> exp.Expression:
        token = self.next()
        between = self.take("between")
        at_start = self.token
        start, start_side = self._frame_bound()
        at_end, end, end_side = at_start, None, None
        if between:
            self.expect("and")
            at_end = self.token
            end, end_side = self._frame_bound()
        self._check_frame(at_start, (start, start_side), at_end, (end, end_side) if between else ("CURRENT ROW", None))
        made = self.node(exp.WindowSpec, token, kind=token.text.upper(), start=start, start_side=start_side)
        if between:
            made.set("end", end)
            made.set("end_side", end_side)
        if self.take("exclude"):
            made.set("exclude", self._exclusion())
        return made

    def _exclusion(self) -> str | None:
        for words in (("current", "row"), ("group",), ("ties",)):
            if self.take(*words):
                return " ".join(words).upper()
        self.expect("no", "others")
        return None

    def _frame_bound(self) -> tuple[exp.Expression | str, str | None]:
        if self.take("current", "row"):
            return "CURRENT ROW", None
        value: exp.Expression | str
        value = "UNBOUNDED" if self.take("unbounded") else self.expression()
        if not self.word_at("preceding", "following"):
            self.fail()
        return value, self.next().text.upper()

    def _check_frame(
        self,
        at_start: Token,
        start: tuple[exp.Expression | str, str | None],
        at_end: Token,
        end: tuple[exp.Expression | str | None, str | None],
    ) -> None:
        """Refuse the frames that gram.y refuses."""

        def refuse(what: str, token: Token) -> None:
            raise WindowingError(what, position=token.start + 1)

        if start == ("UNBOUNDED", "FOLLOWING"):
            refuse("frame start cannot be UNBOUNDED FOLLOWING", at_start)
        if end == ("UNBOUNDED", "PRECEDING"):
            refuse("frame end cannot be UNBOUNDED PRECEDING", at_end)
        if start[0] == "CURRENT ROW" and end[1] == "PRECEDING":
            refuse("frame starting from current row cannot have preceding rows", at_end)
        if start[1] == "FOLLOWING" and at_end is at_start:
            refuse("frame starting from following row cannot end with current row", at_start)
        if start[1] == "FOLLOWING" and (end[1] == "PRECEDING" or end[0] == "CURRENT ROW"):
            refuse("frame starting from following row cannot have preceding rows", at_end)
