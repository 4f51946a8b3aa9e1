"""shakedown native: where the native programs are, how they were built, and the path of one, to run it by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from ..document import terminal


def command(
    name: Annotated[str, typer.Argument(help="A program: its path is printed.", show_default=False)] = "",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show the native programs, or print the path of one: `$(shakedown native gpu_gemm) --help`.

    Programs with ranks are started by the MPI that they were built with: `mpirun -np 4 $(shakedown native hpl) --n 20000`.
    """
    import os

    from .. import programs
    from ..errors import unknown

    folder = programs.folder()
    built = programs.build()
    found = sorted(
        path.name
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.is_file() and os.access(path, os.X_OK)
    )
    absent = {key.removesuffix("_absent"): str(why) for key, why in built.items() if key.endswith("_absent")}
    if name:
        if name not in found and name not in absent:
            raise unknown("program", name, found, where=str(folder))
        path = programs.path(name)
        if json:
            terminal.print_json({"name": name, "path": path})
        else:
            print(path)
        return
    if not found:
        programs.path("probe")  # says that they were not built, and what to do
    if json:
        terminal.print_json({"folder": str(folder), "programs": found, "build": built})
        return
    print(f"folder   {folder}")
    mpi, cuda = built.get("mpi") or {}, built.get("cuda") or {}
    print(f"build    {built.get('version', '?')}, {built.get('compiler', '?')}")
    print(f"MPI      {mpi.get('flavour', '?')} {mpi.get('version', '')}" if mpi else "MPI      none: see below")
    print(f"CUDA     {cuda.get('version')} for {cuda.get('architectures')}" if cuda else "CUDA     none: see below")
    terminal.print_sentence(" ".join(found), "programs ", "         ")
    for what, why in absent.items():
        terminal.print_sentence(f"not built: {what}: {why}", "", "  ")
