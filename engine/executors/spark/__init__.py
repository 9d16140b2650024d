"""The Spark executor: the session, tables and views, jobs whose tasks send or write rows."""
