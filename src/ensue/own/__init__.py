"""What users hand to queries: functions, aggregates and automata of their own, and the registry of their names."""
