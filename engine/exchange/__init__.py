"""The data plane: streams of batches between members and from Spark's tasks, their credits, merges and spool files."""
