"""ANALYZE, VACUUM, REINDEX, LOCK TABLE, and compaction in the background."""
