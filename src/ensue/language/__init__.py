"""The language: its grammar, its tree, and the builder that makes the same tree in Python."""
