"""The data of a plan: expressions, logical and physical nodes, topologies, and what participants receive."""
