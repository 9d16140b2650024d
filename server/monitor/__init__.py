"""Activity of members: records of statements, cancellation of a statement, questions to other members."""
