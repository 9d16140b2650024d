"""A server of several processes behind one address (`processes`): each is a member, so that each core runs statements.

Python runs one thread at a time, so a member keeps about one core busy with short statements, whatever the machine has. With
`processes` = N there are N members of one cluster on this machine, over one catalog, and a *dispatcher* in front of them:

    dispatcher    holds the listening sockets, accepts clients, hands each connection to the member with the fewest, starts a
                  member that has died again, and ends all of them; it reads no byte of a client (`dispatcher`)
    members       `server.member` with a `Place`: their clients are those that they are handed (`place`)

What makes a cluster look like one server is there already: cancel requests, cursors by query id, LISTEN and NOTIFY, advisory locks
and activity are routed over the mesh. Sessions are counted in memory that all processes share (`counts`), so that
`max_connections` holds for all together. The first member has the name, the mesh address and the console of the configuration, and
drives Spark; the others use that Spark over the mesh (`configurations`).

Rejected: SO_REUSEPORT, where the kernel spreads connections over the processes by a hash of their addresses. Of sixteen clients of
two processes one process gets eleven and more in one start of five, and a pool keeps its connections for hours; nor can
`max_connections` then be told to a client that comes.
"""
