"""clang-tidy over the native sources of this machine's architecture; every finding is an error.

Most of its time goes into the C++ library's and MPI's headers, again for each source. Sources that are compiled alike are
therefore looked at together, as one source that includes them. What may call different things the same stays apart or gets
a namespace of its own, and what a compiler complains of is taken out. Where there is a finding the sources are looked at
one by one, and what is said of them counts. With --passed, sources in which nothing was found are not looked at again until
they, a header that they read or the tool change.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "native"
#: Sources in one: more share more, fewer can be divided among cores.
TOGETHER = 24
#: Paths of headers: they may stand beside each other.
PLACES = ("-I", "-isystem")
#: Macros that the system's headers ask for.
FOR_HEADERS = ("NDEBUG", "MPICH_SKIP_MPICXX", "OMPI_SKIP_MPICXX")
#: Flags that say nothing of what a source does, or that clang does not know.
NOT_ASKED = ("-fPIC", "-fcx-limited-range")


def without_text(code: str) -> str:
    """C++ without its comments, and without what stands between quotes."""
    texts = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\da-fA-F])\'(?:\\.|[^\'\\\n])+\''
    return re.sub(texts, lambda match: '""' if '"' in match[0][:2] else " ", code, flags=re.DOTALL)


def names_in(code: str) -> Iterator[tuple[str, str, bool]]:
    """What a source defines outside of functions and classes: namespace, name, and whether it is the source's alone."""
    lines = (line for line in without_text(code).replace("\\\n", " ").splitlines() if not line.lstrip().startswith("#"))
    inside: list[str | None] = []  # the namespace of each open brace; None: something else
    head = ""
    for token in re.finditer(r"[{};]|[^{};]+", "\n".join(lines)):
        word = token[0]
        if None in inside:
            inside += [None] if word == "{" else []
            if word == "}":
                inside.pop()
            continue
        if word not in "{};":
            head = word.strip()
            continue
        space = re.fullmatch(r"(?:inline )?namespace *([\w:]*)", head)
        if word == "}":
            inside.pop()
        elif word == "{" and (space or head.startswith("extern")):
            inside.append(space[1] if space else "extern")
        else:
            named = (
                re.search(r"\b(?:struct|class|union|enum(?: class)?)\s+(\w+)\s*(?::|$)", head)
                or re.search(r"\b(?:using|namespace)\s+(\w+)\s*=", head)
                or re.search(r"(?<![:\w])(\w+)\s*(?:\(|=|\[|$)", head)
            )
            if named:
                path = "::".join(one for one in inside if one and one != "extern")
                yield path, named[1], "" in inside or bool(re.match(r"(static|constexpr|const|using)\b", head))
            if word == "{":
                inside.append(None)
        head = ""


def fits_a_namespace(code: str) -> bool:
    """Whether a source may stand inside a namespace: it defines nothing that others declare, and reads headers first."""
    depth = 0
    for line in without_text(code).splitlines():
        directive = re.match(r"\s*#\s*(\w+)", line)
        if directive:
            depth += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(directive[1], 0)
            if directive[1] == "define" or (directive[1] == "include" and depth):
                return False
    return not re.search(r"^(namespace [\w:]+ \{|extern )", code, re.MULTILINE) and "operator new" not in code


@dataclass(frozen=True)
class Source:
    """A source as it is compiled once."""

    file: Path
    #: The compiler and what is neither a definition nor a place of headers.
    words: tuple[str, ...]
    places: tuple[str, ...]
    #: Macros that are set for it, with their values: those that a header may speak of, and those of the source alone.
    macros: Mapping[str, str]
    own: Mapping[str, str]
    #: namespace and name -> whether it is the source's alone
    names: Mapping[tuple[str, str], bool]
    spoken_of: frozenset[str]
    #: It has a directive that finds names of a namespace where those of none are.
    directs: bool
    wrapped: bool

    def bothers(self, other: Source) -> bool:
        """Whether it calls something what another source calls something, too."""
        if self.wrapped:
            return False
        if other.directs and any(
            alone and not space and name in other.spoken_of for (space, name), alone in self.names.items()
        ):
            return True
        return not other.wrapped and any(self.names[name] for name in self.names.keys() & other.names.keys())

    def include(self) -> str:
        """The line that reads it, among its macros."""
        text = "" if self.wrapped else f"#define main main_of_{self.file.parent.name}_{self.file.stem}\n"
        text += "".join(f"#define {name} {value}\n" for name, value in self.own.items())
        text += f'#include "{self.file}"  // NOLINT(bugprone-suspicious-include)\n'
        defined = re.findall(r"^#\s*define\s+(\w+)", self.file.read_text(), re.MULTILINE)
        return text + "".join(f"#undef {name}\n" for name in ["main", *self.own, *defined])


@dataclass
class Part:
    """Sources that are looked at together."""

    sources: list[Source] = field(default_factory=list)

    def takes(self, new: Source) -> bool:
        """Whether a source can stand beside these: the same flags, macros that do not differ, no name of two things."""
        return len(self.sources) < TOGETHER and all(
            one.file != new.file
            and one.words == new.words
            and (one.places == new.places or not one.places or not new.places)
            and all(one.macros[name] == new.macros[name] for name in one.macros.keys() & new.macros.keys())
            and not one.bothers(new)
            and not new.bothers(one)
            for one in self.sources
        )

    def words(self) -> list[str]:
        """How it is compiled."""
        macros = {name: value for one in self.sources for name, value in one.macros.items()}
        if len(self.sources) == 1:
            macros |= self.sources[0].own
        places = dict.fromkeys(place for one in self.sources for place in one.places)
        return [
            *self.sources[0].words,
            f"-I{NATIVE}",
            *(word for place in places for word in shlex.split(place)),
            *(f"-D{name}={value}" for name, value in macros.items()),
        ]

    def text(self) -> str:
        """A source that includes these. One inside a namespace of its own has its headers read before."""
        headers: dict[str, None] = {}
        for one in self.sources:
            for quoted in re.findall(r'^\s*#\s*include\s+(["<][^">]+[">])', one.file.read_text(), re.MULTILINE):
                beside = one.file.parent / quoted[1:-1]
                if one.wrapped:
                    headers[f'"{beside}"' if quoted[0] == '"' and beside.exists() else quoted] = None
        text = "".join(f"#include {header}\n" for header in headers)
        for number, one in enumerate(self.sources):
            text += f"namespace part_{number} {{\n{one.include()}}}\n" if one.wrapped else one.include()
        return text


def sources_of(build: Path, only: Iterable[str]) -> list[Source]:
    """The sources, each as often as the macros that it speaks of differ."""
    spoken_of = {
        file: set(re.findall(r"\w+", file.read_text())) for file in NATIVE.rglob("*") if file.suffix in (".cpp", ".hpp")
    }
    of_headers = set().union(*(words for file, words in spoken_of.items() if file.suffix == ".hpp"))
    found: dict[tuple[object, ...], Source] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["directory"], entry["file"]).resolve()
        if not file.is_relative_to(NATIVE) or (only and not any(one in str(file) for one in only)):
            continue
        words: list[str] = []
        places: list[str] = []
        macros: dict[str, str] = {}
        given = iter(shlex.split(entry["command"]))
        for word in given:
            if word in ("-o", "-c", "-MF", "-MT"):
                next(given)
            elif word == "-isystem":
                places.append(shlex.join([word, next(given)]))
            elif word.startswith(PLACES):
                places += [] if word == f"-I{NATIVE}" else [shlex.quote(word)]
            elif word.startswith("-D"):
                name, is_set, value = word[2:].partition("=")
                macros[name] = value if is_set else "1"
            elif word not in NOT_ASKED and not word.startswith("-W"):  # no warning of the compiler is asked for
                words.append(word)
        code = file.read_text()
        names: dict[tuple[str, str], bool] = {}
        for space, name, alone in names_in(code):
            names[space, name] = alone or names.get((space, name), False)
        shared = {name: value for name, value in macros.items() if name in of_headers or name in FOR_HEADERS}
        own = {name: value for name, value in macros.items() if name not in shared and name in spoken_of[file]}
        source = Source(
            file,
            tuple(words),
            tuple(places),
            shared,
            own,
            names,
            frozenset(spoken_of[file]),
            "using namespace" in code,
            fits_a_namespace(code),
        )
        told = {name: value for name, value in macros.items() if name in spoken_of[file] or name in of_headers}
        found.setdefault((file, source.words, *sorted(told.items())), source)
    return sorted(found.values(), key=lambda one: (one.wrapped, one.file.name, one.file))


def parts_of(sources: Iterable[Source]) -> list[Part]:
    """What can be tried together, the most first."""
    parts: list[Part] = []
    for one in sources:
        part = next((part for part in parts if part.takes(one)), None)
        if part is None:
            parts.append(part := Part())
        part.sources.append(one)
    return sorted(parts, key=lambda part: len(part.sources), reverse=True)


def as_one(folder: Path, part: Part) -> Path:
    """Write the source of a part, and how it is compiled, into a folder of its own."""
    place = Path(tempfile.mkdtemp(dir=folder))
    one = place / "together.cpp"
    if len(part.sources) == 1:
        one = part.sources[0].file
    else:
        one.write_text(part.text())
    entry = {"directory": str(place), "file": str(one), "command": shlex.join([*part.words(), "-c", str(one)])}
    (place / "compile_commands.json").write_text(json.dumps([entry]))
    return place


def complaints(place: Path, part: Part) -> set[Path] | None:
    """The sources that a compiler complains of where they stand together; None: of none."""
    command = [*part.words(), "-fsyntax-only", "-w", "-fmax-errors=100", str(place / "together.cpp")]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return None
    return {Path(name) for name in re.findall(r"^(\S+\.cpp):\d+:\d+: error:", done.stderr, re.MULTILINE)}


def tidy(place: Path, file: Path) -> tuple[bool, str]:
    """Whether clang-tidy finds nothing, and what it says."""
    words = [
        "--quiet",
        "--extra-arg=-Wno-unknown-warning-option",
        "--warnings-as-errors=*",
        f"--config-file={NATIVE.parent / '.clang-tidy'}",
    ]
    done = subprocess.run(
        ["clang-tidy", "-p", str(place), *words, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stdout


def smaller(part: Part, guilty: set[Path]) -> list[Part]:
    """A part without what a compiler complains of; in halves where that is nothing or all."""
    out = [one for one in part.sources if one.file in guilty]
    rest = [one for one in part.sources if one.file not in guilty]
    if not out or not rest:
        middle = len(part.sources) // 2
        out, rest = part.sources[:middle], part.sources[middle:]
    return [Part(rest), Part(out)]


def look(folder: Path, part: Part) -> tuple[bool, str]:
    """The same of a part: together where that can be, or else of smaller ones; one by one where something is found."""
    place = as_one(folder, part)
    if len(part.sources) == 1:
        return tidy(place, part.sources[0].file)
    guilty = complaints(place, part)
    if guilty is not None:
        if "SHAKEDOWN_TIDY_SAY" in os.environ:
            print("apart:", sorted(path.name for path in guilty), "of", len(part.sources), file=sys.stderr, flush=True)
        again = smaller(part, guilty)
    elif tidy(place, place / "together.cpp")[0]:
        return True, ""
    else:
        again = [Part([one]) for one in part.sources]
    answers = [look(folder, each) for each in again]
    return all(good for good, _ in answers), "".join(said for _, said in answers)


@functools.cache
def digest(file: Path) -> bytes:
    """What is in a file, in a word."""
    return hashlib.sha256(file.read_bytes()).digest()


@functools.cache
def tool() -> bytes:
    """What looks at the sources: clang-tidy and this script."""
    said = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, check=False).stdout
    return said + digest(Path(__file__))


def key_of(part: Part) -> str | None:
    """One word for all that decides what is found in a part: the tool, how it is compiled, what it reads. None where a
    compiler cannot say what it reads."""
    one = len(part.sources) == 1
    text = f'#include "{part.sources[0].file}"\n' if one else part.text()
    command = [*part.words(), "-M", "-x", "c++", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    read = set(shlex.split(done.stdout.replace("\\\n", " ").partition(":")[2])) - {"-", "/dev/stdin"}
    checks = (NATIVE.parent / ".clang-tidy").read_bytes()
    total = hashlib.sha256(tool() + checks + repr([part.words(), text]).encode())
    for name in sorted(read):
        total.update(name.encode() + digest(Path(name)))
    return total.hexdigest()[:32]


def check(build: Path, only: Sequence[str], workers: int, passed: Path | None = None, anew: bool = False) -> bool:
    """Look at all sources, or at those whose path contains a word of `only`; print what is found. What was found clean is
    noted in `passed`, and then not looked at again but `anew`."""
    parts = parts_of(sources_of(build, only))

    def noted(folder: Path, part: Part) -> tuple[bool, str]:
        key = key_of(part) if passed else None
        note = passed / key if passed and key else None
        if note and note.exists() and not anew:
            return True, ""
        good, said = look(folder, part)
        if note and good:
            note.touch()
        return good, said

    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(workers) as pool:
        clean = True
        for good, said in pool.map(lambda part: noted(Path(name).resolve(), part), parts):
            clean = clean and good
            print(said, end="", flush=True)
    return clean and bool(parts)


def main() -> int:
    """Exit code 1 where there is a finding, or nothing to look at."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the build folder with compile_commands.json")
    parser.add_argument("only", nargs="*", help="part of a source's path: only these sources")
    parser.add_argument(
        "--passed", type=Path, help="a folder: what was found clean is noted there, and not looked at again"
    )
    parser.add_argument("--anew", action="store_true", help="look at all of it all the same")
    words = parser.parse_args()
    workers = len(os.sched_getaffinity(0))
    return 0 if check(words.build.resolve(), words.only, workers, words.passed, words.anew) else 1


if __name__ == "__main__":
    sys.exit(main())
