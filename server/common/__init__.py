"""Facts and services of a process: its version, its limit of descriptors, garbage collection, unused memory."""
