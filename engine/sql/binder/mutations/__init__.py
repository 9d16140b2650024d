"""Statements that change rows, from their trees to a MUTATE (analyze.c: transformInsertStmt, transformUpdateStmt,
transformDeleteStmt; rewriteTargetListIU).

    bound = bind_mutation(statement, BindContext(...))

`target` finds the table and says what its columns take: assignment casts, defaults, checks. `insert`, `rewrite` (UPDATE and
DELETE), `conflict` (ON CONFLICT) and `merge` bind what their names say; `outcome` puts checks and RETURNING on top.
"""

from engine.sql.binder.mutations.bind import BoundMutation, bind_mutation

__all__ = ["BoundMutation", "bind_mutation"]
