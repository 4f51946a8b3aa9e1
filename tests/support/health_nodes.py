"""A node made of files, on which health checks are made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from shakedown.operate.health import calling
from shakedown.operate.health.node_access import NodeAccess, Space, Timex
from shakedown.operate.health.records import CheckContext, Finding, Outcome

NOW = 1_700_000_000.0


class Faked(NodeAccess):
    """A tree, and what is no file."""

    spaces: Mapping[str, Space | OSError] = {}
    clock: Timex | OSError = Timex(0x2001, 0, 1e-4, 0.01, 0.001)
    sockets: Mapping[str, str] = {}
    errors: Mapping[str, OSError] = {}
    uids: Mapping[str, int] = {}

    def text(self, path: str) -> str | None:
        if path in self.errors:
            raise self.errors[path]
        return super().text(path)

    def space(self, path: str) -> Space:
        found = self.spaces.get(path, Space(100, 50, 100, 50))
        if isinstance(found, OSError):
            raise found
        return found

    def timex(self) -> Timex:
        if isinstance(self.clock, OSError):
            raise self.clock
        return self.clock

    def connect(self, path: str) -> str:
        return self.sockets.get(path, "No such file or directory")

    def which(self, name: str) -> str | None:
        return None

    def owner(self, path: str) -> int | None:
        return self.uids.get(path, 0)

    def nvml(self) -> Any:
        return None


class Node:
    """A node made of files, on which checks are made one after the other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.senses = Faked(str(root))
        self.kept: dict[str, dict[str, Any]] = {}

    def put(self, files: Mapping[str, object]) -> None:
        for path, text in files.items():
            place = self.root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{text}\n")

    def check(self, name: str, plan: Mapping[str, Any] | None = None, now_s: float = NOW, part: str = "") -> Outcome:
        one = calling.check(name)
        section = msgspec.convert(plan or {}, one.plan)
        outcome = one.run(CheckContext(self.senses, section, self.kept.get(name, {}), now_s, "b", part))
        if outcome.kept is not None:
            self.kept[name] = outcome.kept
        return outcome

    def wrong(self, name: str, plan: Mapping[str, Any] | None = None, now_s: float = NOW) -> dict[str, Finding]:
        return {one.item: one for one in self.check(name, plan, now_s).findings if one.severity != "OK"}
