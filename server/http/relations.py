"""Metadata queries of Trino's clients: SHOW, DESCRIBE, and relations that PostgreSQL lacks or has with other columns.

A query of `information_schema.columns` reads Trino's version of it, with Trino's names of types, and comments.
`system.jdbc` and `system.metadata` have those of Trino's relations that its SQLAlchemy dialect queries. Each relation
is a query in PostgreSQL's SQL, which buenavista's `Rewriter.relation` inserts.
"""

from __future__ import annotations

from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from engine.catalog.model.objects import DATABASE
from server.http.dialect import TRINO, TrinoRewriter
from server.http.types import names
from wire.errors import FeatureNotSupported, SqlSyntaxError

_COLUMNS: Final = """
select c.table_catalog, c.table_schema, c.table_name, c.column_name, cast(c.ordinal_position as bigint) as ordinal_position,
    c.column_default, c.is_nullable,
    case
        when c.udt_name = 'numeric' then format('decimal(%s,%s)', coalesce(c.numeric_precision, 38), coalesce(c.numeric_scale, 16))
        when c.udt_name = 'varchar' and c.character_maximum_length is not null
            then format('varchar(%s)', c.character_maximum_length)
        when c.udt_name = 'bpchar' then format('char(%s)', coalesce(c.character_maximum_length, 1))
        when c.data_type = 'ARRAY' then
            'array(' || coalesce(e.trino, case when c.udt_name = '_numeric' then 'decimal(38,16)' else 'varchar' end) || ')'
        else coalesce(n.trino, 'varchar')
    end as data_type,
    col_description(r.oid, cast(c.ordinal_position as integer)) as comment
from information_schema.columns c
    join pg_catalog.pg_namespace s on s.nspname = c.table_schema
    join pg_catalog.pg_class r on r.relnamespace = s.oid and r.relname = c.table_name
    left join names n on n.name = c.udt_name
    left join names e on '_' || e.name = c.udt_name
"""
_CATALOGS: Final = "select catalog_name as table_cat from information_schema.information_schema_catalog_name"
_TABLE_COMMENTS: Final = """
select current_database() as catalog_name, s.nspname as schema_name, r.relname as table_name,
    obj_description(r.oid, 'pg_class') as comment
from pg_catalog.pg_class r join pg_catalog.pg_namespace s on s.oid = r.relnamespace
where r.relkind in ('r', 'v', 'm', 'f', 'p')
"""
_SHOWN: Final = {
    "catalogs": 'select catalog_name as "Catalog" from information_schema.information_schema_catalog_name',
    "schemas": 'select schema_name as "Schema" from information_schema.schemata',
    "tables": 'select table_name as "Table" from information_schema.tables',
    "columns": (
        """select column_name as "Column", data_type as "Type", '' as "Extra", coalesce(comment, '') as "Comment" """
        "from information_schema.columns"
    ),
}
#: The column to which LIKE is applied.
_NAMED_BY: Final = {
    "catalogs": "catalog_name",
    "schemas": "schema_name",
    "tables": "table_name",
    "columns": "column_name",
}


def rewriter() -> TrinoRewriter:
    """Return a rewriter that knows the relations."""
    made = TrinoRewriter()
    for name, query in (
        ("information_schema.columns", columns),
        (f"{DATABASE}.information_schema.columns", columns),
        ("system.jdbc.catalogs", lambda: _parse_query(_CATALOGS)),
        ("system.metadata.table_comments", lambda: _parse_query(_TABLE_COMMENTS)),
    ):
        made.relation(name)(query)
    return made


def _parse_query(sql: str) -> exp.Query:
    return sqlglot.parse_one(sql, read="postgres", into=exp.Select)


def columns() -> exp.Query:
    """Return the query for Trino's information_schema.columns."""
    values = exp.values(list(names().items()), alias="v", columns=["name", "trino"])
    return _parse_query(_COLUMNS).with_("names", exp.select("name", "trino").from_(values))


def describe(table: exp.Table) -> exp.Expression:
    """Return the query for DESCRIBE, which is SHOW COLUMNS."""
    return _of_table(table, None)


def show(words: str) -> exp.Expression | None:
    """Return the query for SHOW CATALOGS | SCHEMAS | TABLES | COLUMNS. Return None for a word that may name a setting.

    Raises FeatureNotSupported for other things that Trino shows, SqlSyntaxError.
    """
    tokens = TRINO.tokenize(words)
    if not tokens:
        raise SqlSyntaxError("expected what SHOW is to show, such as TABLES, or the name of a setting")
    what, rest = tokens[0].text.lower(), tokens[1:]
    if what not in _SHOWN:
        if not rest and what not in ("session", "functions"):
            return None
        raise FeatureNotSupported(f"not supported: SHOW {words}")
    place, rest = _place(words, rest)
    pattern = _pattern(rest)
    if what == "columns":
        if place is None:
            raise SqlSyntaxError("expected SHOW COLUMNS FROM a table")
        return _of_table(place, pattern)
    query = _like(_parse_query(_SHOWN[what]), what, pattern)
    if what == "tables":
        query = query.where(exp.column("table_schema").eq(_schema("" if place is None else place.name)))
    return query.order_by(exp.Literal.number(1))


def _place(words: str, tokens: list[Token]) -> tuple[exp.Table | None, list[Token]]:
    """Return the name after FROM or IN, and the tokens that follow it."""
    if not tokens or tokens[0].token_type not in (TokenType.FROM, TokenType.IN):
        return None, tokens
    end = 2
    while end + 1 < len(tokens) and tokens[end].token_type is TokenType.DOT:
        end += 2
    if len(tokens) < 2:
        raise SqlSyntaxError("expected a name behind FROM")
    return exp.to_table(words[tokens[1].start : tokens[end - 1].end + 1], dialect=TRINO), tokens[end:]


def _pattern(tokens: list[Token]) -> str | None:
    match tokens:
        case []:
            return None
        case [like, pattern] if like.token_type is TokenType.LIKE and pattern.token_type is TokenType.STRING:
            return str(pattern.text)
    raise SqlSyntaxError(f'syntax error at or near "{tokens[0].text}"')


def _like(query: exp.Query, what: str, pattern: str | None) -> exp.Select:
    assert isinstance(query, exp.Select)
    if pattern is None:
        return query
    return query.where(exp.column(_NAMED_BY[what]).like(exp.Literal.string(pattern)))


def _of_table(table: exp.Table, pattern: str | None) -> exp.Expression:
    return (
        _like(_parse_query(_SHOWN["columns"]), "columns", pattern)
        .where(exp.column("table_schema").eq(_schema(table.db)))
        .where(exp.column("table_name").eq(exp.Literal.string(table.name)))
        .order_by(exp.column("ordinal_position"))
    )


def _schema(name: str) -> exp.Condition:
    return exp.Literal.string(name) if name else exp.func("current_schema")
