"""CPUs and GPUs of one job of OpenPBS, PBS Professional or Torque, from its attributes (log or qstat).

What was given (the nodes, slots and GPUs that the engine names) comes before what was asked for: a server's default such
as ``Resource_List.ncpus=1`` stands in every record, whatever was given.

A request has a chunk for each kind of node, ``2:ncpus=8:ngpus=2+1:ncpus=4`` (select), ``2:ppn=8:gpus=1`` or
``c1:ppn=8+c2`` (nodes, neednodes): with Maui or Moab ``neednodes`` holds the hosts, and only ``nodes`` the GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...units import MOST_COUNT, whole_number

_CHUNKS = ("Resource_List.select", "Resource_List.nodes", "Resource_List.neednodes")
_CPUS = re.compile(r"(?:ncpus|ppn)=(\d+)")
#: Of one chunk: OpenPBS's, Torque's, Cray's word, and a generic resource of Moab's.
_GPUS = re.compile(r"(?:n?gpus?|naccelerators)[=:](\d+)")
#: Of the whole job.
_JOB_GPUS = ("ngpus", "gpus", "ngpu", "gpu", "naccelerators")
_GENERIC = re.compile(r"\bn?gpus?(?:[:=](\d+))?", re.IGNORECASE)  # gres=gpu:2, x=GRES:gpus@2
#: A property of nodes, or a switch.
_UNCOUNTED = re.compile(r"n?gpus?(?:=(?:true|yes|t|y))?", re.IGNORECASE)
_KIND = re.compile(r"\b(?:gpu_type|gpu_model|accelerator_model)=([\w.-]+)")


class Gpus(NamedTuple):
    """``number`` is None where GPUs are asked for in words that do not tell how many."""

    number: int | None
    kind: str | None
    given: bool  # by the engine's own word, not by the request


def _word(told: Mapping[str, Any], name: str) -> str:
    return str(told.get(name) or "")


def _count(told: Mapping[str, Any], name: str) -> int:
    """A number above zero; 0 where there is none."""
    return whole_number(_word(told, name), most=MOST_COUNT) or 0


def slots(text: str) -> int:
    """The slots of ``node1/0*4``, ``node1/0-3,7``, ``node1/0+node1/1``."""
    total = 0
    for part in filter(None, text.split("+")):
        place = part.partition("/")[2]
        if times := re.fullmatch(r"[0-9]+\*([0-9]{1,9})", place):
            total += int(times[1])
            continue
        for word in place.split(","):
            low, high = (whole_number(one, most=MOST_COUNT) for one in word.partition("-")[::2])
            total += max(1, high - low + 1) if low is not None and high is not None else 1
    return total


def cpus_of(told: Mapping[str, Any]) -> int | None:
    """CPUs that were given, else those that were asked for; None where nothing tells."""
    chunks = [int(count) for count in re.findall(r"\bncpus=([0-9]{1,9})\b", _word(told, "exec_vnode"))]
    if chunks:
        return sum(chunks)
    if given := slots(_word(told, "exec_host")):
        return given
    for name in ("total_execution_slots", "resources_used.ncpus"):
        if given := _count(told, name):
            return given
    return asked_cpus(told)


def asked_cpus(told: Mapping[str, Any]) -> int | None:
    """CPUs of the request: of its chunks, where it has any."""
    for name in _CHUNKS:
        if count := _of_chunks(_word(told, name), _CPUS, unless=1):
            return count
    return _count(told, "Resource_List.procs") or _count(told, "Resource_List.ncpus") or None


def _of_chunks(text: str, pattern: re.Pattern[str], *, unless: int) -> int:
    """The sum over a request's chunks of the pattern's number, ``unless`` where a chunk has none."""
    total = 0
    for part in filter(None, text.partition("#")[0].split("+")):
        times = re.match(r"([0-9]{1,9})(?=:|$)", part)
        found = next((one for word in part.split(":") if (one := pattern.fullmatch(word))), None)
        total += (int(found[1]) if found else unless) * (int(times[1]) if times else 1)
    return total


def gpus_of(told: Mapping[str, Any]) -> Gpus:
    """GPUs that were given, else those that were asked for; zero where nothing names any (whether the site records them
    at all is decided later)."""
    kind = next((found[1] for value in told.values() if (found := _KIND.search(str(value)))), None)
    given = re.findall(r"\bngpus=([0-9]{1,9})\b", _word(told, "exec_vnode"))
    if given:
        return Gpus(sum(map(int, given)), kind, True)
    if given_gpus := slots(_word(told, "exec_gpus")):
        return Gpus(given_gpus, kind, True)
    for name in _CHUNKS:
        if count := _of_chunks(_joined(_word(told, name)), _GPUS, unless=0):
            return Gpus(count, kind, False)
    for name in _JOB_GPUS:
        if count := _count(told, f"Resource_List.{name}"):
            return Gpus(count, kind, False)
    return _generic(told, kind)


def _joined(text: str) -> str:
    """``gres=gpu:2`` in a chunk as one word."""
    return re.sub(r":gres=(n?gpus?)[:=](\d+)", r":\1=\2", text)


def _generic(told: Mapping[str, Any], kind: str | None) -> Gpus:
    """Generic resources of the whole job (one where no number stands); nothing told where a chunk only says "gpu"."""
    for name in ("gres", "x"):
        found = _GENERIC.findall(_word(told, f"Resource_List.{name}").replace("@", ":"))
        if found:
            return Gpus(sum(int(count or 1) for count in found), kind, False)
    words = {word for name in _CHUNKS for word in re.split(r"[:+#]", _word(told, name))}
    return Gpus(None if any(_UNCOUNTED.fullmatch(word) for word in words) else 0, kind, False)
