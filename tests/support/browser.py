"""A headless Chromium that is driven over a pair of pipes by the DevTools protocol: no port, no network, no library.

Messages are JSON objects, each ended by a zero byte: https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

LIMIT_S = 300.0
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "about:blank",
)


class Seen(NamedTuple):
    """What a page did while it was loaded and looked at."""

    problems: list[str]  # script errors, console errors and warnings, refusals of the content security policy
    requests: list[str]  # every address that was asked for, the page's own excepted


class Page:
    """One page of the browser, told by its session."""

    def __init__(self, process: subprocess.Popen[bytes], to_browser: int, from_browser: int) -> None:
        self._process, self._to, self._from = process, to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result. Raises RuntimeError where the browser refuses it or does not answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def _receive(self) -> dict[str, Any]:
        until = time.monotonic() + LIMIT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._from, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError(f"the browser does not answer (exit code {self._process.poll()})")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, path: Path, *, width: int, height: int = 900, dark: bool = False, media: str = "screen") -> Seen:
        """Load a file without a network in a window of ``width`` CSS pixels; return what it did."""
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self._events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._receive())
        # Two frames later the page's scripts and its layout are done.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.seen(path)

    def seen(self, path: Path) -> Seen:
        """What the page did since it was opened."""
        self.evaluate("0")  # collects the events that lie before the answer
        problems, requests = [], []
        for event in self._events:
            params = event.get("params", {})
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    problems.append(json.dumps(params["exceptionDetails"]))
                case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                    problems.append(json.dumps(params["args"]))
                case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                    problems.append(params["entry"]["text"])
                case "Network.requestWillBeSent":
                    url = params["request"]["url"]
                    if url.partition("#")[0] != path.as_uri() and not url.startswith("data:"):
                        requests.append(url)
        return Seen(problems, requests)

    def evaluate(self, expression: str) -> Any:
        """The value of a script in the page, awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")


def overflowing(page: Page) -> list[str]:
    """The elements that stick out of the window, boxes that scroll by themselves excepted."""
    found = page.evaluate("""(() => {
      const wide = document.documentElement.clientWidth + 1;
      const boxed = (e) => e.closest(".scroll, pre, .hidden, .skip") !== null;
      const out = [...document.body.querySelectorAll("*")].filter((e) =>
        e.getBoundingClientRect().right > wide && !boxed(e) && e.closest("svg") === null);
      const page = document.scrollingElement.scrollWidth > window.innerWidth ? ["the page itself"] : [];
      return JSON.stringify([...page, ...out.map((e) => e.tagName + "." + e.className)]);
    })()""")
    names: list[str] = json.loads(found)
    return names


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """A page of a fresh browser with a profile of its own; both are gone afterwards."""
    chromium = shutil.which("chromium") or "chromium"
    child_reads, to_browser = os.pipe()
    from_browser, child_writes = os.pipe()
    with tempfile.TemporaryDirectory(prefix="report-browser-", ignore_cleanup_errors=True) as profile:
        # The protocol is spoken on the descriptors 3 and 4, which only a shell can be asked to set.
        command = f'exec "$0" "$@" 3<&{child_reads} 4>&{child_writes}'
        process = subprocess.Popen(
            ["bash", "-c", command, chromium, f"--user-data-dir={profile}", *ARGUMENTS],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(child_reads, child_writes),
            start_new_session=True,
        )
        os.close(child_reads)
        os.close(child_writes)
        try:
            yield Page(process, to_browser, from_browser)
        finally:
            os.close(to_browser)
            os.close(from_browser)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
