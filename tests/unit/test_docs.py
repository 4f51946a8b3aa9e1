"""The written word agrees with the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import shakedown

ROOT = Path(__file__).parent.parent.parent


def test_the_methods_page_is_what_the_docstrings_say() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "docs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_is_one_version() -> None:
    version = (ROOT / "VERSION").read_text().strip()
    assert shakedown.__version__ == version
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_files_that_the_documents_name_are_there() -> None:
    for page in (ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} names {target}"


def test_paths_that_the_documents_name_are_there() -> None:
    """`tests/unit/...` from the root, `hosts/access.py` from a room, `flux.py` in a room. NAME stands for any."""
    folders = [ROOT / name for name in ("src", "tests", "scripts", "native", "docs", "cmake")]
    known = {f"/{path.relative_to(ROOT)}".removesuffix(".in") for folder in folders for path in folder.rglob("*")}
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "native/README.md")
    form = r"`((?:src|tests|scripts|native|docs|cmake)/[\w./-]+|[\w./-]+\.(?:py|[ch]pp))`"
    gone = [
        f"{page.name} names {path}"
        for page in pages
        for path in re.findall(form, page.read_text())
        if "NAME" not in path and not any(one.endswith(f"/{path.rstrip('/')}") for one in known)
    ]
    assert not gone, "\n".join(gone)


def test_the_picture_of_the_rooms_is_what_the_imports_say() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "rooms.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, "docs/images/rooms.svg is not what the imports say; next: make docs"


def test_no_file_has_outgrown_itself() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 600, f"{path} is long: is it still about one thing?"
