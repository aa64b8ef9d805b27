"""`make soak`: the counts that are too large for `make test`, in parts; one line says what each has seen.

    make soak                       runs every part that has not come out well at this commit
    make soak PART="kills laws"     runs these parts, whatever was seen before
    make soak COUNT=100 SEED=7      tries fewer or other cases

Each part runs in a process of its own, with a limit on its memory; two of them run side by side. What they have seen is
kept in `.soak/`: the lines of the summary, and the texts of what differed.
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
#: The address space of each process of a part: a JVM reserves more than it uses.
MEGABYTES = 8_000
HOURS = 3
#: So many texts of what differed are kept.
SHOWN = 20
Line = dict[str, Any]


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--part", default="", help="names of parts; all by default")
    asked.add_argument("--count", type=int, default=0, help="so many cases in each part, instead of its own count")
    asked.add_argument("--seed", type=int, default=0, help="where the seeds begin")
    asked.add_argument("--jobs", type=int, default=2, help="so many parts side by side")
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
    print(f"soak at {at}: {len(missing)} parts to run, {len(before)} came out well before", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        lines = before + list(pool.map(lambda part: run(at, *part), missing))
    print("\n" + "\n".join(shown(line) for line in lines))
    well = all(line["well"] for line in lines)
    print("nothing differed" if well else "NOT WELL: the texts are in .soak/")
    return 0 if well else 1


def run(at: str, part: Part, seed: int, count: int) -> Line:
    """One part in a process of its own; its line is printed and kept."""
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
    logging.disable(logging.WARNING)  # that an engine tells of odd events is no news here
    steps = list(part.work(range(seed, seed + count)))
    return {
        "compared": sum(step.compared for step in steps),
        "refused": sum(step.refused for step in steps),
        "differed": [text for step in steps for text in step.differed],
    }


def kept_line(at: str, part: Part, seed: int, count: int) -> Line | None:
    """What the part has seen before, if that was the same and came out well; changes without a commit count for new."""
    file = KEPT / f"{part.name}.json"
    if not file.exists() or at.endswith("-dirty"):
        return None
    line: Line = json.loads(file.read_text(encoding="utf-8"))
    same = (line["commit"], line["seed"], line["count"]) == (at, seed, count)
    return line if same and line["well"] else None


def shown(line: Line) -> str:
    what = next(part.what for part in PARTS if part.name == line["part"])
    numbers = "   ".join(f"{name} {line[name]:,}" for name in ("seed", "count", "compared", "refused", "differed"))
    return f"{line['part']:<10} {what:<48} {numbers}   {line['seconds']:,} s{'' if line['well'] else '   NOT WELL'}"


def commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown-dirty"


if __name__ == "__main__":
    sys.exit(main())
