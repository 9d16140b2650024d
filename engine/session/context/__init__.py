"""The state of a session that handlers of statements use: roles, sequences, cached statements, session functions."""
