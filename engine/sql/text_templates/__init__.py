"""Templates of to_char, to_number, to_date and to_timestamp, one value at a time."""
