"""How many random cases the tests try, and from which seed on: the only place that asks the environment for it.

ENSUE_PROFILE   `quick` tries a tenth of the cases, `full` tries all of them; it is what `make test` does
ENSUE_COUNT     tries so many cases in every random test, whatever the profile is
ENSUE_SEED      is where the seeds begin: another number gives other cases, and the same number the same cases again

pytest prints what was chosen at the top of its output. `tools/soak.py` takes the same drivers to far higher counts.
"""

from __future__ import annotations

import os

PROFILES = ("quick", "full")
PROFILE = os.environ.get("ENSUE_PROFILE", "full")
if PROFILE not in PROFILES:
    raise ValueError(f"ENSUE_PROFILE is {PROFILE!r}, which is not one of {', '.join(PROFILES)}")
SEED = int(os.environ.get("ENSUE_SEED", "0"))
COUNT = int(os.environ.get("ENSUE_COUNT", "0"))


def amount(full: int) -> int:
    """How many cases a random test tries that tries so many in a full run."""
    if COUNT:
        return COUNT
    return full if PROFILE == "full" else max(1, full // 10)


def shares(full: int, *, each: int, first: int = 0) -> list[range]:
    """The seeds of a random test, in parts of at most `each`: a parameter of the test, so that a failure tells a part.

    >>> shares(250, each=100)
    [range(0, 100), range(100, 200), range(200, 250)]
    """
    begin = SEED + first
    end = begin + amount(full)
    return [range(k, min(k + each, end)) for k in range(begin, end, each)]


def most(seeds: range, share: float) -> float:
    """The count that so large a share of the seeds makes; of a few seeds, where chance decides, it asks for none."""
    return share * len(seeds) if len(seeds) >= 100 else -1


def told() -> str:
    """What was chosen, in one line."""
    cases = f"{COUNT:,} in each test" if COUNT else {"quick": "a tenth in each test", "full": "all"}[PROFILE]
    return f"random cases: {cases}, from seed {SEED} on (ENSUE_PROFILE={PROFILE} ENSUE_COUNT ENSUE_SEED change it)"
