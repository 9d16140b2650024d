"""Readers that several parts of the wire share."""
