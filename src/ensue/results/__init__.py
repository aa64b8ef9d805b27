"""Turns positions into rows: matches, detections, rows of a running query; and shows and writes them."""
