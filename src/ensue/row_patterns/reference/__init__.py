"""The slow reference: the rules of the standard, one row and one choice after the other.

It shares no evaluation with the search over columns, and every random test compares the two.
"""
