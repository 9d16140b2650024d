"""Deterministic simulation: whole clusters in one thread, on a virtual network and clock; one seed decides all
randomness.

The real membership, listener, runtime, planner and local engine run. The layers below them are simulated: the event
loop, sockets, threads, disks. Each member is a process with its own event loop, so that one can be stopped, slowed,
killed or given a wrong clock without its code noticing. `world` has the clock and the processes, `network` the sockets,
`pools` the threads. `member` assembles a member. `lake` and `statements` have the queries and the right answers.
`scenario` derives the events of a run from the seed, `verdict` has the invariants, and `run` runs one seed from
beginning to end.

Sources: FoundationDB's simulation (deterministic processes in one thread); the seeds for the faults that may happen.
"""
