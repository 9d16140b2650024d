"""The function table: one row (`engine.plan_ir.expr.Function`) per PostgreSQL function, operator, cast and aggregate
signature.

A row has the contents of PostgreSQL's pg_proc, pg_operator or pg_cast (argument types, result type, strictness,
volatility) and each engine's way to compute it. The binder resolves calls against it by chapter 10's rules,
`engine.planner.codegen` builds the engine's tree from it, the system catalog lists it, and a test runs every row on
Spark, DuckDB and PostgreSQL.

**Templates.** `local` and `spark` are SQL snippets in that engine's own dialect with `$1`, `$2` ... for the arguments
(`$*` for all arguments of a variadic call). A snippet is parsed once into a sqlglot tree and then copied with the
arguments inserted. Where a snippet is not sufficient, the template is a Python callable from the arguments' trees and
the bound call to a tree. None means that the engine lacks the function: the planner chooses the other engine, or
refuses with 0A000.

A snippet may rely on the following, beyond scalar calls (`engine.planner.codegen` implements it):
- every function call in a snippet is kept verbatim; arguments are put in parentheses where precedence requires it; a
  placeholder for an optional argument that was not given is dropped from its call's arguments;
- a numeric result is cast to the call's decimal(p, s) by the compiler, so the snippet need not;
- *aggregate*, *window*: DISTINCT, ORDER BY, FILTER and OVER are put on every call in the snippet that names an aggregate
  or window function of the engine (`engine.planner.codegen.aggregate_names`), so `CAST(SUM($1) AS BIGINT)` is one snippet;
- *ordered_set*: the placeholders are the direct arguments, then WITHIN GROUP's expressions; a descending or nulls-first
  order is on `call.order_by` (a callable) or, where the snippet has `WITHIN GROUP (ORDER BY $2)`, put there;
- *returns_set*: the snippet yields an array of the rows (of structs `f0`, `f1` ... for records), which the compiler unnests.

A template guarantees: given arguments in the storage types of their declared types (`engine.sql.trees.storage_types`),
it yields the storage type of the result and PostgreSQL's result, including null behaviour and errors. It raises an
error by the engine's own means with the text `SQLSTATE:xxxxx:message` (see `raising`), which the executors translate
back.
"""
