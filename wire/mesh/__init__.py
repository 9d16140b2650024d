"""The member protocol, sans-IO: credit arithmetic, framing, messages, and the two machines of a data connection.

`credits` counts, `framing` cuts bytes into frames, `messages` says what is in them, `channel` holds the state of one data
connection at its two ends. `control_messages` and `control_channel` are the same for the connection that a pair of members
keeps. Nothing here owns a socket, knows Arrow, or reads a clock.
"""
