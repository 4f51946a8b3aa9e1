"""make bench: every side-by-side measurement, one after another, on a machine that should be quiet.

Each part runs ours and its peers interleaved in one run and prints medians and ratios; a peer that is not installed is
said. The figures of record stand in docs/performance.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PARTS = ("harness", "analysis", "stream", "gemm", "pingpong")


def main() -> None:
    here = Path(__file__).parent
    failed = []
    for part in sys.argv[1:] or PARTS:
        print(f"\n== {part}", flush=True)
        if subprocess.run([sys.executable, str(here / f"{part}.py")], check=False).returncode:
            failed.append(part)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
