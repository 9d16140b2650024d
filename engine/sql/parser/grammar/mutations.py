"""Statements that change rows: INSERT, UPDATE, DELETE, MERGE and TRUNCATE (gram.y: InsertStmt, UpdateStmt, DeleteStmt,
MergeStmt, TruncateStmt).

Their queries and expressions are trees like a query's, whose positions count from the beginning of the statement.
DEFAULT, where it may stand for a value, is a `Var` of that word. WITH before the statement is kept separate from the
query that INSERT may have, as in PostgreSQL's grammar.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from sqlglot import exp

from engine.sql.parser.grammar.queries import QueryGrammar
from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.nodes.statements import (
    Assignment,
    Delete,
    Insert,
    Merge,
    MergeWhen,
    MutationStatement,
    OnConflict,
    Statement,
    Truncate,
    Update,
)
from wire.errors import FeatureNotSupported, SqlSyntaxError

MUTATIONS: Final = frozenset(("insert", "update", "delete", "merge"))
_Overriding = Literal["", "user", "system"]


class MutationGrammar(QueryGrammar):
    """The grammar of statements that change rows. The caller sets their `text` and `offset`."""

    def mutation_at(self) -> bool:
        """Return whether such a statement comes next, possibly after WITH."""
        if self.word_at(*MUTATIONS):
            return True
        return self.word_at("with") and self._verb_after_with() in MUTATIONS

    def mutation(self) -> MutationStatement:
        with_ = self._with() if self.word_at("with") else None
        match self.next().text:
            case "insert":
                return self._insert(with_)
            case "update":
                return self._update(with_)
            case "delete":
                return self._delete(with_)
            case _:
                return self._merge(with_)

    def _changes_at(self) -> bool:
        return self.mutation_at()

    def _changing_query(self, item: Token) -> exp.Expression:
        token = self.token
        if self._verb_at() == "merge":
            raise FeatureNotSupported("MERGE not supported in WITH query", position=item.start + 1)
        made = self.node(exp.Select, token)
        made.meta["changes"] = self.mutation()
        return made

    def _verb_at(self) -> str:
        return self._verb_after_with() if self.word_at("with") else self.token.text

    def truncate(self) -> Statement:
        self.expect("truncate")
        self.take("table")
        tables = self.comma_list(self._relation)
        restart = self.take("restart", "identity")
        if not restart:
            self.take("continue", "identity")
        return Truncate(tables=tuple(tables), restart=restart, cascade=self.behaviour(), text="")

    def _verb_after_with(self) -> str:
        """Return the word after WITH's items: the first one outside of parentheses that follows a closing parenthesis,
        except for the words that may follow an item's query.
        """
        depth, at = 0, self.at
        while (token := self.tokens[at]).kind is not Kind.END:
            if token.kind is Kind.OPERATOR:
                depth += {"(": 1, ")": -1}.get(token.text, 0)
            elif depth == 0 and token.kind is Kind.WORD and token.text in (*MUTATIONS, "select", "values", "table"):
                before = self.tokens[at - 1]
                if before.kind is Kind.OPERATOR and before.text == ")":
                    return token.text
            at += 1
        return ""

    # -- INSERT --------------------------------------------------------------------------------------------------

    def _insert(self, with_: exp.With | None) -> Insert:
        self.expect("into")
        target = self._relation()
        alias = self.column_id().name if self.take("as") else None
        columns, parts = self._insert_columns() if self._columns_at() else (None, ())
        overriding: _Overriding = ""
        if self.take("overriding"):
            overriding = "user" if self.take("user") else "system"
            if overriding == "system":
                self.expect("system")
            self.expect("value")
        source: exp.Expression | None = None
        if not self.take("default", "values"):
            if not self.query_at():
                self.fail()
            source = self.query()
        return Insert(
            target=target,
            alias=alias,
            columns=columns,
            parts=parts,
            source=source,
            overriding=overriding,
            conflict=self._on_conflict() if self.words_at("on", "conflict") else None,
            returning=self._returning_clause(),
            with_=with_,
            text="",
        )

    def _columns_at(self) -> bool:
        """Return whether a list of columns, rather than a query in parentheses, comes next."""
        return self.symbol_at("(") and not self._query_may_follow()

    def _insert_columns(self) -> tuple[tuple[exp.Identifier, ...], tuple[tuple[exp.Expression, ...], ...]]:
        """Read an insert_column_list: columns, and the parts of them that are assigned."""
        names, parts = zip(*self.parenthesized_list(self._set_target), strict=True)
        return names, parts

    def _set_target(self) -> tuple[exp.Identifier, tuple[exp.Expression, ...]]:
        """Read a set_target: a column, and the part of it that is assigned (`Assignment.parts`)."""
        name = self.column_id()
        parts: list[exp.Expression] = []
        part = self._indirection(name)
        while isinstance(part, exp.Bracket | exp.Dot):
            parts.insert(0, part)
            part = part.this
        return name, tuple(parts)

    def _on_conflict(self) -> OnConflict:
        start = self.token
        self.expect("on", "conflict")
        inferred = OnConflict()
        constraint: exp.Identifier | None = None
        if self.symbol_at("("):
            inferred = self._conflict_target()
        elif self.take("on", "constraint"):
            constraint = self.column_id()
        self.expect("do")
        if self.take("nothing"):
            return replace(inferred, constraint=constraint)
        self.expect("update", "set")
        if inferred == OnConflict() and constraint is None:
            raise SqlSyntaxError(
                "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                hint="For example, ON CONFLICT (column_name).",
                position=start.start + 1,
            )
        assignments = self._assignments()
        where = self.expression() if self.take("where") else None
        return replace(inferred, constraint=constraint, assignments=assignments, where=where)

    def _conflict_target(self) -> OnConflict:
        """Read an opt_conf_expr. Errors in its columns point at the parenthesis."""
        opening = self.expect_symbol("(")
        columns: list[exp.Identifier] = []
        formulas: list[exp.Expression] = []
        while True:
            if self.column_id_at() and self.symbol_at(",", ")", ahead=1):
                name = self.column_id()
                name.meta["start"] = opening.start - self.base
                columns.append(name)
            else:
                formulas.append(self.bare_expression())
            if not self.symbol_at(",", ")"):
                self.raise_unsupported("ON CONFLICT with a collation or an operator class")
            if not self.take_symbol(","):
                break
        self.expect_symbol(")")
        predicate = self.expression() if self.take("where") else None
        return OnConflict(columns=tuple(columns), formulas=tuple(formulas), predicate=predicate)

    # -- UPDATE and DELETE ---------------------------------------------------------------------------------------

    def _update(self, with_: exp.With | None) -> Update:
        target = self._target_relation()
        self.expect("set")
        return Update(
            target=target,
            assignments=self._assignments(),
            from_=self._from() if self.word_at("from") else None,
            where=self._where(),
            returning=self._returning_clause(),
            with_=with_,
            text="",
        )

    def _delete(self, with_: exp.With | None) -> Delete:
        self.expect("from")
        return Delete(
            target=self._target_relation(),
            using=self._from() if self.word_at("using") else None,
            where=self._where(),
            returning=self._returning_clause(),
            with_=with_,
            text="",
        )

    def _target_relation(self) -> exp.Table:
        """Read a relation_expr_opt_alias: SET is an alias only after AS."""
        target = self._relation()
        token = self.token
        if self.take("as") or (self.column_id_at() and not self.word_at("set")):
            target.set("alias", self.node(exp.TableAlias, token, this=self.column_id(), columns=[]))
        return target

    def _where(self) -> exp.Expression | None:
        if not self.take("where"):
            return None
        if self.words_at("current", "of"):
            self.raise_unsupported("WHERE CURRENT OF")
        return self.expression()

    def _assignments(self) -> tuple[Assignment, ...]:
        return tuple(self.comma_list(self._assignment))

    def _assignment(self) -> Assignment:
        """Read a set_clause."""
        if not self.symbol_at("("):
            column, parts = self._set_target()
            self.expect_symbol("=")
            return Assignment(columns=(column,), value=self.value_or_default(), parts=(parts,))
        targets = self.parenthesized_list(self._set_target)
        self.expect_symbol("=")
        names, told = zip(*targets, strict=True)
        return Assignment(columns=names, value=self._row_value(), row=True, parts=told)

    def _row_value(self) -> exp.Expression:
        """Read the right side of (a, b) = ...: a row, or a query of one row; one value in parentheses is neither."""
        token = self.token
        told = self.word_at("row") and self.symbol_at("(", ahead=1)
        if told:
            self.next()
        if self.symbol_at("(") and not self._query_may_follow():
            items = self.values_row()
            return self.node(exp.Tuple, token, expressions=items) if told or len(items) > 1 else items[0]
        return self.expression()

    def _returning_clause(self) -> tuple[exp.Expression, ...]:
        return tuple(self._targets()) if self.take("returning") else ()

    # -- MERGE ---------------------------------------------------------------------------------------------------

    def _merge(self, with_: exp.With | None) -> Merge:
        self.expect("into")
        target = self._relation()
        token = self.token
        if self.take("as") or (self.column_id_at() and not self.word_at("using")):
            target.set("alias", self.node(exp.TableAlias, token, this=self.column_id(), columns=[]))
        self.expect("using")
        source = self._table_reference()
        self.expect("on")
        condition = self.expression()
        whens = [self._merge_when()]
        while self.word_at("when"):
            whens.append(self._merge_when())
        return Merge(
            target=target, source=source, condition=condition, whens=tuple(whens), returning=(), with_=with_, text=""
        )

    def _merge_when(self) -> MergeWhen:
        self.expect("when")
        matched = not self.take("not")
        self.expect("matched")
        condition = self.expression() if self.take("and") else None
        self.expect("then")
        if self.take("do", "nothing"):
            return MergeWhen(matched=matched, condition=condition, action="nothing")
        if matched and self.take("delete"):
            return MergeWhen(matched=True, condition=condition, action="delete")
        if matched:
            self.expect("update", "set")
            return MergeWhen(matched=True, condition=condition, action="update", assignments=self._assignments())
        self.expect("insert")
        columns, parts = self._insert_columns() if self.symbol_at("(") else (None, ())
        overriding: _Overriding = ""
        if self.take("overriding"):
            overriding = "user" if self.take("user") else "system"
            if overriding == "system":
                self.expect("system")
            self.expect("value")
        values: list[exp.Expression] | None = None
        if not self.take("default", "values"):
            self.expect("values")
            values = self.values_row()
        return MergeWhen(
            matched=False,
            condition=condition,
            action="insert",
            columns=columns,
            parts=parts,
            values=None if values is None else tuple(values),
            overriding=overriding,
        )
