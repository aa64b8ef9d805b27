"""The meaning of a query, written from the language page: slow, clear, and what every engine is tested against.

`expressions` is section 4 of the page, `patterns` sections 3 and 5, `queries` section 6. No automaton is used.
"""

from ensue.engines.reference.queries import evaluate

__all__ = ["evaluate"]
