"""Pages to look at: one of a result, and one of a stream that runs. Each is one file that needs nothing else."""
