"""Which microarchitecture a processor is, and what one of its cores does in a cycle (``microarchitectures.toml``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from ..records import Absent

#: Suffix of the name where only the instruction set is known.
OR_NEWER = " or newer"


class Identity(NamedTuple):
    """What a processor says that it is. On Arm ``family`` is the implementer and ``number`` the part."""

    vendor: str
    model: str
    family: int | None
    number: int | None
    stepping: int | None
    soc: str = ""


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What differs for some models of a microarchitecture. ``channels = 0`` means "not known"."""

    model: str = ""
    threads: int | None = None
    units: int | None = None
    bits: int | None = None
    channels: int | None = None
    speed_mts: float | None = None
    note: str | None = None


class Microarchitecture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the table; see its head for the meaning and the unit of each field."""

    name: str
    vendor: str
    family: int | None = None
    models: tuple[int, ...] = ()
    names: str = ""
    steppings: tuple[int, int] | None = None
    soc: str = ""
    units: int | None = None
    bits: int | None = None
    flop: int | None = None
    source: str = ""
    unverified: bool = False
    efficient: str = ""
    low_power: str = ""
    shared_by: int = 1
    fp64_every: int = 1
    channels: int | None = None
    speed_mts: float | None = None
    bus_bytes: int = 8
    isa: tuple[str, ...]
    generic: bool = False
    note: str = ""
    clock: str = ""
    variant: tuple[Variant, ...] = ()


class Match(NamedTuple):
    """The microarchitecture's name (``unknown`` where it is), and why it is not what the model number says."""

    name: str
    absent: tuple[Absent, ...] = ()


class ProcessorNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``processors.toml``: the extensions that are told, those that tell generations apart (``markers``), and makers by
    the number or word that processors give of them."""

    extensions: tuple[str, ...]
    markers: tuple[str, ...]
    arm: dict[str, str]
    riscv: dict[str, str]


@cache
def processor_names() -> ProcessorNames:
    """The names, read once."""
    return msgspec.toml.decode((files(__package__) / "processors.toml").read_bytes(), type=ProcessorNames)


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    microarchitecture: tuple[Microarchitecture, ...]


@cache
def table() -> tuple[Microarchitecture, ...]:
    """All entries, oldest first within a vendor."""
    text = (files(__package__) / "microarchitectures.toml").read_bytes()
    return msgspec.toml.decode(text, type=_Table).microarchitecture


def by_name(name: str, model: str = "", threads_per_core: int | None = None) -> Microarchitecture | None:
    """The entry of that name with what differs for the model; None where there is none.

    ``X or newer`` is X without its memory, which the newer one need not have.
    """
    plain = name.removesuffix(OR_NEWER)
    entry = next((entry for entry in table() if entry.name == plain), None)
    if entry is None:
        return None
    if plain != name:
        return msgspec.structs.replace(entry, channels=None, speed_mts=None, variant=())
    for variant in entry.variant:
        named = bool(variant.model) and re.search(variant.model, model) is not None
        threaded = variant.threads is not None and variant.threads == threads_per_core
        if named or threaded:
            changed = {
                key: value
                for key in ("units", "bits", "channels", "speed_mts", "note")
                if (value := getattr(variant, key)) is not None
            }
            entry = msgspec.structs.replace(entry, **changed)
    return msgspec.structs.replace(entry, channels=entry.channels or None)


def identify(identity: Identity, isa: Sequence[str], *, hidden: bool) -> Match:
    """The microarchitecture by the processor's numbers, unless its instruction set refutes them.

    ``hidden`` says that a hypervisor stands between: it may report any number, but can show no instruction that the
    hardware lacks.
    """
    markers = processor_names().markers
    shown = {flag for flag in isa if flag in markers}
    entry = _by_numbers(identity)
    if entry is not None and re.search(r"QEMU Virtual|Common .*KVM", identity.model):
        entry = None  # numbers of a processor that never was
    if entry is not None and shown <= set(entry.isa):
        return Match(entry.name)
    guess = _by_isa(identity.vendor, shown)
    who = "the hypervisor reports" if hidden else "the processor reports"
    numbers = f"family {identity.family} model {identity.number}"
    if entry is not None:
        extra = ", ".join(flag for flag in markers if flag in shown - set(entry.isa))
        why = f"{who} {numbers} ({entry.name}) but shows {extra}, which {entry.name} does not have: "
    else:
        why = f"{who} {numbers} ({identity.model}), which is not in the table: "
    if guess is None:
        return Match("unknown", (Absent(what="microarchitecture", why=f"{why}not reported"),))
    why += f"taken for {guess.name}{OR_NEWER} by the instruction set"
    return Match(guess.name + OR_NEWER, (Absent(what="microarchitecture", why=why),))


def _by_numbers(identity: Identity) -> Microarchitecture | None:
    for entry in table():
        if entry.names:
            if entry.vendor == identity.vendor and re.match(rf"(?:{entry.names})(?!\d)", identity.model):
                return entry
        elif (
            entry.vendor == identity.vendor
            and entry.family == identity.family
            and identity.number in entry.models
            and (
                entry.steppings is None
                or identity.stepping is None
                or entry.steppings[0] <= identity.stepping <= entry.steppings[1]
            )
            and identity.soc.startswith(entry.soc)
        ):
            return entry
    return None


def _by_isa(vendor: str, shown: set[str]) -> Microarchitecture | None:
    """The generic entry with the fewest extensions that has all that are shown, the oldest of equals."""
    fitting = [entry for entry in table() if entry.vendor == vendor and entry.generic and shown <= set(entry.isa)]
    return min(fitting, key=lambda entry: len(entry.isa), default=None) if shown else None
