"""Prepared statements, portals and cursors, of this member's sessions and of other members'."""
