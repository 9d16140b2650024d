"""Tables that change: Parquet files in a folder each, a Delta log beside them, and the catalog that says what is
committed.

The theory is that of a database with a write-ahead log. The **catalog database** is the log: a commit is one
transaction there. For each table it writes a *decision* of which files are added or removed
(`engine.catalog.store.rows.Decision`), together with the changes of definitions and the catalog's next version. That
transaction is the commit point, for all tables at once: before it nothing is visible, after it everything is, durably,
to every member. **Delta's log** is the checkpoint: publishing (`engine.catalog.store.publication`) writes decisions
that are not there yet into each table's Delta log, pins the resulting version, and deletes the decisions. So a reader
opens a pinned Delta version and applies the few decisions that came after it: `Storage.version`, `.added`, `.removed`.

It follows that:

- There is no state "decided, not visible yet", so nobody waits for anybody: neither a reader nor another commit needs to know
  whether a decision of another member is published, or whether that member is alive.
- Publishing is idempotent. Delta's `txn` action carries the number of the last decision that is in the log, so a second
  publisher, or one after a crash, finds out what remains to be done. Two concurrent publishers meet at Delta's own put-if-absent.
  Any member may publish, at any time: the committer's member does so a moment after it has answered its client, otherwise the
  next start of any member does.
- Many small commits become one Delta commit: an INSERT of one row costs a Parquet file and one transaction of the catalog database.

Files are written before they are named anywhere (`staging`) and are never changed, and their names are never reused. A
file that nothing names is an orphan: a rollback removes its own, and VACUUM removes those of a crash.

A folder is one table for its whole life. A table whose rows are all rewritten (ALTER TYPE, say) moves to a new folder,
as PostgreSQL moves to a new relfilenode, and the commit that says so drops the old one. A dropped folder stays for an
hour, because queries that began a moment ago still read it (`tables.DROPPED_SECONDS`).

| module | what |
|---|---|
| `types` | PostgreSQL types as files hold them |
| `staging`, `statistics` | writing files, and Delta's statistics of each |
| `delta` | Delta's log through delta-rs: create, the files of a version, one commit |
| `tables` | a stored table's folder and its files |
| `engine.catalog.store.publication` | from decisions in the catalog to versions of Delta |
| `in_flight_files` | files that are written and not named yet |
| `engine.statements.maintenance.vacuum` | removing what nothing can name any more |
| `engine.catalog.store.backup`, `file_copies` | backup and restore of the catalog and of the files that it names |

Rejected: making a decision visible only when all its tables are published (two more states, a reader that waits for a
writer, 10 ms more for each commit); keeping all files in the catalog and writing Delta's log only for other readers (a
table of a hundred thousand files does not belong in SQLite rows); letting Delta's log be the commit point (a
transaction over two tables has none). docs/adr/0005-storage.md has more; docs/storage.md follows one commit through its
crashes.
"""
