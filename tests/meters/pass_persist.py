"""The script behind snmpd's pass_persist.

Its folder holds "rows", read at every question, with lines ``OID TYPE VALUE`` and ``OID TYPE STEP NAME``; the latter count
steps of what the file NAME shows now: all that a meter will ever show, in lines of Unix nanoseconds and a value.
"""

import bisect
import sys
import time
from pathlib import Path


def key(oid: str) -> tuple[int, ...]:
    return tuple(int(part) for part in oid.strip().lstrip(".").split("."))


class Shown:
    def __init__(self, path: Path) -> None:
        rows = [line.split() for line in path.read_text().splitlines()]
        self.times = [int(at) for at, _ in rows]
        self.values = [float(value) for _, value in rows]

    def steps(self, step: float, *, whole: bool) -> int:
        value = self.values[max(bisect.bisect_right(self.times, time.time_ns()) - 1, 0)] / step
        return int(value + 1e-9) if whole else round(value)


def rows(folder: Path, shown: dict[str, Shown]) -> dict[tuple[int, ...], tuple[str, str]]:
    found = {}
    for line in (folder / "rows").read_text().splitlines():
        oid, kind, value, *name = line.split(" ")
        if name:
            value = str(shown[name[0]].steps(float(value), whole=name[0] == "energy"))
        found[key(oid)] = (kind, value)
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    shown = {name: Shown(folder / name) for name in ("power", "energy")}
    while True:
        word = sys.stdin.readline().strip()
        if not word:
            return
        if word == "PING":
            print("PONG", flush=True)
            continue
        oid = key(sys.stdin.readline())
        table = rows(folder, shown)
        if word == "getnext":
            oid = min((one for one in table if one > oid), default=())
        if oid not in table:
            print("NONE", flush=True)
            continue
        kind, value = table[oid]
        print("." + ".".join(map(str, oid)), kind, value, sep="\n", flush=True)


if __name__ == "__main__":
    main()
