"""A launcher's command with the watcher in front of each rank's program. Pure.

Where the program begins is found by what the launcher's options take: those of ``_FLAGS`` nothing, those of ``_PAIRS`` two
arguments, all others one, unless it stands behind ``=``. The first ``--`` in the command says it where this cannot know (so
that a program with such an argument of its own needs one before it, too).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import BadInput

_HOW = "write -- before the program: shakedown placement -- mpirun -n 4 OPTIONS -- ./a.out"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Of mpirun(1) (Open MPI 4 and 5), mpiexec (MPICH's Hydra, Intel MPI, PALS): what takes no argument.
_MPIRUN_FLAGS = _names(
    """allow-run-as-root oversubscribe nooversubscribe report-bindings report-child-jobs-separately display-map
    display-devel-map display-allocation display-devel-allocation display-topo tag-output timestamp-output xml v verbose q
    quiet bycore byslot bynode bysocket nolocal nooversub pernode novm preload-binary enable-recovery continuous
    use-hwthread-cpus bind-to-core bind-to-socket bind-to-none do-not-launch do-not-resolve index-argv-by-rank
    leave-session-attached no-ready-msg standalone merge-stderr-to-stdout get-stack-traces forward-signals genvall genvnone
    envall envnone l prepend-rank check_mpi print-all-exitcodes info rr debug display-comm display-comm-finalize
    daemonize no-daemonize"""
)
_MPIRUN_PAIRS = _names("mca gmca omca pmixmca prtemca gpmixmca gprtemca genv env")
#: Of srun(1), flux-run(1), jsrun(1), aprun(1).
_SRUN_FLAGS = _names(
    """E preserve-env H hold k no-kill l label O overcommit s oversubscribe Q quiet u unbuffered v verbose Z no-allocate X
    disable-status exact overlap contiguous pty spread-job use-min-nodes reboot wait-all-nodes exclusive interactive
    send-libs"""
)
_SRUN_SHORT = re.compile(r"-[A-Za-z](.+)")  # -n4, -N2
_FLUX_FLAGS = _names("x exclusive l label-io v verbose u unbuffered dry-run wait debug-emulate")
_JSRUN_FLAGS = _names("i immediate stdio_mode_individual")


class _Family(NamedTuple):
    title: str
    flags: frozenset[str]
    pairs: frozenset[str] = frozenset()
    attached: bool = False  # -n4: a value may follow its letter at once
    parts: bool = False  # programs of one job are parted by ":"
    verbs: tuple[str, ...] = ()  # behind the name: flux run


_MPIRUN = _Family("mpirun", _MPIRUN_FLAGS, _MPIRUN_PAIRS, parts=True)
_FAMILIES = {
    **dict.fromkeys(("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun_rsh"), _MPIRUN),
    "srun": _Family("srun", _SRUN_FLAGS, attached=True),
    "flux": _Family("flux run", _FLUX_FLAGS, attached=True, verbs=("run",)),
    "jsrun": _Family("jsrun", _JSRUN_FLAGS, attached=True),
    "aprun": _Family("aprun", _names("b q v")),
}
LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "srun", "flux run", "jsrun", "aprun")


def watched(command: Sequence[str], prologue: Sequence[str]) -> tuple[str, ...]:
    """The command with ``prologue`` before each program. Raises BadInput where no launcher or no program is in it."""
    family, head = _family(command)
    argv = list(command[:head])
    rest = list(command[head:])
    while True:
        begin, skip = _program(rest, family)
        part = rest.index(":", begin) if family.parts and ":" in rest[begin:] else len(rest)
        argv += [*rest[:begin], *prologue, *rest[begin + skip : part]]
        if part == len(rest):
            return tuple(argv)
        argv.append(":")
        rest = rest[part + 1 :]


def _family(command: Sequence[str]) -> tuple[_Family, int]:
    """The kind of launcher, and where its options begin."""
    name = posixpath.basename(command[0]) if command else ""
    family = _FAMILIES.get(name) or _FAMILIES.get(name.partition(".")[0])
    if family is None or (family.verbs and tuple(command[1:2]) != family.verbs):
        raise BadInput(
            f"{name or 'an empty command'} is not a launcher of MPI ranks that is known ({', '.join(LAUNCHERS)})",
            hint="give the launcher's own command; in a script put the watcher before the program yourself: mpirun -n 4 "
            "$(shakedown native placement_rank) --to FOLDER -- ./a.out, then: shakedown placement FOLDER",
        )
    return family, 1 + len(family.verbs)


def _program(words: Sequence[str], family: _Family) -> tuple[int, int]:
    """Where the program's name stands, and how many words before it are left out."""
    if "--" in words:
        return _is_there(words, words.index("--"), family, 1)
    at = 0
    while at < len(words):
        word = words[at]
        if not word.startswith("-") or word == "-":
            return _is_there(words, at, family, 0)
        at += 1 + _arguments(word, family)
    raise BadInput(f"{family.title} is given no program in {' '.join(words)!r}", hint=_HOW)


def _is_there(words: Sequence[str], at: int, family: _Family, skip: int) -> tuple[int, int]:
    if at + skip >= len(words) or words[at + skip] == ":":
        raise BadInput(f"{family.title} is given no program in {' '.join(words)!r}", hint=_HOW)
    return at, skip


def _arguments(word: str, family: _Family) -> int:
    """How many words behind an option are its own."""
    name = word.lstrip("-")
    if "=" in name or name in family.flags:
        return 0
    if name in family.pairs:
        return 2
    return 0 if family.attached and not word.startswith("--") and _SRUN_SHORT.fullmatch(word) else 1


def prologue(program: str, folder: str, *, arrange: str = "", threads: int = 1) -> tuple[str, ...]:
    """The words of the watcher (``program`` is its path) that leaves its records in ``folder``; with ``arrange`` it puts the
    rank, of so many busy ``threads``, on the CPUs of that arrangement."""
    more = ("--arrange", arrange, "--threads", str(threads)) if arrange else ()
    return (program, "--to", folder, *more, "--")
