"""What was true of a checkout when a file of tests passed, and whether it still is.

A note is a table: what was read -> one word for what it was. It holds where each word is the same today; it is found by the
file's name and what was asked of it, so that several states of a checkout (branches) have one each.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import reads

#: Made from the rest, or of no consequence: nothing below these is part of "anything".
MADE = frozenset(
    {
        ".git",
        ".venv",
        "build",
        "dist",
        "wheelhouse",
        "runs",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
    }
    | {".hypothesis"}
)
#: Of the environment these, by how they begin, are of the session, the terminal or the job alone. Any other variable counts:
#: a library may read it of which nobody here has heard.
SESSION = (
    *("PWD", "OLDPWD", "SHLVL", "SSH_", "SUDO_", "XDG_SESSION_", "XDG_RUNTIME_DIR", "DBUS_", "DISPLAY", "WINDOWID"),
    *("TERM_", "TMUX", "STY", "VTE_", "COLORTERM", "LS_COLORS", "LSCOLORS", "MAIL", "HIST", "PS1", "INVOCATION_ID"),
    *(
        "JOURNAL_STREAM",
        "GPG_",
        "MAKE",
        "MFLAGS",
        "CCACHE_",
        "CI_",
        "GITHUB_",
        "RUNNER_",
        "BUILDKITE",
        "JENKINS_",
        "BUILD_",
    ),
    *("PYTEST_CURRENT_TEST", "PYTEST_XDIST", "SHAKEDOWN_ALL"),
)
NATIVE, ANYTHING, ALIKE = "native programs", "anything", "machine, libraries and settings"
NOTES_PER_FILE = 12


class Passed(NamedTuple):
    """When a file passed, and what it took."""

    when: str
    processor_s: float
    tests: int


def digest(parts: Iterable[bytes]) -> str:
    """One word for these parts, in their order."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:20]


def name_of(kind: str, path: str) -> str | None:
    """How a note names what was read; None for what is noted by something else."""
    if kind == reads.ANYTHING:
        return ANYTHING
    top, _, rest = path.partition("/")
    if top == ".venv":
        _, own, inside = rest.rpartition("/site-packages/shakedown/")
        if not own:
            # Libraries are told by their versions; what this project's own are is told by its metadata.
            return f"{reads.OPENED}{path}" if "hpc_shakedown" in rest else None
        if inside.partition("/")[0] == "native":
            return NATIVE
    elif top == "build":
        return NATIVE
    elif top in MADE and top != ".git":
        return None
    path = re.sub(r"__pycache__/([^/.]+)\.[^/]*\.pyc$", r"\1.py", path)
    if "__pycache__" in path:
        return None
    return f"{reads.OPENED if kind == reads.SOUGHT else kind}{path}"


def names_of(lines: Iterable[str]) -> set[str]:
    """All that was read, by the lines of ``reads``."""
    return {name for line in lines if line and (name := name_of(line[0], line[1:])) is not None}


def unseen(names: Iterable[str], root: Path) -> Iterator[str]:
    """What a library may have opened by itself, of which Python hears nothing (DuckDB, Typst, GDAL): the recordings in a
    folder that a file of tests, or what supports it, names, and what is set in type beside the modules that were read."""
    recordings = {path.name for path in (root / "tests/recordings").glob("*/")}
    for name in names:
        path = root / name[1:]
        if name[0] != reads.OPENED or path.suffix != ".py":
            continue
        yield from (reads.OPENED + os.path.relpath(found, root) for found in path.parent.glob("*.typ"))
        if (
            name.startswith(f"{reads.OPENED}tests/")
            and path.exists()
            and "recordings" in (text := path.read_text().lower())
        ):
            for folder in recordings & set(re.findall(r"\w+", text)):
                yield f"{reads.BELOW}tests/recordings/{folder}"


class Checkout:
    """What is in the checkout at ``root`` today; each thing is looked at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.looked_s = time.time()  # nothing was looked at before
        self.settings = dict(os.environ)  # as they were given: libraries set some for themselves when they are imported
        self._words: dict[str, str] = {}

    def word(self, name: str) -> str:
        """One word for what this is."""
        if name not in self._words:
            if name == ALIKE:
                self._words[name] = self._alike
            elif name == NATIVE:
                self._words[name] = self._printed("scripts/build/key", "of Python tests")
            elif name == ANYTHING:
                self._words[name] = digest([self._below(self.root).encode(), self.word(NATIVE).encode()])
            else:
                self._words[name] = self._looked_at(name[0], self.root / name[1:])
        return self._words[name]

    def changed_since(self, name: str, since_s: float) -> bool:
        """Whether any of this was changed, replaced, added or taken away; of folders also where the same is there again."""
        if name == ALIKE:
            return False
        if name in (NATIVE, ANYTHING):
            top, below = self.root / ("native" if name == NATIVE else ""), True
        else:
            top, below = self.root / name[1:], name[0] == reads.BELOW
        if below and top.is_dir():
            return any(_changed(path, since_s) for path in _all_below(top))
        if name[0] == reads.LISTED and top.is_dir():
            with os.scandir(top) as there:
                return _changed(top, since_s) or any(_changed(Path(one), since_s) for one in there if one.is_file())
        # Whether a folder is there does not hang on what is in it.
        return not top.is_dir() and _changed(top, since_s)

    def _looked_at(self, kind: str, path: Path) -> str:
        try:
            if path.is_dir():
                if kind == reads.BELOW:
                    return self._below(path)
                return digest(_names(path)) if kind == reads.LISTED else "folder"
            return digest([path.read_bytes(), b"runs" if os.access(path, os.X_OK) else b""])
        except OSError:
            return "absent"

    def _below(self, folder: Path) -> str:
        parts = []
        for path in _all_below(folder):
            if not path.is_dir():
                parts += [os.fsencode(path.relative_to(folder)), self._looked_at(reads.OPENED, path).encode()]
        return digest(parts)

    @cached_property
    def _alike(self) -> str:
        """For all that is outside of the checkout."""
        libraries = sorted(
            f"{found.name} {found.version}" for found in metadata.distributions() if found.name != "hpc-shakedown"
        )
        settings = sorted(
            f"{name}={value.replace(str(self.root), '')}"
            for name, value in self.settings.items()
            if name != "_" and not name.startswith(SESSION)
        )
        system = Path("/var/lib/dpkg/status")
        machine = [
            self._printed("scripts/build/key", "--machine"),
            sys.version,
            f"{os.sched_getaffinity(0)} {os.geteuid()}",
        ]
        parts = [*machine, *libraries, *settings]
        return digest([*(part.encode() for part in parts), system.read_bytes() if system.exists() else b""])

    def _printed(self, *command: str) -> str:
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True).stdout.strip()


def _all_below(folder: Path) -> Iterator[Path]:
    """The folder, those in it and their files, in an order that is always the same; not what is made from the rest."""
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - MADE)
        yield Path(top)
        yield from (Path(top, file) for file in sorted(files))


def _names(folder: Path) -> list[bytes]:
    """What a list of a folder shows, but for what is made from the rest."""
    with os.scandir(folder) as there:
        found = sorted((entry.name, entry.is_dir()) for entry in there if entry.name not in MADE)
    return [f"{name}/{folder}".encode() for name, folder in found if not name.endswith((".pyc", ".egg-info"))]


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]*))", re.MULTILINE
)


def imports(package: Path) -> dict[str, set[str]]:
    """Path of a module below ``package`` -> the paths of all that it imports of it, at once, within a function or for a type
    checker: read from the text, in a hundredth of the time that a parser takes."""
    paths: dict[str, str] = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = str(path)
    return {path: {paths[found] for found in _imported(name, path, paths)} for name, path in paths.items()}


def _imported(name: str, path: str, known: Collection[str]) -> Iterator[str]:
    folder = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    for source, taken, whole in _IMPORT.findall(Path(path).read_text("utf-8")):
        base = source.lstrip(".")
        if level := len(source) - len(base):
            above = folder.split(".")
            base = ".".join([*above[: len(above) - level + 1], *([base] if base else [])])
        for word in re.sub(r"#[^\n]*", "", taken or whole).strip("()").split(","):
            first = (word.split() or [""])[0]
            inner = f"{base}.{first}" if base else first
            if inner in known or base in known:
                yield inner if inner in known else base


def reached(names: Collection[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    """These names and what they lead to. What a module would import within a function is read, too, where the function ran:
    by this it counts where it did not, so that nothing hangs on chance, such as how busy the machine was."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += edges.get(name, ())
    return found


class Notes:
    """The notes in ``folder`` on the checkout as it is."""

    def __init__(self, folder: Path, checkout: Checkout) -> None:
        self.folder = folder
        self.checkout = checkout

    def _of(self, test: str) -> list[Path]:
        """The notes of this file of tests, the newest first."""
        folder = self.folder / digest([test.encode()])
        return sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)

    def find(self, test: str) -> Passed | None:
        """When this file passed with all that it read as it is today."""
        for note in map(_note, self._of(test)):
            if note and all(self.checkout.word(name) == word for name, word in note["read"].items()):
                return Passed(note["when"], note["processor_s"], note["tests"])
        return None

    def last_s(self, test: str) -> float | None:
        """The processor time that it took when it last passed."""
        return next((note["processor_s"] for note in map(_note, self._of(test)) if note), None)

    def keep(self, test: str, names: Iterable[str], ended: Passed, since_s: float) -> bool:
        """It passed, began at ``since_s`` and read this. Nothing is kept where any of it has changed since, or since the
        checkout was looked at."""
        read = {name: self.checkout.word(name) for name in sorted({ALIKE, *names})}
        since_s = min(since_s, self.checkout.looked_s)
        if any(self.checkout.changed_since(name, since_s) for name in read):
            return False
        path = self.folder / digest([test.encode()]) / f"{digest([json.dumps(read).encode()])}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({"test": test, **ended._asdict(), "read": read}))
        new.replace(path)
        for old in self._of(test)[NOTES_PER_FILE:]:
            old.unlink(missing_ok=True)
        return True


def _note(path: Path) -> dict[str, Any]:
    """A note; empty where it is damaged, or was removed by another run."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if {"read", "when", "processor_s", "tests"} <= found.keys() else {}


def _changed(path: Path, since_s: float) -> bool:
    """Whether a file or a list was changed; also where its own time was set back, as by ``mv`` or ``cp -p``. A list in which
    something was made from the rest since then (``__pycache__``) is taken to have changed by that."""
    try:
        status = path.stat()
        if max(status.st_mtime, status.st_ctime) <= since_s:
            return False
        made = [path / name for name in MADE if (path / name).exists()] if path.is_dir() else []
        return all(one.stat().st_ctime <= since_s for one in made)
    except OSError:
        return False
