"""How many random cases the tests try, and from which seed. No other file reads these settings.

ENSUE_PROFILE   `usual`, as `make test` has it, tries half of the cases, `quick` a tenth, and `full` all of them
ENSUE_COUNT     this many cases in every random test, whatever the profile is
ENSUE_SEED      the first seed: the same number gives the same cases again, another number gives others

pytest prints the settings at the top of its output. `tools/soak.py` runs the same tests with far more cases.
"""

from __future__ import annotations

import os

#: One in so many cases is tried.
PROFILES = {"quick": 10, "usual": 2, "full": 1}
PROFILE = os.environ.get("ENSUE_PROFILE", "usual")
if PROFILE not in PROFILES:
    raise ValueError(f"ENSUE_PROFILE is {PROFILE!r}, which is not one of {', '.join(PROFILES)}")
SEED = int(os.environ.get("ENSUE_SEED", "0"))
COUNT = int(os.environ.get("ENSUE_COUNT", "0"))


def amount(full: int) -> int:
    """How many cases a random test tries now, if it tries `full` cases in a full run."""
    if COUNT:
        return COUNT
    return max(1, full // PROFILES[PROFILE])


def shares(full: int, *, each: int, first: int = 0) -> list[range]:
    """The seeds of a random test in parts of at most `each`. A part is a parameter, so a failure shows its part."""
    begin = SEED + first
    end = begin + amount(full)
    return [range(k, min(k + each, end)) for k in range(begin, end, each)]


def most(seeds: range, share: float) -> float:
    """This share of the seeds, as a count that a test must exceed. With few seeds any count will do."""
    return share * len(seeds) if len(seeds) >= 100 else -1


def told() -> str:
    """The settings in one line."""
    cases = f"{COUNT:,} in each test" if COUNT else f"one in {PROFILES[PROFILE]}"
    return f"random cases: {cases}, from seed {SEED} on (ENSUE_PROFILE={PROFILE} ENSUE_COUNT ENSUE_SEED change it)"
