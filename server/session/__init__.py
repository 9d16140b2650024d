"""A session's state, whichever door its client came through: settings, transaction, commands, notifications; the registry."""
