"""The grammar of queries: PostgreSQL's gram.y, read by recursive descent into sqlglot trees.

There is one layer per file, each a class over the one below: `reader` (tokens, names, errors), `types` (type names),
`windows` (orderings, windows, frames), `forms` (CASE, CAST, SUBSTRING ... FROM and the like), `calls` (function calls,
constants of a type), `expressions` (operators and names), `queries`, `mutations` (statements that change rows).
`engine.sql.parser.parse` and `engine.sql.parser.utility` drive it.

sqlglot's own PostgreSQL parser is designed to translate whatever it is given: it reads `a = b IS NULL` as `a = (b IS
NULL)`, renumbers `a[1]`, and does not keep that `E'x'` is text or where a `::` was. A server must reject what
PostgreSQL rejects, report the same position and bind by the same precedence. The grammar here is therefore PostgreSQL's
own; only the node classes of its result are sqlglot's.

**Every node has `meta["start"]`**, the 0-based offset of its token in the statement's text
(`engine.sql.parser.lexical.positions.position`). Identifiers are already folded to lower case, unless they were quoted.
These are the shapes, where `e` is an expression:

`a`, `t.a`, `s.t.a`
    `Column(this=Identifier, table=, db=, catalog=)`; `Column.parts` are the identifiers
`*`, `t.*`
    `Star()`, `Column(this=Star(), table=...)`; `count(*)` has a `Star()` argument
`(e).f`, `(e).*`
    `Dot(this=e, expression=Identifier | Star)`
`e[i]`, `e[i:j]`
    `Bracket(this=e, expressions=[i | Slice(this=i?, expression=j?)])`, one subscript each, **as written**
`1`, `1.5`, `1e3`
    `Literal(this="1.5", is_string=False)`
`'x'`, `E'x'`, `U&'x'`, `$$x$$`
    `Literal(this="x", is_string=True)`, escapes resolved
`true`, `null`, `$1`
    `Boolean(this=True)`, `Null()`, `Parameter(this="1")`
`a + b` and `- * / % ^ ||`, `= <> < <= > >=`
    `Add Sub Mul Div Mod Pow DPipe EQ NEQ LT LTE GT GTE(this, expression)`
`- a`, `+ a`
    `Neg(this)`, `Operator(operator="+", expression)`; `-5` is `Neg(Literal)`
any other operator
    `Operator(this=left or absent, operator="~", schema="pg_catalog" or absent, expression=right)`; also
    `OPERATOR(s.+)`
`e op ANY (array)`, `ALL`, `SOME`
    the operator's node with `expression=Any(this=e) | All(this=e)`; a query there: `Any(this=Select ...)`
`e LIKE p [ESCAPE x]`, `ILIKE`, `SIMILAR TO`
    `Like ILike SimilarTo(this, expression)`, in `Escape(this=.., expression=x)`, in `Not(...)`; `p` may be
    `Any`/`All`
`AND OR NOT`
    `And Or(this, expression)`, `Not(this)`
`IS NULL`, `IS TRUE`, `IS FALSE`, `IS UNKNOWN`
    `Is(this, expression=Null() | Boolean() | Var("unknown"))`; `IS NOT`: `Not(Is(...))`
`IS [NOT] DISTINCT FROM`
    `NullSafeNEQ`, `NullSafeEQ(this, expression)`
`BETWEEN`, `BETWEEN SYMMETRIC`
    `Between(this, low, high, symmetric=True or absent)`; `NOT` as `Not(...)`
`IN (a, b)`, `IN (query)`
    `In(this, expressions=[...])`, `In(this, query=Subquery(this=query))`; `NOT` as `Not(...)`
`(a, b)`, `ROW(a, b)`, `ROW()`
    `Tuple(expressions)`; the latter two with `meta["row"]`
`(e)`
    `e` itself, with `meta["paren"]`, so that parentheses express precedence only
`(query)`, `EXISTS (query)`, `ARRAY(query)`
    `Subquery(this=query)`, `Exists(this=query)`, `Array(expressions=[query], meta subquery)`
`ARRAY[a, b]`
    `Array(expressions=[...])`; nested brackets are nested `Array`s
`CASE`
    `Case(this?, ifs=[If(this, true)], default?)`
`e::t`, `CAST(e AS t)`, `t 'x'`, `INTERVAL '1' DAY`
    `Cast(this, to=DataType)`; `meta["typed_literal"]` for the last two.
    `engine.sql.binder.type_names.resolve_type(to)` returns its SqlType
`f(a, VARIADIC b, n => c)`
    `Anonymous(this="f", expressions=[a, Variadic(b), Kwarg(this=Identifier n, expression=c)], schema="s" or
    absent)`
`f(DISTINCT a ORDER BY b)`
    `Anonymous(this="f", expressions=[a], distinct=True, order=Order(expressions=[Ordered, ...]))`
`f(..) FILTER (WHERE c)`, `WITHIN GROUP (ORDER BY ..)`
    `Filter(this=f, expression=Where(c))`, `WithinGroup(this=f, expression=Order)`; `Filter` outside
`f(..) OVER w`, `OVER (...)`
    `Window(this=f or Filter, partition_by, order=Order, spec=WindowSpec, alias=Identifier w)`; see
    `Scope.resolve_window`
a frame
    `WindowSpec(kind="ROWS", start="UNBOUNDED" | "CURRENT ROW" | e, start_side="PRECEDING" | "FOLLOWING", end,
    end_side, exclude="CURRENT ROW" | "GROUP" | "TIES")`; `end` absent means the current row
`x DESC NULLS LAST`, `USING >`
    `Ordered(this, desc=bool, nulls_first=bool)`, both always set
`COALESCE NULLIF GREATEST LEAST GROUPING`
    `Anonymous(this="coalesce", ...)`, and so on
`EXTRACT(f FROM e)`
    `Extract(this=Var("f"), expression=e)`
`SUBSTRING(a FROM b FOR c)`, `(a SIMILAR p ESCAPE e)`
    `Anonymous("substring", [a, b, c])`, with `FOR c` only: `[a, 1, c]`; `Anonymous("substring", [a, p, e])`:
    PostgreSQL's own rewriting
`POSITION(a IN b)`, `OVERLAY(..)`, `TRIM(LEADING a FROM b)`
    `Anonymous("position", [b, a])`, `Anonymous("overlay", [..])`, `Anonymous("btrim" | "ltrim" | "rtrim", [b,
    a])`: likewise
`e AT TIME ZONE z`
    `AtTimeZone(this=e, zone=z)`
`e COLLATE "C"`
    `Collate(this=e, expression=Identifier)`
`CURRENT_DATE`, `LOCALTIME(3)`, `CURRENT_USER`, `USER`, ...
    `Anonymous(this="current_date", expressions=[], meta["keyword"])`; the precision as an argument
`(a, b) OVERLAPS (c, d)`
    `Anonymous("overlaps", [a, b, c, d])`

Queries (the query binder handles what is inside FROM):

`SELECT`
    `Select(expressions, distinct=Distinct(on=Tuple?), from_=From(expressions=[item, ...]), where=Where, group=Group,
    having=Having, windows=[Window(this=Identifier, ...)])`; a select list's items are `e`, `Alias(this=e,
    alias=Identifier)`, `Star`
`VALUES (..), (..)`
    `Values(expressions=[Tuple, ...])`
`UNION INTERSECT EXCEPT`
    `Union Intersect Except(this, expression, distinct=bool)`
any of them
    with `order=Order`, `limit=Limit(expression) | Fetch(count, with_ties)`, `offset=Offset(expression)`,
    `with_=With(expressions=[CTE(this, alias=TableAlias(this, columns), materialized)], recursive)`
`t x (a, b)`
    `Table(this, db, catalog, alias=TableAlias(this, columns))`
`f(..) WITH ORDINALITY x`, `ROWS FROM (f, g) x`
    `Table(rows_from=[calls], ordinality, alias)`
`'path' x`
    `Table(file=Literal, alias, version, sample)`
`(query) x`, `(a JOIN b ..) x`
    `Subquery(this, alias)`, `Paren(this=Join, alias)`
`LATERAL`
    `meta["lateral"]` on a Table or Subquery
`a JOIN b ON c`, `USING (x) AS j`, `NATURAL`
    `Join(left, this=right, kind="INNER" | "LEFT" | "RIGHT" | "FULL" | "CROSS", on, using=[Identifier], alias, natural)`
`GROUP BY`
    `Group(expressions=[e | Tuple | Rollup | Cube | GroupingSets], distinct)`; `()` is an empty Tuple
"""
