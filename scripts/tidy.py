"""clang-tidy over the native sources of this machine's architecture; every finding is an error.

Most of its time goes into the C++ library's headers, again for each source. Sources of a folder that are compiled with the
same flags are therefore looked at together, as one source that includes them, where that can be compiled (two of them may
call different things the same). Where there is a finding the parts are looked at one by one, and what is said of them
counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "native"
#: Sources in one: more share more, fewer can be divided among cores.
TOGETHER = 8


@dataclass(frozen=True)
class Part:
    """Sources that are looked at together, and the words of their compilation without what it reads and writes."""

    files: tuple[Path, ...]
    words: tuple[str, ...]

    def halves(self) -> tuple[Part, Part]:
        middle = len(self.files) // 2
        return Part(self.files[:middle], self.words), Part(self.files[middle:], self.words)

    def singles(self) -> Iterator[Part]:
        return (Part((file,), self.words) for file in self.files)


def parts_of(build: Path, only: Iterable[str]) -> list[Part]:
    """What can be tried together, the most first. A program has one main: a source with one stays alone."""
    seen = set()
    alike: dict[tuple[object, ...], list[Path]] = defaultdict(list)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["directory"], entry["file"]).resolve()
        if file in seen or not file.is_relative_to(NATIVE) or (only and not any(one in str(file) for one in only)):
            continue
        seen.add(file)
        words = shlex.split(entry["command"])
        own = {i + step for i, word in enumerate(words) if word in ("-o", "-c", "-MF", "-MT") for step in (0, 1)}
        alone = file if re.search(r"^int main\(", file.read_text(), re.MULTILINE) else None
        alike[(file.parent, alone, *(word for i, word in enumerate(words) if i not in own))].append(file)
    parts = []
    for (_, _, *flags), files in alike.items():
        files.sort()
        parts += [Part(tuple(files[i : i + TOGETHER]), tuple(map(str, flags))) for i in range(0, len(files), TOGETHER)]
    return sorted(parts, key=lambda part: len(part.files), reverse=True)


def as_one(folder: Path, part: Part) -> Path:
    """Write a source that includes those of a part, and how it is compiled, into a folder of its own."""
    place = Path(tempfile.mkdtemp(dir=folder))
    one = place / f"{part.files[0].parent.name}.cpp"
    one.write_text("".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in part.files))
    command = shlex.join([*part.words, "-c", str(one)])
    entry = {"directory": str(place), "file": str(one), "command": command}
    (place / "compile_commands.json").write_text(json.dumps([entry]))
    return one


def compiles(one: Path, part: Part) -> bool:
    """Whether the sources of a part get on with each other."""
    command = [*part.words, "-fsyntax-only", "-w", str(one)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def tidy(build: Path, file: Path) -> tuple[bool, str]:
    """Whether clang-tidy finds nothing, and what it says."""
    words = [
        "--quiet",
        "--extra-arg=-Wno-unknown-warning-option",
        "--warnings-as-errors=*",
        f"--config-file={NATIVE.parent / '.clang-tidy'}",
    ]
    done = subprocess.run(
        ["clang-tidy", "-p", str(build), *words, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stdout


def look(build: Path, folder: Path, part: Part) -> tuple[bool, str]:
    """The same of a part: together where that can be, or else of its halves; one by one where something is found."""
    if len(part.files) == 1:
        return tidy(build, part.files[0])
    one = as_one(folder, part)
    if not compiles(one, part):
        smaller: Iterable[Part] = part.halves()
    elif tidy(one.parent, one)[0]:
        return True, ""
    else:
        smaller = part.singles()
    answers = [look(build, folder, each) for each in smaller]
    return all(good for good, _ in answers), "".join(said for _, said in answers)


def check(build: Path, only: Sequence[str], workers: int) -> bool:
    """Look at all sources, or at those whose path contains a word of `only`; print what is found."""
    parts = parts_of(build, only)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(workers) as pool:
        clean = True
        for good, said in pool.map(lambda part: look(build, Path(name).resolve(), part), parts):
            clean = clean and good
            print(said, end="", flush=True)
    return clean and bool(parts)


def main() -> int:
    """Exit code 1 where there is a finding, or nothing to look at."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the build folder with compile_commands.json")
    parser.add_argument("only", nargs="*", help="part of a source's path: only these sources")
    words = parser.parse_args()
    return 0 if check(words.build.resolve(), words.only, len(os.sched_getaffinity(0))) else 1


if __name__ == "__main__":
    sys.exit(main())
