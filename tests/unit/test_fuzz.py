"""Every reader of files that users bring, given a few hundred spoiled ones: scripts/fuzz does it with a million."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[2] / "scripts" / "fuzz"


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, FUZZ, *words], capture_output=True, text=True, check=False, timeout=300)


def test_no_reader_ends_in_a_traceback() -> None:
    done = fuzz("--inputs", "1500")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 findings" in done.stdout


def test_what_a_reader_does_not_foresee_is_found(tmp_path: Path) -> None:
    """The same script, with a reader that is wrong: its finding is named with the number that makes the input again."""
    script = tmp_path / "wrong.py"
    script.write_text(
        f"import runpy, sys\nsys.path.insert(0, {str(FUZZ)!r})\nimport readers\n"
        "readers.readers = lambda: (readers.Reader('wrong', (b'1',), lambda path: int(path.read_bytes())),)\n"
        f"sys.argv = ['fuzz', '--inputs', '40']\nrunpy.run_path({str(FUZZ / '__main__.py')!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1 and "FOUND wrong, input " in done.stdout and "ValueError" in done.stdout
