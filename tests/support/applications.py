"""Recordings of applications: their steps apart, and programs that print them again."""

from __future__ import annotations

import re
from pathlib import Path

from shakedown.workloads.common import application_log as log

#: Workload -> its recording, the step that counts, and the programs that its steps start.
RECORDED = {
    "raxml": ("raxml/generated-24-taxa-2-threads.log", "search"),
    "examl": ("examl/generated-24-taxa-2-ranks.log", "search"),
    "quantum_espresso": ("quantum_espresso/generated-slab-2-ranks.log", "scf"),
    "neuron": ("neuron/generated-336-cells-2-ranks.log", "network"),
    "gromacs": ("gromacs/generated-water-2-ranks.log", "mdrun"),
    "openfoam": ("openfoam/generated-step-2-ranks.log", "pisoFoam"),
}


def parts(text: str, workload: str) -> dict[str, log.Part]:
    """The steps of a transcript."""
    return log.parts(text, workload, RECORDED[workload][1])


def player(folder: Path, name: str, printed: str, files: dict[str, str] | None = None, *, ends: int = 0) -> Path:
    """A program of that name that prints a text, leaves files in its working folder, and ends with an exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(printed)
    words = ["#!/bin/sh", f"cat '{folder / f'{name}.txt'}'"]
    for number, (path, text) in enumerate((files or {}).items()):
        (folder / f"{name}.{number}").write_text(text)
        words += [f"mkdir -p \"$(dirname '{path}')\"", f"cp '{folder / f'{name}.{number}'}' '{path}'"]
    program = folder / name
    program.write_text("\n".join((*words, f"exit {ends}", "")))
    program.chmod(0o755)
    return program


def replaced(text: str, pattern: str, new: str) -> str:
    """A text with all that a pattern finds replaced; there must be something."""
    found, many = re.subn(pattern, new, text, flags=re.MULTILINE)
    assert many, pattern
    return found
