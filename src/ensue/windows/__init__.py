"""Whether two queries define the same windows, over every stream there can be.

The answer is not a guess from examples: the automata of both queries are compared. Where they differ, the answer has a
stream and a window on which they do, and both queries were run over it.

>>> rises = "SELECT count(w) AS n FROM S WINDOW w AS (IS ANY : ANY[v > PREV(v)]:+)"
>>> never_falls = "SELECT count(w) AS n FROM S WINDOW w AS (IS ANY : ANY[v >= PREV(v)]:+)"
>>> print(same(rises, never_falls))
only the second has the window from event 0 to event 1
time  type   v
----  -----  -
0     other  0
0     other  0
"""

from ensue.windows.comparison import Comparison, contains, same

__all__ = ["Comparison", "contains", "same"]
