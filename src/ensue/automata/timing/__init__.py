"""What kind of timed automaton a query is: Garcia and Riveros, sections 5 and 6. Nothing here changes a result."""
