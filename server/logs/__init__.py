"""The member's log, in PostgreSQL's words: lines as text or JSON, statements, plans of slow ones."""
