"""Answers at once that are corrected later: from changes of the events to changes of the matches."""
