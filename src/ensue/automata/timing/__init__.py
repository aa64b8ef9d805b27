"""Classifies timed automata (Garcia and Riveros, sections 5 and 6). Nothing here changes the result of a query."""
