"""Clauses after the body of a query: ORDER BY, LIMIT, OFFSET, FETCH, FOR UPDATE (gram.y: select_limit, for_locking_clause)."""

from __future__ import annotations

from sqlglot import exp

from engine.sql.parser.grammar.from_clause import FromGrammar
from wire.errors import SqlSyntaxError


def strength_of(clause: exp.Lock) -> str:
    """Return a locking clause's words."""
    if clause.args["update"]:
        return "FOR NO KEY UPDATE" if clause.args["key"] else "FOR UPDATE"
    return "FOR KEY SHARE" if clause.args["key"] else "FOR SHARE"


class TailGrammar(FromGrammar):
    """The grammar of the clauses after a query's body."""

    def _tail_clauses(self) -> tuple[dict[str, exp.Expression], list[exp.Lock]]:
        """Read ORDER BY, LIMIT and OFFSET, by the names of their arguments, and the locking clauses."""
        found: dict[str, exp.Expression] = {}
        locks: list[exp.Lock] = []
        if self.word_at("order"):
            found["order"] = self.order()
        while True:
            if self.word_at("limit"):
                self._once(found, "limit")
                found["limit"] = self._limit()
            elif self.word_at("fetch"):
                self._once(found, "limit")
                found["limit"] = self._fetch("order" in found)
            elif self.word_at("offset"):
                self._once(found, "offset")
                found["offset"] = self._offset()
            elif self.word_at("for"):
                locks += self._locking_items()
            else:
                return {key: clause for key, clause in found.items() if clause.args or key == "order"}, locks

    def _once(self, found: dict[str, exp.Expression], key: str) -> None:
        if key in found:
            self.fail()

    def _limit(self) -> exp.Expression:
        token = self.next()
        if self.take("all"):
            return self.node(exp.Limit, token)
        count = self.expression()
        if self.symbol_at(","):
            raise SqlSyntaxError(
                "LIMIT #,# syntax is not supported",
                hint="Use separate LIMIT and OFFSET clauses.",
                position=token.start + 1,
            )
        return self.node(exp.Limit, token, expression=count)

    def _offset(self) -> exp.Expression:
        token = self.next()
        start = self.expression()
        if self.word_at("row", "rows"):
            self.next()
        return self.node(exp.Offset, token, expression=start)

    def _fetch(self, ordered: bool) -> exp.Expression:
        """Read FETCH {FIRST | NEXT} [count] {ROW | ROWS} {ONLY | WITH TIES}."""
        token = self.next()
        if not self.word_at("first", "next"):
            self.fail()
        self.next()
        count: exp.Expression
        if self.word_at("row", "rows"):
            count = self.node(exp.Literal, self.token, this="1", is_string=False)
        else:
            count = self._prefix(bare=False)
        if not self.word_at("row", "rows"):
            self.fail()
        self.next()
        made = self.node(exp.Fetch, token, count=count)
        if self.take("with", "ties"):
            if not ordered:
                raise SqlSyntaxError("WITH TIES cannot be specified without ORDER BY clause")
            made.set("with_ties", True)
        else:
            self.expect("only")
        return made

    def _locking_items(self) -> list[exp.Lock]:
        """Read a for_locking_item: one clause, or none for FOR READ ONLY. NOWAIT and SKIP LOCKED have no effect: they
        apply to locks of other transactions, which do not exist.
        """
        token = self.next()
        if self.take("read"):
            self.expect("only")
            return []
        update, key = self._strength()
        made = self.node(exp.Lock, token, update=update, key=key, expressions=[])
        if self.take("of"):
            made.set("expressions", self.comma_list(self._locked_name))
        if not self.take("nowait") and self.take("skip"):
            self.expect("locked")
        return [made]

    def _strength(self) -> tuple[bool, bool]:
        """Read a for_locking_strength: whether it is UPDATE, and whether KEY was written."""
        if self.take("update"):
            return True, False
        if self.take("no"):
            self.expect("key", "update")
            return True, True
        key = self.take("key")
        self.expect("share")
        return False, key

    def _locked_name(self) -> exp.Identifier:
        """Read a name after OF; a schema is recorded only to be refused."""
        name = self.column_id()
        while self.take_symbol("."):
            self.column_label()
            name.meta["qualified"] = True
        return name
