"""The binder of INSERT, UPDATE, DELETE, MERGE and COPY FROM: from parse trees to a MUTATE.

    bound = bind_mutation(statement, BindContext(...))

`target` finds the table and prepares values for its columns: assignment casts, defaults, checks. `insert`, `rewrite`
(UPDATE and DELETE), `conflict` (ON CONFLICT) and `merge` bind the statements that they are named after; `outcome` adds
checks and RETURNING on top.

Source: PostgreSQL, analyze.c (transformInsertStmt, transformUpdateStmt, transformDeleteStmt), rewriteTargetListIU.
"""

from engine.sql.binder.mutations.bind import BoundMutation, bind_mutation

__all__ = ["BoundMutation", "bind_mutation"]
