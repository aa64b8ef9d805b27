"""What the user has, as one ordered stream of events in columns; and complex events as positions in it."""
