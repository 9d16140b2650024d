"""Clients of the PostgreSQL protocol: connections, sessions, the simple and the extended query protocol."""
