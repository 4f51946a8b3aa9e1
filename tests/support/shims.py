"""Compilers that say what a test wants them to say."""

from __future__ import annotations

from pathlib import Path


def shim(folder: Path, name: str, text: str, *more: str) -> Path:
    """A program that says it is a compiler, and lets gcc work; ``more`` are lines of shell before that."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["#!/bin/sh", f"[ \"$1\" = --version ] && {{ echo '{text}'; exit 0; }}", *more, 'exec /usr/bin/gcc "$@"']
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path
