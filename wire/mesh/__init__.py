"""The member protocol, sans-IO: credit arithmetic, framing, messages, and the two machines of a data connection.

`credits` does the credit arithmetic, `framing` cuts bytes into frames, `messages` defines the contents of frames, and
`channel` holds the state of each end of a data connection. `control_messages` and `control_channel` do the same for the
control connection that each pair of members keeps open. This package owns no socket, does not know Arrow, and reads no
clock.
"""
