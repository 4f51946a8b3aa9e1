"""A command in the cluster at the caller's terminal: a pseudo-terminal of its own, so that a shell there has job control.

A process that enters another process namespace keeps a controlling terminal whose session it cannot see, and a shell then
refuses job control. So the command gets a new terminal (pty(7)), becomes the leader of a session inside
(``setsid --ctty --wait``), and what is typed and printed is carried between the two.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import tty
from collections.abc import Mapping, Sequence
from types import FrameType


def attach(words: Sequence[str], env: Mapping[str, str]) -> int:
    """Run words that enter the cluster and end in ``setsid --ctty --wait COMMAND`` here; return its exit code."""
    master, slave = pty.openpty()
    _resize(master)
    child = subprocess.Popen(
        list(words), stdin=slave, stdout=slave, stderr=slave, env=dict(env), start_new_session=True
    )
    os.close(slave)
    before = termios.tcgetattr(sys.stdin)

    def resized(number: int, frame: FrameType | None) -> None:
        _resize(master)

    old = signal.signal(signal.SIGWINCH, resized)
    try:
        tty.setraw(sys.stdin, termios.TCSADRAIN)  # what was typed ahead stays
        _carry(master)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, old)
        os.close(master)
    code = child.wait()
    return code if code >= 0 else 128 - code


def _resize(master: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(master, termios.TIOCSWINSZ, fcntl.ioctl(sys.stdin, termios.TIOCGWINSZ, b"\0" * 8))


def _carry(master: int) -> None:
    """Carry what is typed and printed until the command has closed its side."""
    keyboard = sys.stdin.fileno()
    listened = [master, keyboard]
    while True:
        ready = select.select(listened, [], [])[0]
        if keyboard in ready:
            typed = os.read(keyboard, 4096)
            if typed:
                os.write(master, typed)
            else:
                listened.remove(keyboard)
        if master in ready:
            try:
                printed = os.read(master, 65536)
            except OSError:  # EIO: the last process has closed the terminal
                return
            if not printed:
                return
            os.write(sys.stdout.fileno(), printed)
