"""The function table: one row (`engine.plan_ir.expr.Function`) per PostgreSQL function, operator, cast and aggregate signature.

A row says what PostgreSQL's pg_proc, pg_operator or pg_cast says (argument types, result type, strictness, volatility)
and how each engine computes it. The binder resolves calls against it by chapter 10's rules, `engine.planner.codegen` builds
the engine's tree from it, the system catalog lists it, and a test runs every row on Spark, DuckDB and PostgreSQL.

**Templates.** `local` and `spark` are SQL snippets in that engine's own dialect with `$1`, `$2` ... for the arguments
(`$*` for all arguments of a variadic call), parsed once into a sqlglot tree and then copied with the arguments put in
place; or a Python callable from the arguments' trees and the bound call to a tree, where a snippet cannot say it. None:
the engine lacks it; the planner picks the other one, or refuses with 0A000.

What a snippet may rely on, beyond scalar calls (`engine.planner.codegen` holds to it):
- every function call in a snippet is kept verbatim; arguments are put in parentheses where precedence asks for it; a
  placeholder for an optional argument that was not given is dropped from its call's arguments;
- a numeric result is cast to the call's decimal(p, s) by the compiler, so the snippet need not;
- *aggregate*, *window*: DISTINCT, ORDER BY, FILTER and OVER are put on every call in the snippet that names an aggregate
  or window function of the engine (`engine.planner.codegen.aggregate_names`), so `CAST(SUM($1) AS BIGINT)` is one snippet;
- *ordered_set*: the placeholders are the direct arguments, then WITHIN GROUP's expressions; a descending or nulls-first
  order is on `call.order_by` (a callable) or, where the snippet says `WITHIN GROUP (ORDER BY $2)`, put there;
- *returns_set*: yields an array of the rows (of structs `f0`, `f1` ... for records), which the compiler unnests.

A template's promise: given arguments in the storage types of their declared types (`engine.sql.trees.storage_types`), it
yields the storage type of the result and PostgreSQL's answer, null behaviour and errors included. An error is raised by
the engine's own means with the text `SQLSTATE:xxxxx:message` (see `raising`), which the executors translate back.
"""
