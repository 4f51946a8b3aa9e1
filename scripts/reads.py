"""Notes what a process reads of a checkout: the files that it opens, the folders that it lists, the paths that it looks for.

``scripts/python_tests.py`` decides by that whether a test file need run again. It starts each file in a process that calls
``begin``; every Python of this environment that such a process starts does so too, before anything else, by a ``.pth`` file
beside the packages (``hook``). Each line of the notes is a letter and a path of the checkout: what is written is no input,
and is not noted. A started program that is no such Python is not looked into: what of the checkout its command line names
counts as read, and one that could read anything is noted as such.

Imports no more than ``os`` and ``sys``: each Python of a test pays for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

#: Where to note, and of which checkout: "notes:checkout". Whoever is started without it is not followed.
VARIABLE = "SHAKEDOWN_TEST_READS"

#: Ends the name of the empty file that says that something could not be noted.
MISSING = ".missing"

OPENED, LISTED, SOUGHT, BELOW, ANYTHING = "OLSBA"
#: A file that is opened; a folder whose names are read; a path of which only is asked whether it is there; a folder of which
#: any file may have been opened; anything at all may have been read, and why.

#: Programs that read what lies about without being told of each file, or start others that do not know the variable.
_ROAMING = frozenset({"git", "make", "ruff", "mypy", "cmake", "ninja", "rsync", "pip", "uv", "chroot"})
_FORGETFUL = frozenset(
    {"ssh", "sshd", "sudo", "su", "srun", "sbatch", "salloc", "qsub", "bsub", "flux", "slurmd", "slurmctld"}
)

#: What stands between the words of a line for a shell, or of a variable, that may be paths.
_APART = str.maketrans(dict.fromkeys("\n\t:;,\"'`=()[]{}<>|&", " "))
#: Variables that hold paths of the checkout, and of which a Python that is followed notes itself what it takes from there.
_NOTED = frozenset({VARIABLE, "PYTHONPATH", "PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "_"})
_lstat = os.lstat

#: Whoever imports, or looks for distributions, lists the folders where they may be; what it then opens is noted by itself.
_IMPORTING = ("<frozen importlib.", os.path.join(os.path.dirname(os.__file__), "importlib", "metadata", ""))


class Reads:
    def __init__(self, notes: str, root: str) -> None:
        self.notes = notes
        self.root = root
        self.inside = root + os.sep
        self.environment = os.path.join(root, ".venv") + os.sep
        self.elsewhere = ("/proc/", "/sys/", "/dev/", "/usr/", "/etc/", sys.base_prefix + os.sep)
        self.seen: set[str] = set()
        self.asked = True
        self.settings = dict(os.environ)

    def add(self, kind: str, path: str) -> None:
        line = f"{kind}{path}\n"
        if line in self.seen:
            return
        self.seen.add(line)
        # Opened each time: a test may close all descriptors, or be killed at any moment. Where nothing can be written (a
        # test limits the size of files), the program goes on, and an empty file says that notes are missing.
        try:
            descriptor = os.open(self.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                os.write(descriptor, line.encode("utf-8", "surrogateescape"))
            finally:
                os.close(descriptor)
        except OSError:
            os.close(os.open(self.notes + MISSING, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))

    def inner(self, path: Any) -> str | None:
        """The path within the checkout; None where it is not in there."""
        try:
            text = os.fsdecode(path) if not isinstance(path, int) else os.readlink(f"/proc/self/fd/{path}")
            if text.startswith(self.elsewhere):
                return None
            if text[:1] != "/":
                if isinstance(path, int):
                    return None  # a pipe, or a file in memory
                text = os.path.join(os.getcwd(), text)
            text = os.path.normpath(text)
        except (OSError, TypeError, ValueError):
            return None  # no path, or its folder is gone
        if text == self.root:
            return "."
        if text.startswith(self.inside):
            return text[len(self.inside) :]
        return None

    def note(self, kind: str, path: Any) -> None:
        found = self.inner(path)
        if found is not None:
            self.add(kind, found)

    # ------------------------------------------------------------------------------------------------------------ programs

    def started(self, program: Any, words: Any, folder: Any, environment: Any) -> None:
        """A program is about to be started."""
        texts = [os.fsdecode(word) for word in _listed(words)]
        name = os.fsdecode(program) if program is not None else (texts or [""])[0]
        short = os.path.basename(name)
        given = os.environ if environment is None else environment
        settings = {os.fsdecode(key): os.fsdecode(given[key]) for key in given}
        kept = VARIABLE in settings
        for key in settings.keys() - _NOTED:
            if self.settings.get(key) != settings[key] and self.root in settings[key]:
                self.named(settings[key], self.root, kept)
        if short.startswith("python") or short == "shakedown":
            if not (name.startswith(self.environment) and kept) or "-S" in texts:
                self.add(ANYTHING, f"starts {name} where it is not followed")
            return
        if short in _ROAMING | _FORGETFUL or (short == "env" and "-i" in texts):
            self.add(ANYTHING, f"starts {short}")
        if folder is not None and (beside := self.inner(folder)) is not None:
            self.handed_over(beside, kept)  # it finds there what no word names
        for text in (name, *texts):
            self.named(text, "" if folder is None else os.fsdecode(folder), kept)

    def named(self, text: str, folder: str, followed: bool) -> None:
        """A word of a command line, which may hold paths."""
        for part in text.translate(_APART).split():
            path = part[2:] if part.startswith("-") else part  # as in -Ifolder
            if not path or path.startswith("/"):
                continue
            inner = self.inner(os.path.join(folder, path))
            if inner is not None and (("/" in path and path == part) or _there(os.path.join(self.root, inner))):
                self.handed_over(inner, followed)
        for part in text.split(self.root)[1:]:
            end = next((at for at, letter in enumerate(part) if letter in " :;,\"'=\n)|&>"), len(part))
            self.handed_over(part[:end].strip("/") or ".", followed)

    def handed_over(self, inner: str, followed: bool) -> None:
        """A started program is told of this path."""
        path = os.path.join(self.root, inner)
        if inner.startswith((".venv/bin/python", ".venv/bin/shakedown")) or inner in (".venv", ".venv/bin"):
            if not followed:
                self.add(ANYTHING, f"starts {inner} where it is not followed")
        elif os.path.isdir(path):
            self.add(BELOW, inner)
        elif os.access(path, os.X_OK) and not inner.startswith(".venv/"):
            self.add(ANYTHING, f"starts {inner}")
        else:
            self.add(OPENED, inner)

    # -------------------------------------------------------------------------------------------------------------- events

    def heard(self, event: str, told: tuple[Any, ...]) -> None:
        if event == "open":
            if told[2] & os.O_ACCMODE != os.O_WRONLY and told[0] != self.notes:
                self.note(OPENED, told[0])
        elif event in ("os.listdir", "os.scandir"):
            if self.asked and not sys._getframe(1).f_code.co_filename.startswith(_IMPORTING):
                self.note(LISTED, "." if told[0] is None else told[0])
        elif event == "subprocess.Popen":
            self.started(*told)
        elif event in ("os.exec", "os.posix_spawn"):
            self.started(told[0], told[1], None, told[2])
        elif event == "ctypes.dlopen" and isinstance(told[0], str | bytes):
            self.note(OPENED, told[0])
        elif event == "os.system":
            self.started("sh", ["sh", "-c", told[0]], None, None)


def _there(path: str) -> bool:
    try:
        _lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _listed(words: Any) -> Sequence[Any]:
    return [words] if isinstance(words, str | bytes | os.PathLike) else list(words)


def _watched(reads: Reads, name: str) -> None:
    """Whether a path is there is asked by ``os.stat`` and its like, of which no event tells."""
    plain = getattr(os, name)

    def asking(path: Any, *words: Any, **named: Any) -> Any:
        if reads.asked and named.get("dir_fd") is None:
            reads.note(SOUGHT, path)
        return plain(path, *words, **named)

    asking.__name__ = asking.__qualname__ = name
    asking.__doc__ = plain.__doc__
    setattr(os, name, asking)
    for known in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if plain in known:
            known.add(asking)


def begin(notes: str, root: str) -> Reads:
    """From now on this process notes what it reads of the checkout at ``root``; it cannot be undone."""
    reads = Reads(notes, root)
    for name in ("stat", "lstat", "access"):
        _watched(reads, name)
    sys.addaudithook(reads.heard)
    return reads


def follow(environment: Mapping[str, str] = os.environ) -> None:
    """What ``hook`` calls in each Python of the environment: notes, where whoever started it does."""
    notes, _, root = environment.get(VARIABLE, "").rpartition(":")
    if notes:
        begin(notes, root)


def hook(packages: str) -> None:
    """Make each Python that finds its packages in this folder call ``follow`` when it starts."""
    copy = os.path.join(packages, "_shakedown_test_reads.py")
    with open(__file__, encoding="utf-8") as source:
        text = source.read()
    line = f'import os; os.environ.get("{VARIABLE}") and __import__("_shakedown_test_reads").follow()\n'
    for path, wanted in ((copy, text), (os.path.join(packages, "shakedown_test_reads.pth"), line)):
        try:
            with open(path, encoding="utf-8") as there:
                if there.read() == wanted:
                    continue
        except OSError:
            pass
        with open(path, "w", encoding="utf-8") as out:
            out.write(wanted)
