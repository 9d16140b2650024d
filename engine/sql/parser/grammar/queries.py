"""Queries: SELECT, VALUES, TABLE, WITH, set operations and FROM (gram.y: SelectStmt, table_ref)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from sqlglot import exp

from engine.sql.parser.grammar.forms import VALUE_FUNCTIONS
from engine.sql.parser.grammar.recursion import RecursionGrammar
from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.lexical.positions import leftmost
from wire.errors import SqlSyntaxError

_WRITES: Final = frozenset(("insert", "update", "delete", "merge"))
_JOIN_WORDS: Final = frozenset(("join", "inner", "left", "right", "full", "cross", "natural"))


def strength_of(clause: exp.Lock) -> str:
    """A locking clause's words."""
    if clause.args["update"]:
        return "FOR NO KEY UPDATE" if clause.args["key"] else "FOR UPDATE"
    return "FOR KEY SHARE" if clause.args["key"] else "FOR SHARE"


class QueryGrammar(RecursionGrammar):
    """Reads queries."""

    @abstractmethod
    def into_target(self) -> object:
        """The target of SELECT ... INTO. The reader of statements defines it, and takes it out of the tree (`meta["into"]`)."""

    # -- whole queries -------------------------------------------------------------------------------------------

    def query(self) -> exp.Expression:
        """SelectStmt: with or without parentheses around it."""
        with_ = self._with() if self.word_at("with") else None
        if self.word_at(*_WRITES) and with_ is not None:
            self.raise_unsupported(f"WITH ... {self.token.text.upper()}")
        body = self._set_operations(0)
        return self._finish(body, with_)

    def query_at(self) -> bool:
        return self.word_at("select", "values", "table", "with") or self._query_may_follow()

    def query_in_parentheses(self) -> exp.Expression:
        """select_with_parens; the query inside, marked as parenthesized."""
        self.expect_symbol("(")
        query = self.query()
        self.expect_symbol(")")
        query.meta["paren"] = True
        return query

    def _set_operations(self, least: int) -> exp.Expression:
        """select_clause: INTERSECT binds tighter than UNION and EXCEPT, all to the left."""
        left = self._set_operand()
        while self.word_at("union", "intersect", "except"):
            level = 2 if self.word_at("intersect") else 1
            if level <= least:
                return left
            token = self.next()
            distinct = not self.take("all")
            if distinct:
                self.take("distinct")
            kind = {"union": exp.Union, "intersect": exp.Intersect, "except": exp.Except}[token.text]
            left = self.node(kind, token, this=left, expression=self._set_operations(level), distinct=distinct)
        return left

    def _set_operand(self) -> exp.Expression:
        if self.symbol_at("("):
            return self.query_in_parentheses()
        if self.word_at("select"):
            return self._select()
        if self.word_at("values"):
            return self._values()
        if self.word_at("table"):
            return self._table_query()
        self.fail()

    def _finish(self, body: exp.Expression, with_: exp.With | None) -> exp.Expression:
        """ORDER BY, LIMIT, OFFSET, FETCH and the WITH around a query; what is in parentheses already has its own."""
        clauses, locks = self._tail_clauses()
        if with_ is None and not clauses and not locks:
            return body
        if body.meta.pop("paren", False):
            body = self._merge_clauses(body, with_, clauses)
        if with_ is not None:
            body.set("with_", with_)
        for key, clause in clauses.items():
            body.set(key, clause)
        if locks:
            body.set("locks", [*(body.args.get("locks") or ()), *locks])
        return body

    def _merge_clauses(
        self, body: exp.Expression, with_: exp.With | None, clauses: dict[str, exp.Expression]
    ) -> exp.Expression:
        """Clauses put on a query in parentheses are that query's own (insertSelectOptions), once each."""
        for key, what in (("order", "ORDER BY"), ("offset", "OFFSET"), ("limit", "LIMIT")):
            if key in clauses and body.args.get(key):
                at = leftmost(next(clauses[key].iter_expressions())) + self.base + 1
                raise SqlSyntaxError(f"multiple {what} clauses not allowed", position=at)
        if with_ is not None and body.args.get("with_"):
            raise SqlSyntaxError("multiple WITH clauses not allowed", position=int(with_.meta["start"]) + self.base + 1)
        return body

    def _tail_clauses(self) -> tuple[dict[str, exp.Expression], list[exp.Lock]]:
        """ORDER BY, LIMIT and OFFSET by the names of arguments; the locking clauses."""
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
        """FETCH {FIRST | NEXT} [count] {ROW | ROWS} {ONLY | WITH TIES}."""
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
        """for_locking_item: one, or none for FOR READ ONLY. NOWAIT and SKIP LOCKED say what to do where somebody else has a
        lock, which nobody ever has."""
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
        """for_locking_strength: whether it is UPDATE, and whether KEY was said."""
        if self.take("update"):
            return True, False
        if self.take("no"):
            self.expect("key", "update")
            return True, True
        key = self.take("key")
        self.expect("share")
        return False, key

    def _locked_name(self) -> exp.Identifier:
        """After OF; a schema is remembered only to be refused."""
        name = self.column_id()
        while self.take_symbol("."):
            self.column_label()
            name.meta["qualified"] = True
        return name

    # -- WITH ----------------------------------------------------------------------------------------------------

    def _with(self) -> exp.With:
        token = self.next()
        recursive = self.take("recursive")
        return self.node(exp.With, token, expressions=self.comma_list(self._cte), recursive=recursive)

    def _cte(self) -> exp.CTE:
        token = self.token
        name = self.column_id()
        columns = self.names() if self.symbol_at("(") else []
        self.expect("as")
        materialized = None
        if self.take("not", "materialized"):
            materialized = False
        elif self.take("materialized"):
            materialized = True
        self.expect_symbol("(")
        query = self._changing_query(token) if self._changes_at() else self.query()
        self.expect_symbol(")")
        alias = self.node(exp.TableAlias, token, this=name, columns=columns)
        made = self.node(exp.CTE, token, this=query, alias=alias)
        self.recursion_clauses(made)
        if materialized is not None:
            made.set("materialized", materialized)
        return made

    def _changes_at(self) -> bool:
        """Whether a statement that changes rows comes next."""
        return self.word_at(*_WRITES)

    def _changing_query(self, item: Token) -> exp.Expression:
        """A statement that changes rows where a query may stand: who reads statements knows (`meta["changes"]`).

        item: where that of WITH begins."""
        self.raise_unsupported(f"{self.token.text.upper()} in WITH")

    # -- SELECT, VALUES, TABLE -----------------------------------------------------------------------------------

    def _select(self) -> exp.Expression:
        token = self.next()
        made = self.node(exp.Select, token)
        if self.word_at("distinct"):
            made.set("distinct", self._distinct())
            made.set("expressions", self._targets())
        else:
            self.take("all")
            made.set("expressions", self._targets() if self._target_at() else [])
        if self.take("into"):
            made.meta["into"] = self.into_target()
        if self.word_at("from"):
            made.set("from_", self._from())
        where = self.token
        if self.take("where"):
            made.set("where", self.node(exp.Where, where, this=self.expression()))
        if self.word_at("group"):
            made.set("group", self._group())
        having = self.token
        if self.take("having"):
            made.set("having", self.node(exp.Having, having, this=self.expression()))
        if self.take("window"):
            made.set("windows", self.comma_list(self._named_window))
        return made

    def _target_at(self) -> bool:
        """Whether a select list follows; SELECT may have none."""
        token = self.token
        if token.kind is Kind.END or self.symbol_at(";", ")"):
            return False
        return not self.word_at(
            "into", "from", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for",
            "union", "intersect", "except",
        )  # fmt: skip

    def _distinct(self) -> exp.Distinct:
        token = self.next()
        made = self.node(exp.Distinct, token)
        if self.take("on"):
            made.set("on", self.node(exp.Tuple, self.token, expressions=self.parenthesized_list(self.expression)))
        return made

    def _targets(self) -> list[exp.Expression]:
        return self.comma_list(self._target)

    def _target(self) -> exp.Expression:
        token = self.token
        if self.take_symbol("*"):
            return self.node(exp.Star, token)
        value = self.expression()
        if self.take("as"):
            return self.node(exp.Alias, token, this=value, alias=self.column_label())
        if self.bare_label_at():
            return self.node(exp.Alias, token, this=value, alias=self.column_label())
        return value

    def _named_window(self) -> exp.Window:
        """window_definition."""
        name = self.column_id()
        self.expect("as")
        window = self.window()
        window.set("this", name)
        return window

    def _group(self) -> exp.Group:
        token = self.token
        self.expect("group", "by")
        made = self.node(exp.Group, token)
        if self.take("distinct"):
            made.set("distinct", True)
        else:
            self.take("all")
        made.set("expressions", self.comma_list(self._group_item))
        return made

    def _group_item(self) -> exp.Expression:
        token = self.token
        if self.symbol_at("(") and self.symbol_at(")", ahead=1):
            self.next()
            self.next()
            return self.node(exp.Tuple, token, expressions=[])
        if self.word_at("rollup", "cube") and self.symbol_at("(", ahead=1):
            self.next()
            self.next()
            kind = exp.Rollup if token.text == "rollup" else exp.Cube
            made = self.node(kind, token, expressions=self.expression_list())
            self.expect_symbol(")")
            return made
        if self.words_at("grouping", "sets"):
            self.expect("grouping", "sets")
            return self.node(exp.GroupingSets, token, expressions=self.parenthesized_list(self._group_item))
        return self.expression()

    def _values(self) -> exp.Expression:
        token = self.next()
        return self.node(exp.Values, token, expressions=self.comma_list(self._values_item))

    def _values_item(self) -> exp.Tuple:
        return self.node(exp.Tuple, self.token, expressions=self.values_row())

    def values_row(self) -> list[exp.Expression]:
        """Expressions or DEFAULT in parentheses; where the latter may stand is the binder's to say."""
        return self.parenthesized_list(self.value_or_default)

    def value_or_default(self) -> exp.Expression:
        if self.word_at("default"):
            return self.node(exp.Var, self.next(), this="DEFAULT")
        return self.expression()

    def _table_query(self) -> exp.Expression:
        """TABLE name is SELECT * FROM name."""
        token = self.next()
        table = self._relation()
        star = self.node(exp.Star, token)
        return self.node(exp.Select, token, expressions=[star], from_=self.node(exp.From, token, expressions=[table]))

    # -- FROM ----------------------------------------------------------------------------------------------------

    def _from(self) -> exp.From:
        token = self.next()
        return self.node(exp.From, token, expressions=self.comma_list(self._table_reference))

    def _table_reference(self) -> exp.Expression:
        """table_ref: an item with all the joins that follow it."""
        item = self._table_item()
        while self.word_at(*_JOIN_WORDS):
            item = self._join(item)
        return item

    def _join(self, left: exp.Expression) -> exp.Join:
        """One join step; `a JOIN b JOIN c ON x ON y` joins b and c first."""
        token = self.token
        made = self.node(exp.Join, token, left=left)
        if self.take("cross"):
            self.expect("join")
            made.set("kind", "CROSS")
            made.set("this", self._table_item())
            return made
        natural = self.take("natural")
        made.set("kind", self._join_kind())
        self.expect("join")
        right = self._table_item()
        if natural:
            made.set("natural", True)
            made.set("this", right)
            return made
        while self.word_at(*_JOIN_WORDS):
            right = self._join(right)
        made.set("this", right)
        self._join_condition(made)
        return made

    def _join_kind(self) -> str:
        if self.word_at("left", "right", "full"):
            kind = self.next().text.upper()
            self.take("outer")
            return kind
        self.take("inner")
        return "INNER"

    def _join_condition(self, join: exp.Join) -> None:
        if self.take("on"):
            join.set("on", self.expression())
            return
        if not self.word_at("using"):
            self.fail()
        self.next()
        join.set("using", self.names())
        if self.take("as"):
            token = self.token
            join.set("alias", self.node(exp.TableAlias, token, this=self.column_id()))

    def _table_item(self) -> exp.Expression:
        token = self.token
        if self.take("lateral"):
            item = self._lateral_item()
            item.meta["lateral"] = True
            return item
        if self.symbol_at("("):
            return self._parenthesized_item()
        if self.words_at("rows", "from"):
            return self._function_item(token)
        if self.word_at("only"):
            return self._with_alias(self._relation())
        if self._call_at():
            return self._function_item(token)
        relation = self._file() if self.token.kind is Kind.STRING else self._relation()
        if self.word_at("for") and self.word_at("version", "timestamp", ahead=1):
            relation.set("version", self._version())
        item = self._with_alias(relation)
        if self.word_at("tablesample"):
            item.set("sample", self._sample())
        return item

    def _file(self) -> exp.Table:
        """A path in quotes, as a Table without a name: not PostgreSQL's; as DuckDB and Spark write it."""
        token = self.next()
        return self.node(exp.Table, token, file=self.node(exp.Literal, token, this=token.text, is_string=True))

    def _sample(self) -> exp.TableSample:
        """tablesample_clause."""
        start = self.token
        self.expect("tablesample")
        method = self.column_id()
        arguments = self.parenthesized_list(self.expression)
        seed = None
        if self.take("repeatable"):
            self.expect_symbol("(")
            seed = self.expression()
            self.expect_symbol(")")
        return self.node(exp.TableSample, start, this=method, expressions=arguments, seed=seed)

    def _version(self) -> exp.Version:
        """FOR VERSION AS OF number, FOR TIMESTAMP AS OF time: not PostgreSQL's; as Spark, Trino and Delta write it."""
        self.next()
        token = self.next()
        self.expect("as", "of")
        return self.node(exp.Version, token, this=token.text.upper(), kind="AS OF", expression=self._prefix(bare=False))

    def _lateral_item(self) -> exp.Expression:
        if self.symbol_at("("):
            return self._subquery_item()
        return self._function_item(self.token)

    def _call_at(self) -> bool:
        """Whether a function call, rather than a relation's name, comes next."""
        ahead = 0
        while self.peek(ahead).kind in (Kind.WORD, Kind.NAME) and self.symbol_at(".", ahead=ahead + 1):
            ahead += 2
        if self.peek(ahead).kind not in (Kind.WORD, Kind.NAME):
            return False
        if ahead == 0 and self.word_at(*VALUE_FUNCTIONS):
            return True
        return self.symbol_at("(", ahead=ahead + 1)

    def _parenthesized_item(self) -> exp.Expression:
        """A derived table or a join in parentheses; `((select 1) a join b on true)` shows late which."""
        if self._query_may_follow():
            start = self.at
            try:
                return self._subquery_item()
            except SqlSyntaxError as error:
                if not self.symbol_at("(", ahead=start + 1 - self.at):
                    raise
                self.at = start
                try:
                    return self._joined_item()
                except SqlSyntaxError as other:
                    raise max(error, other, key=lambda e: e.position or 0) from None
        return self._joined_item()

    def _joined_item(self) -> exp.Expression:
        token = self.expect_symbol("(")
        inner = self._table_reference()
        if not isinstance(inner, exp.Join | exp.Paren):
            self.fail()
        self.expect_symbol(")")
        made = self.node(exp.Paren, token, this=inner)
        return self._with_alias(made)

    def _subquery_item(self) -> exp.Expression:
        token = self.token
        query = self.query_in_parentheses()
        made = self._with_alias(self.node(exp.Subquery, token, this=query))
        if made.args.get("alias") is None:
            what, example = (
                ("VALUES", "(VALUES ...)") if isinstance(query, exp.Values) else ("subquery", "(SELECT ...)")
            )
            raise SqlSyntaxError(
                f"{what} in FROM must have an alias",
                hint=f"For example, FROM {example} [AS] foo.",
                position=token.start + 1,
            )
        return made

    def _relation(self) -> exp.Table:
        """relation_expr: [ONLY] name [*]; there is no inheritance, so both change nothing."""
        only = self.take("only")
        enclosed = only and self.take_symbol("(")
        token = self.token
        parts = [self.column_id()]
        while self.take_symbol("."):
            parts.append(self.column_label())
        if len(parts) > 3:
            dotted = ".".join(p.name for p in parts)
            raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=token.start + 1)
        if enclosed:
            self.expect_symbol(")")
        elif not only:
            self.take_symbol("*")
        return self.node(exp.Table, token, **dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))

    def _function_item(self, token: Token) -> exp.Expression:
        """func_table: one call, or ROWS FROM several, as a Table whose rows_from are the calls."""
        several = self.take("rows", "from")
        calls = self.parenthesized_list(self._rows_from_call) if several else [self.function_without_window()]
        made = self.node(exp.Table, token, rows_from=calls)
        if self.take("with", "ordinality"):
            made.set("ordinality", True)
        if self._definition_list_at():
            return self._with_definitions(made)
        return self._with_alias(made)

    def _with_definitions(self, item: exp.Table) -> exp.Table:
        """func_alias_clause with TableFuncElements: names and types of a record's fields."""
        token = self.token
        self.take("as")
        name = None if self.symbol_at("(") else self.column_id()
        item.set("definitions", self.parenthesized_list(self._field))
        if name is not None:
            item.set("alias", self.node(exp.TableAlias, token, this=name, columns=[]))
        return item

    def _field(self) -> exp.ColumnDef:
        token = self.token
        return self.node(exp.ColumnDef, token, this=self.column_id(), kind=self.type_name())

    def _rows_from_call(self) -> exp.Expression:
        call = self.function_without_window()
        if self.word_at("as") and self.symbol_at("(", ahead=1):
            self.raise_unsupported("column definition list of a function in FROM")
        return call

    def _definition_list_at(self) -> bool:
        """AS (a int, ...), or x (a int, ...)."""
        ahead = 1 if self.word_at("as") else 0
        if self.symbol_at("(", ahead=ahead):
            return ahead == 1
        if not self.column_id_at(ahead) or not self.symbol_at("(", ahead=ahead + 1):
            return False
        return self.column_id_at(ahead + 2) and not self.symbol_at(",", ")", ahead=ahead + 3)

    def _with_alias(self, item: exp.Expression) -> exp.Expression:
        token = self.token
        if not (self.take("as") or self.column_id_at()):
            return item
        name = self.column_id()
        columns = self.names() if self.symbol_at("(") else []
        item.set("alias", self.node(exp.TableAlias, token, this=name, columns=columns))
        return item
