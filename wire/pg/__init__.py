"""PostgreSQL's protocol 3: messages, the machine of a connection, rows."""
