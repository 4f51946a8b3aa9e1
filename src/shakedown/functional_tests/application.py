"""Applications of a site: ``recipe.json`` in this folder says which steps, and what they print becomes a transcript.

The programs are found when the modules are loaded: by name on PATH, or in a container by Apptainer or Singularity. Each
step runs in this folder, those with ranks by the launcher of the chosen MPI; its seconds are those from outside, from
its start to its end. A step that fails ends the job with what its output means in words. The form of the transcript is
that of ``workloads/common/application_log.py``.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from .. import launchers, schedulers, strict
from ..errors import BadInput, CannotMeasure, ShakedownError, Unavailable
from ..hosts import hostlist
from ..hosts.access import LocalHost
from ..machine import mpi as flavours
from ..records import Host, Software
from ..workloads.common.application import Complaint, Recipe, Step
from ..workloads.common.application_log import END
from . import _modules, _work
from .mpi_bindings import Site, chosen, read_host, started

#: The harness ends a job at its own limit, before this.
_LIMIT_S = 30 * 86400.0
_RUNTIMES = ("apptainer", "singularity")
#: What a file may add to the transcript.
_FILE_BYTES = 8 * 2**20


def find(recipe: Recipe, search_path: str) -> dict[str, tuple[str, ...]]:
    """The words that start each program: its path, or the container's runtime before its name. Raises Unavailable."""
    if recipe.container:
        runtime = next(filter(None, (shutil.which(name, path=search_path) for name in _RUNTIMES)), None)
        if runtime is None:
            hint = "load the site's module of Apptainer, or leave `container` empty"
            raise Unavailable("a container was named, and there is neither apptainer nor singularity", hint=hint)
        if not Path(recipe.container).exists():
            raise BadInput("is not there", where=recipe.container, hint="give the path of the image as `container`")
        return {name: (runtime, "exec", recipe.container, names[0]) for name, names in recipe.programs.items()}
    return {name: (_path(recipe, names, search_path),) for name, names in recipe.programs.items()}


def _path(recipe: Recipe, names: Sequence[str], search_path: str) -> str:
    found = next(filter(None, (shutil.which(name, path=search_path) for name in names)), None)
    if found is None:
        raise Unavailable(
            f"{recipe.application} needs {' or '.join(names)}, which is not on PATH",
            hint=f"load its module (modules=NAME), name it (program=PATH), or: {recipe.install}",
        )
    return found


def in_words(complaints: Sequence[Complaint], text: str) -> ShakedownError | None:
    """The first complaint that explains a text."""
    for one in complaints:
        found = re.search(one.pattern, text)
        if found is not None:
            groups = [str(group or "").strip()[:120] for group in (found[0], *found.groups())]
            kind = Unavailable if one.absent else CannotMeasure
            return kind(one.what.format(*groups), hint=one.hint)
    return None


def carry_out(recipe: Recipe, host: Host, folder: Path, say: Say, environment: Mapping[str, str]) -> None:
    """Write the input and carry out every step in its order. Raises ShakedownError where one fails."""
    programs = find(recipe, environment.get("PATH", os.defpath))
    for name, text in recipe.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    say(f"shakedown: begin {recipe.application}")
    for step in recipe.steps:
        _step(recipe, step, programs, host, folder, say)
    say(END)


def _step(
    recipe: Recipe, step: Step, programs: Mapping[str, tuple[str, ...]], host: Host, folder: Path, say: Say
) -> None:
    argv = (*programs[step.argv[0]], *step.argv[1:])
    env = {name: value for name, value in recipe.unset.items() if name not in os.environ} | step.env
    if step.ranks:
        argv, more = _launched(recipe, host, argv, step, env)
        env |= more
    began = time.time()
    say(f"shakedown: step {step.name} on {step.ranks} ranks at {began:.6f}: {' '.join(argv)}")
    ran = _work.run(argv, limit_s=_LIMIT_S, cwd=folder, env=env)
    say(ran.out)
    for pattern in step.shows:
        for path in sorted(folder.glob(pattern)):
            lines = _text(path).removesuffix("\n").split("\n")
            say(f"shakedown: file {path.relative_to(folder)} of {len(lines)} lines")
            say("".join(f"{line}\n" for line in lines))
    if ran.code not in step.ends_with:
        left = "".join(_text(path) for name in step.tells for path in sorted(folder.glob(name)))
        raise _failure(recipe, step, ran._replace(err=f"{ran.err}{left}"))
    say(f"shakedown: step {step.name} ended after {ran.seconds:.6f} s with exit code {ran.code}")


def _text(path: Path) -> str:
    return path.read_bytes()[:_FILE_BYTES].decode("utf-8", "replace")


def _failure(recipe: Recipe, step: Step, ran: _work.Ran) -> ShakedownError:
    print(ran.err, file=sys.stderr)
    known = in_words(recipe.complaints, f"{ran.err}\n{ran.out}")
    if known is not None:
        return known
    return CannotMeasure(
        f"the step {step.name} failed: {_work.said(ran)}", hint="its output lies in the run's folder (stdout, stderr)"
    )


def _launched(
    recipe: Recipe, host: Host, argv: tuple[str, ...], step: Step, env: Mapping[str, str]
) -> launchers.Started:
    """The words that start a step on its ranks; one rank without any MPI starts by itself."""
    software = flavours.mpi(LocalHost()) if recipe.modules else host.software
    if step.ranks == 1 and recipe.mpi == "auto" and not any(one.kind == "mpi" for one in software):
        return argv, {}
    mpi = launchers.site_mpi(software) if recipe.mpi == "auto" else chosen(software, recipe.mpi)
    allocation = schedulers.inside(os.environ, LocalHost())
    names = hostlist.expand(host.name) if host.count > 1 else (host.name,) if allocation else ()
    alone = msgspec.structs.replace(host, software=(mpi,))
    own = {**_waiting(mpi, step.ranks, host), **env}
    words, more = started(Site(alone, mpi, allocation, names[: step.ranks], step.ranks), argv, own)
    return words, {**own, **more}


def _waiting(mpi: Software, ranks: int, host: Host) -> dict[str, str]:
    """Ranks that share a processor give it away while they wait."""
    crowded = mpi.name == flavours.OPEN_MPI and ranks > max(1, len(host.usable_cpus)) * host.count
    return {"OMPI_MCA_mpi_yield_when_idle": "1"} if crowded else {}


class Say:
    """Prints a text that ends with its line, at once."""

    def __call__(self, text: str) -> None:
        if text:
            sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
            sys.stdout.flush()


def read_recipe(path: Path) -> Recipe:
    """The job that the harness left. Raises BadInput."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Recipe)
    except (OSError, *strict.UNREADABLE) as error:
        hint = "it is written by the harness: shakedown run raxml"
        raise BadInput(f"there is no job in this folder: {error}", where=path.name, hint=hint) from None


def main() -> int:
    """Carry out the job of this folder; the exit code."""
    folder = Path.cwd()
    try:
        recipe = read_recipe(folder / "recipe.json")
        host = read_host("host.json")
        _modules.load(recipe.modules)
        _work.end_with_parent()
        with _work.ended_by_signals():
            carry_out(recipe, host, folder, Say(), os.environ)
    except ShakedownError as error:
        print(error, file=sys.stderr)
        return error.exit_code if isinstance(error, (Unavailable, BadInput)) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
