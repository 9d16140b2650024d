"""Membership and links between members, lite members, and clusters on one machine."""
