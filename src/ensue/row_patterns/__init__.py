"""MATCH_RECOGNIZE: SQL's row pattern matching, with its own reader, checks, reference and search."""
