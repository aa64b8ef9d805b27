"""`make soak`: the random tests with counts that are too large for `make test`. It runs in parts and sums up each.

    make soak                       runs every part that has not passed at this commit
    make soak PART="kills laws"     runs these parts, even if they have passed
    make soak COUNT=100 SEED=7      runs other numbers of cases, or other cases

Each part runs in its own process, with a limit on its memory; two parts run side by side. `.soak/` keeps the results:
the lines of the summary, and texts that show each difference.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from soak_parts import FOLDERS, PARTS, Part

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".soak"
#: The limit on the address space of each part. It is large because a JVM reserves more than it uses.
MEGABYTES = 8_000
HOURS = 3
#: At most this many differences are kept for each part.
SHOWN = 20
Line = dict[str, Any]


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--part", default="", help="names of parts; all by default")
    asked.add_argument("--count", type=int, default=0, help="the number of cases in each part, instead of its own")
    asked.add_argument("--seed", type=int, default=0, help="the first seed")
    asked.add_argument("--jobs", type=int, default=2, help="how many parts run side by side")
    asked.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    chosen = [part for part in PARTS if not given.part or part.name in given.part.split()]
    if unknown := set(given.part.split()) - {part.name for part in PARTS}:
        asked.error(f"no part is named {', '.join(sorted(unknown))}: there are {', '.join(p.name for p in PARTS)}")
    if given.inner:
        print(json.dumps(seen_by(chosen[0], given.seed, given.count)))
        return 0
    KEPT.mkdir(exist_ok=True)
    at = commit()
    wanted = [(part, given.seed, given.count or part.count) for part in chosen]
    before = [] if given.part else [line for part in wanted if (line := kept_line(at, *part))]
    missing = [part for part in wanted if part[0].name not in {line["part"] for line in before}]
    print(f"soak at {at}: {len(missing)} parts to run, {len(before)} have passed before", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        lines = before + list(pool.map(lambda part: run(at, *part), missing))
    print("\n" + "\n".join(shown(line) for line in lines))
    well = all(line["well"] for line in lines)
    print("nothing differed" if well else "FAILED: the differences are in .soak/")
    return 0 if well else 1


def run(at: str, part: Part, seed: int, count: int) -> Line:
    """Runs one part in its own process, and prints and keeps its line."""
    command = [sys.executable, __file__, "--inner", "--part", part.name, "--seed", str(seed), "--count", str(count)]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=HOURS * 3600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
    seen = json.loads(said.splitlines()[-1]) if process.returncode == 0 else {}
    differed = seen.pop("differed", [f"the process ended with {process.returncode}"])
    line = {"commit": at, "part": part.name, "seed": seed, "count": count, "compared": 0, "refused": 0, **seen}
    line |= {"differed": len(differed), "seconds": round(time.monotonic() - began)}
    line["well"] = line["compared"] > 0 and not differed
    if differed:
        (KEPT / f"{part.name}.differed.txt").write_text("\n\n".join(differed[:SHOWN]), encoding="utf-8")
    (KEPT / f"{part.name}.json").write_text(json.dumps(line), encoding="utf-8")
    print(shown(line), flush=True)
    return line


def seen_by(part: Part, seed: int, count: int) -> Line:
    """Runs the part in this process."""
    limit = MEGABYTES << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sys.path[:0] = FOLDERS
    logging.disable(logging.WARNING)  # the engines warn of odd events, which are intended here
    steps = list(part.work(range(seed, seed + count)))
    return {
        "compared": sum(step.compared for step in steps),
        "refused": sum(step.refused for step in steps),
        "differed": [text for step in steps for text in step.differed],
    }


def kept_line(at: str, part: Part, seed: int, count: int) -> Line | None:
    """The kept line, if the part has passed with the same commit, seed and count. A tree with changes has none."""
    file = KEPT / f"{part.name}.json"
    if not file.exists() or at.endswith("-dirty"):
        return None
    line: Line = json.loads(file.read_text(encoding="utf-8"))
    same = (line["commit"], line["seed"], line["count"]) == (at, seed, count)
    return line if same and line["well"] else None


def shown(line: Line) -> str:
    what = next(part.what for part in PARTS if part.name == line["part"])
    numbers = "   ".join(f"{name} {line[name]:,}" for name in ("seed", "count", "compared", "refused", "differed"))
    return f"{line['part']:<10} {what:<48} {numbers}   {line['seconds']:,} s{'' if line['well'] else '   FAILED'}"


def commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown-dirty"


if __name__ == "__main__":
    sys.exit(main())
