# Runs the hooks that lie in ../hooks/<own name>.d, in the order of their names; the file's own name says which. Slurm
# gives a health check no more than SLURMD_NODENAME, so PATH and SLURM_CONF are set here. Only the standard library.
#
#   healthcheck  a hook that fails drains the node with the reason "HC: <hook>: <its last line>"; once all pass again, a
#                node that carries such a reason, and no other, is resumed
#   prolog       a hook that fails ends the prolog with its exit code: Slurm drains the node and requeues the job
#   epilog       likewise

import os
import subprocess
import sys

OWN = "HC:"


def main() -> int:
    kind = os.path.basename(sys.argv[0])
    directory = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ["SLURM_CONF"] = directory + "/etc/slurm.conf"
    folder = directory + "/hooks/" + kind + ".d"
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            continue
        code, said = run(path)
        if code:
            print(kind, name, "failed with", code, said, file=sys.stderr)
            if kind == "healthcheck":
                drain(directory, name + ": " + (said or "exit code " + str(code)))
                return 0
            return code
    if kind == "healthcheck" and os.path.exists(mark(directory)):
        resume(directory)
    return 0


def mark(directory: str) -> str:
    """The file that says that a health check has drained this node: without it there is nothing to ask Slurm."""
    return directory + "/state/drained." + os.environ.get("SLURMD_NODENAME", "")


def run(path: str) -> "tuple[int, str]":
    try:
        done = subprocess.run(
            [path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return abs(done.returncode), lines[-1] if lines else ""


def node_now() -> "tuple[str, str]":
    node = os.environ.get("SLURMD_NODENAME", "")
    done = subprocess.run(["sinfo", "-h", "-n", node, "-o", "%T|%E"], stdout=subprocess.PIPE, text=True, timeout=120)
    state, _, reason = (done.stdout.splitlines() or [""])[0].partition("|")
    return state.strip(), reason.strip()


def drain(directory: str, reason: str) -> None:
    state, held = node_now()
    if state.startswith("drain") and (not held.startswith(OWN) or held == OWN + " " + reason):
        return  # someone else's drain is not ours to rename
    node = os.environ.get("SLURMD_NODENAME", "")
    subprocess.run(
        ["scontrol", "update", "NodeName=" + node, "State=DRAIN", "Reason=" + OWN + " " + reason], timeout=120
    )
    with open(mark(directory), "w"):
        pass


def resume(directory: str) -> None:
    state, held = node_now()
    if state.startswith("drain") and held.startswith(OWN):
        node = os.environ.get("SLURMD_NODENAME", "")
        subprocess.run(["scontrol", "update", "NodeName=" + node, "State=RESUME"], timeout=120)
    os.unlink(mark(directory))


if __name__ == "__main__":
    sys.exit(main())
