"""``software.toml``: where software is looked for, and how a program tells its version."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

#: What a version looks like in the first lines that a program prints of itself.
VERSION = r"\d+\.\d+(?:\.\d+)*(?:[-+.~]?\w+)*"


class Program(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program and how it tells its version. ``ask`` is empty where asking would be slow or change something."""

    kind: str
    name: str
    ask: tuple[str, ...] = ("--version",)
    pattern: str = r"\b(VERSION)"  # with VERSION for what a version looks like
    label: str = ""  # shown instead of the program's name


class Places(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Variables of the environment that name a folder above the software, and the usual folders as patterns."""

    variables: tuple[str, ...]
    folders: tuple[str, ...] = ()


class SoftwareTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    programs: tuple[Program, ...]
    blas: Places
    mpi: Places


@cache
def table() -> SoftwareTable:
    """The table, read once."""
    return msgspec.toml.decode((files(__package__) / "software.toml").read_bytes(), type=SoftwareTable)
