"""What a checked query is: scopes, types, and what can be told about it without events."""
