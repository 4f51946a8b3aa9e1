"""What the log of a JVM says of its end. Pure."""

from __future__ import annotations

import re

#: What ends a JVM that was well until then, and an exception by its name.
_CAUSES = ("No space left on device", "BindException", "OutOfMemoryError", "insufficient memory", "Could not reserve")
_ERROR = re.compile(r"ERROR|Exception|(?i:error:)")
_EXCEPTION = re.compile(
    r'(?:Caused by: |Exception in thread "[^"]{0,80}" )?(?:[\w$]{1,60}\.){1,12}[\w$]{1,80}(?:Exception|Error)\b'
)


def telling(log: str) -> str:
    """The line of a log that says why: a cause that is known to end a JVM, else the exception, else the first error. Empty
    where none does: a line that an exception was caught says nothing of which."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    first = next((line for word in _CAUSES for line in lines if word in line), "")
    first = first or next((line for line in lines if _EXCEPTION.match(line)), "")
    return (first or next((line for line in lines if _ERROR.search(line)), ""))[:300]


def said(log: str) -> str:
    """The line of a log that says most: what is `telling`, else the last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return telling(log) or (lines[-1] if lines else "it printed nothing")[:300]
