"""Helpers that tests of several folders share: servers as processes, clients, scripts, simulated worlds and test
oracles.
"""
