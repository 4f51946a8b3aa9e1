"""The application of Spark as its test holds it: ``app.py`` with its JVM, told a step at a time.

What it answers arrives in the queue of the nodes (``cluster.py``): who waits for it hears of a worker that died, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import CannotMeasure
from ...hosts.process import kill_group
from . import node as _node
from .app import MARK
from .cluster import START_S, Event, Nodes, environment, next_step
from .installation import Installation

_END_S = 40.0


class Application:
    """``app.py`` with its JVM: told what to do, a step at a time."""

    def __init__(self, nodes: Nodes, installation: Installation, begun: Mapping[str, Any]) -> None:
        self._nodes = nodes
        own = {"SCRATCH": str(begun["scratch"]), "ADDRESS": str(begun["address"])}
        env = {name: text.format(**own) for name, text in environment(installation).items()}
        self._child = subprocess.Popen(
            (sys.executable, str(Path(__file__).with_name("app.py")), "--wait"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            env={**os.environ, **env, _node.MARK: nodes.place.token},
            text=True,
            errors="replace",
            bufsize=1,
            start_new_session=True,
            preexec_fn=_node.die_with_parent,
        )
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            _, mark, text = line.partition(MARK)
            if mark:
                self._nodes.events.put(Event("app", line=text))
        self._nodes.events.put(Event("app", line=""))

    def tell(self, **words: Any) -> None:
        """A line on its standard input; that it has ended shows where its answer is waited for."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError):
            self._child.stdin.write(json.dumps(words) + "\n")

    def wait(self, limit_s: float = float("inf")) -> dict[str, Any]:
        """Its next answer. Raises CannotMeasure where the step failed, or the application or the cluster ended."""
        end = min(time.monotonic() + limit_s, threading.TIMEOUT_MAX)
        while True:
            event = self._nodes.next(end, lambda: "the application of Spark did not answer")
            if event.source != "app":
                self._nodes.heed(event)
                continue
            if not event.line:
                self._nodes.heed(event)
            found: dict[str, Any] = json.loads(event.line)
            if "failed" in found:
                why = str(found["why"])
                raise CannotMeasure(f"the step {found['failed']} failed: {_root(why)}", hint=next_step(why))
            return found

    def do(self, step: str, **words: Any) -> dict[str, Any]:
        """Carry out a step; its answer."""
        self.tell(do=step, **words)
        return self.wait()

    def stop(self) -> None:
        """The end of its input: it stops Spark and ends."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        self.wait(START_S)
        self._child.wait(_END_S)

    def kill(self) -> None:
        if self._child.poll() is None:
            kill_group(self._child.pid, grace_s=0)
            self._child.wait()


def _root(why: str) -> str:
    """The cause in what Spark raised: the last exception that says what was missing, else the first line."""
    lines = [line.strip() for line in why.splitlines() if line.strip()]
    telling = [one for one in lines if "No space left" in one or "OutOfMemory" in one or "Caused by" in one]
    return (telling[0] if telling else lines[0] if lines else "without a word")[:300]
