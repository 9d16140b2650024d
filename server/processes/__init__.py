"""A server of several processes behind one address (`processes`): each is a member, so that each core runs statements.

Python runs one thread at a time, so a member keeps about one core busy with short statements, whatever the machine has.
With `processes` = N there are N members of one cluster on this machine, over one catalog, and a *dispatcher* in front
of them:

    dispatcher    holds the listening sockets, accepts clients, hands each connection to the member with the fewest, restarts
                  a member that has died, and ends all of them; it reads no byte of a client (`dispatcher`)
    members       `server.member` with a `Place`: the dispatcher hands them their clients (`place`)

The mesh already makes a cluster look like one server: cancel requests, cursors by query id, LISTEN and NOTIFY, advisory
locks and activity are routed between members. Sessions are counted in memory that all processes share (`counts`), so
that `max_connections` holds for all together. The first member has the name, the mesh address and the console of the
configuration, and drives Spark; the others use that Spark over the mesh (`configurations`).

Rejected: SO_REUSEPORT, with which the kernel spreads connections over the processes by a hash of their addresses. In
one start of five, one of two processes gets eleven or more of sixteen clients, and a pool keeps its connections for
hours; nor could a client then be told that `max_connections` is reached.
"""
