"""The settings of a session, their units and ranges, and the configuration of an engine."""
