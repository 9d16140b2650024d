"""The catalog database and its transactions: SQLite or PostgreSQL, commit, publication to Delta's logs, sweeps, backups."""
