"""Contracts between packages: executors, sessions, the mesh, profiles. Data and protocols."""
