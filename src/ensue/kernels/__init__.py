"""Plan and columns to matches: the only folder that imports numba."""
