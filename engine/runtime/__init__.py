"""The control plane: the state machines of distributed queries, their registry, mailboxes, and the thread pools."""
