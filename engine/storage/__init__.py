"""Tables that change: Parquet files in a folder each, a Delta log beside them, and the catalog that says what is committed.

The theory is that of a database with a write-ahead log. The **catalog database** is the log: a commit is one transaction there,
which writes a *decision* for each table of which files come or go (`engine.catalog.store.rows.Decision`), together with the changes
of definitions and the catalog's next version. That transaction is the commit point, for all tables at once: before it nothing
is visible, after it everything is, durably, to every member. **Delta's log** is the checkpoint: publishing (`publish`) writes
decisions that are not there yet into each table's Delta log, pins the version that this makes, and deletes them. So what a
reader opens is a pinned Delta version, with the few decisions that came after it: `Storage.version`, `.added`, `.removed`.

What follows from it:

- There is no state "decided, not visible yet", so nobody waits for anybody: neither a reader nor another commit need know
  whether a decision of somebody else's is published, nor whether that member is alive.
- Publishing is idempotent. Delta's `txn` action carries the number of the last decision that is in the log, so a second
  publisher, or one after a crash, finds out what is left to do; two at a time meet at Delta's own put-if-absent. Anybody may
  do it, at any time: the committer's member does so a moment after it answered its client, the next start of any member
  otherwise.
- Many small commits are one Delta commit: an INSERT a row costs a Parquet file and one transaction of the catalog database.

Files are written before they are named anywhere (`staging`), are never changed, and their names are never given twice. What
nobody names is an orphan: a rollback removes its own, those of a crash are VACUUM's.

A folder is one table for its whole life: a table whose rows are all written anew (ALTER TYPE, say) moves to a new folder, as
PostgreSQL moves to a new relfilenode, and the old one is dropped with the commit that says so. A dropped folder stays for
an hour, because queries that began a moment ago still read it (`tables.DROPPED_SECONDS`).

| module | what |
|---|---|
| `types` | PostgreSQL types as files hold them |
| `staging`, `statistics` | writing files, and what Delta says of each |
| `delta` | Delta's log through delta-rs: create, the files of a version, one commit |
| `tables` | a stored table's folder and its files |
| `publish` | from decisions in the catalog to versions of Delta |
| `underway`, `vacuum` | what is written and not named yet; removing what nobody can name any more |
| `backup`, `file_copies` | backup and restore of the catalog and of the files that it names |

Rejected: to make a decision visible only when all its tables are published (two more states, a reader that waits for a
writer, 10 ms more for each commit); to keep all files in the catalog and write Delta's log for others only (a table of a
hundred thousand files does not belong in SQLite rows); to let Delta's log be the commit point (a transaction over two tables
has none). docs/adr/0005-storage.md has more; docs/storage.md follows one commit through its crashes.
"""
