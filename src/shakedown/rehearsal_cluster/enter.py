"""Runs a command in the namespaces of a process below an ordinary user's user namespace.

    python -I -S enter.py PID KINDS CAPABILITIES COMMAND...

KINDS is ``net`` or ``mnt,net,uts,ipc,pid``. With CAPABILITIES 1 the command keeps all that its user may do in that user
namespace; ``nsenter`` cannot do this: capabilities end with its exec unless they are ambient (capabilities(7)). The exit
code, or the signal, is the command's. Only the standard library.
"""

import ctypes
import os
import signal
import struct
import sys

PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAP_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3


def keep_capabilities(libc: ctypes.CDLL) -> None:
    """Make every permitted capability inheritable and ambient."""
    header = struct.pack("Ii", CAP_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    if libc.capget(header, data):
        raise OSError(ctypes.get_errno(), "capget")
    low = struct.unpack("6I", data.raw)  # effective, permitted, inheritable: the low words, then the high ones
    full = struct.pack("6I", low[1], low[1], low[1], low[4], low[4], low[4])
    if libc.capset(header, full):
        raise OSError(ctypes.get_errno(), "capset")
    permitted = low[1] | low[4] << 32
    for capability in range(64):
        if permitted >> capability & 1:
            libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)


def main() -> int:
    pid, kinds, capabilities, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    handles = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("user", *kinds.split(","))]
    for handle in handles:
        if libc.setns(handle, 0):
            print(f"setns: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
            return 125
        os.close(handle)
    if capabilities == "1":
        keep_capabilities(libc)
    child = os.fork()  # a process namespace is that of the children
    if child == 0:
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)
            os._exit(127)
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # a terminal sends them to the child as well
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, frame: os.kill(child, got))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main())
