"""Positions to rows: matches, detections, rows of a running query, and how they are shown and written."""
