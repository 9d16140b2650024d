"""Readers that several packages of `wire` share."""
