"""Bytes in, events out: protocols, types and their text and binary formats. No socket, clock, thread or engine."""
