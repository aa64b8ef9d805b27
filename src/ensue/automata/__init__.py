"""Automata of queries: their model, one construction for each operator, and what is known about them."""
