"""The user's data as one ordered stream of events in columns, and complex events as positions in that stream."""
