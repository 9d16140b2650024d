"""EXPLAIN: logical and physical plans as text, JSON, XML and YAML."""
