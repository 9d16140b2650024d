"""Deterministic simulation: whole clusters in one thread, on a virtual network and clock, all chance from one seed.

The real membership, listener, runtime, planner and local engine run; what is simulated is what lies below them: the event loop,
sockets, threads, disks. Each member is a process with an event loop of its own, so that one can be stopped, slowed, killed or have
a wrong clock without a word to its code. `world` has the clock and the processes, `network` the sockets, `pools` the threads,
`member` puts a member together, `lake` and `statements` what is asked and the right answers, `scenario` what happens, all of it
from the seed, `verdict` what must hold, and `run` is one seed from begin to end.

Sources: FoundationDB's simulation (deterministic processes in one thread); the seeds for what may go wrong.
"""
