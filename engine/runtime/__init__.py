"""The control plane: distributed queries as machines, their registry, mailboxes, and the thread pools."""
