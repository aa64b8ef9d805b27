"""Placeholder."""


def measured(*a):
    return [{"name": "skipped"}]
