"""A member's configuration."""
