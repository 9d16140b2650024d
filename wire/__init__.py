"""Protocols, types, and the text and binary formats of values: bytes in, events out. The package uses no socket, no
clock, no thread and no engine.
"""
