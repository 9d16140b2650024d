"""The handlers of statements, one package for each kind of statement."""
