"""One protocol for all that evaluates a query: whole tables, batches, the reference, deadlines as a layer over it."""
