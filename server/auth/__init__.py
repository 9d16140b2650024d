"""Authentication: pg_hba rules, login limits, and the gate that applies them."""
