"""Helpers that tests of several folders share: servers as processes, clients, scripts, worlds and oracles."""
