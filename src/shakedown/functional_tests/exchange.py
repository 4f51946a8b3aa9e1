"""Files exchanged with another system, there and back: a tree of difficult files by each tool, then one large file.

The tree is sent, its SHA-256 sums are taken on the far side, it is fetched into another folder, and everything that came
back is compared with what was sent: content, names, modes, times, links, holes, as far as the tool promises to keep them.
The far side is reached by ssh as the user (BatchMode: keys or an agent, never a password), or is another path of this host.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput, CannotMeasure, ShakedownError, Unavailable
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Residual
from ..units import whole_number
from ..workloads.exchange import TABLE, TOOLS, Target, is_plain, parse_target
from . import _exchange_tree as trees
from . import _work

_LIMIT_S = 3600.0
_ASK_S = 60.0
_MARK = ".shakedown-exchange-"
_LARGE = "large"

#: What a shell on the far side is given, on its standard input; the words are its arguments and never part of the text.
_BEGIN = f"""set -eu
cd "${{1:-.}}"
folder="$PWD/{_MARK}$2"
mkdir -m 700 "$folder"
printf 'folder %s\\n' "$folder"
printf 'host %s\\n' "$(uname -n)"
printf 'free_kib %s\\n' "$(df -Pk "$folder" | awk 'NR == 2 {{print $4}}')"
for tool in rsync sha256sum; do if command -v "$tool" > /dev/null 2>&1; then printf 'has %s\\n' "$tool"; fi; done
"""
_SUMS = 'cd "$1" && exec find . -type f -exec sha256sum -z {} +\n'
_REMOVE = f'case "$1" in */{_MARK}*) rm -rf -- "$1" ;; esac\n'


class Far(NamedTuple):
    """The folder on the other side, for this run alone."""

    target: Target
    ssh: tuple[str, ...]  # in front of a command there; empty: this host
    config: str
    folder: str
    has: frozenset[str]
    host: str  # as it calls itself: localhost by ssh is this host

    def at(self, name: str) -> str:
        """A path there, as the tools want it."""
        path = f"{self.folder}/{name}"
        return f"{self.target.place}:{path}" if self.ssh else path


def ssh_options(config: str) -> tuple[str, ...]:
    """Options of ssh, scp and sftp alike: nobody is asked anything, nothing is compressed."""
    options = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "Compression=no")
    return (*(("-F", config) if config else ()), *options)


def shell(ssh: Sequence[str], text: str, *words: str) -> _work.Ran:
    """Run the text of a script there (or here). Over ssh the words must be plain: see ``parse_target``."""
    return _work.run((*ssh, "sh", "-s", *(("--", *words) if not ssh else words)), limit_s=_ASK_S, given=text)


@contextmanager
def reached(target: Target, config: str, need_bytes: int) -> Iterator[Far]:
    """A folder of our own on the far side, removed at the end. Raises Unavailable where it cannot be reached."""
    ssh = ("ssh", *ssh_options(config), "--", target.login) if target.host else ()
    token = secrets.token_hex(6)
    ran = shell(ssh, _BEGIN, target.path or ".", token)
    told = dict(
        line.split(" ", 1) for line in ran.out.splitlines() if line.startswith(("folder ", "free_kib ", "host "))
    )
    folder = told.get("folder", "")
    try:
        if not ran.ok or not folder:
            raise _unreached(target, ran)
        has = frozenset(line.split()[1] for line in ran.out.splitlines() if line.startswith("has "))
        if target.host and not is_plain(folder):
            what = f"the folder {folder!r} has characters in its name that a remote shell interprets"
            raise CannotMeasure(what, hint="name another")
        far = Far(target, ssh, config, folder, has, told.get("host", ""))
        _refuse_full(target, told.get("free_kib", ""), need_bytes)
        yield far
    finally:
        if folder:
            shell(ssh, _REMOVE, folder)


def _unreached(target: Target, ran: _work.Ran) -> ShakedownError:
    if target.host and ran.code == 255:  # ssh's own
        return Unavailable(
            f"{target.login} cannot be reached without a password: {_work.said(ran)}",
            hint=f"make this work first: ssh -o BatchMode=yes {target.login} true (your key there, the host's key here)",
        )
    return CannotMeasure(
        f"no folder can be made in {target.path or 'the home folder'} of {target.host or 'this host'}: {_work.said(ran)}",
        hint="name a folder that is there and that you may write to",
    )


#: Bytes that each side needs for the trees.
_TREES_BYTES = 256 * 2**20


def _refuse_full(target: Target, free_kib: str, need: int) -> None:
    free = whole_number(free_kib)
    if free is not None and free * 1024 < need:
        raise CannotMeasure(
            f"{free // 1024} MiB are free at {target.place or 'this end'}, and {need >> 20} MiB are needed",
            hint="free some space there, or choose a smaller `large`",
        )


# ------------------------------------------------------------------------------------------------------------------ tools


def _rsync(far: Far, source: str, target: str) -> tuple[str, ...]:
    over = ("-e", " ".join(("ssh", *ssh_options(far.config))), "-s") if far.ssh else ()
    return ("rsync", "-a", "-S", "--ignore-times", "--whole-file", *over, "--", source, target)


def _scp(far: Far, source: str, target: str) -> tuple[str, ...]:
    return ("scp", "-r", "-p", "-q", *ssh_options(far.config), "--", source, target)


def _cp(far: Far, source: str, target: str) -> tuple[str, ...]:
    return ("cp", "-a", "--sparse=always", "--reflink=never", "-T", "--", source, target)


def send(tool: str, far: Far, folder: Path, name: str) -> _work.Ran:
    """Send a file or a folder of ``folder`` to the far side, under the same name."""
    if tool == "sftp":
        return _sftp(far, folder, f'put -p -r "{name}" "{far.folder}/{name}"\n')
    argv = {"rsync": _rsync, "scp": _scp, "cp": _cp}[tool]
    # rsync puts a folder into its target's folder; cp is told the target itself
    aim = far.at(name) if tool == "cp" else far.at("")
    return _work.run(argv(far, name, aim), limit_s=_LIMIT_S, cwd=folder)


def fetch(tool: str, far: Far, folder: Path, name: str) -> _work.Ran:
    """Fetch a file or a folder of the far side into ``folder``, under the same name."""
    if tool == "sftp":
        return _sftp(far, folder, f'get -p -r "{far.folder}/{name}" "{name}"\n')
    argv = {"rsync": _rsync, "scp": _scp, "cp": _cp}[tool]
    return _work.run(argv(far, far.at(name), name if tool == "cp" else "."), limit_s=_LIMIT_S, cwd=folder)


def _sftp(far: Far, folder: Path, batch: str) -> _work.Ran:
    argv = ("sftp", "-q", *ssh_options(far.config), "-b", "-", "--", far.target.login)
    return _work.run(argv, limit_s=_LIMIT_S, cwd=folder, given=batch)


def absent(tool: str, far: Far) -> str:
    """Why a tool cannot be used; empty where it can."""
    if shutil.which(tool) is None:
        return f"{tool} is not here"
    if tool == "cp" and far.ssh:
        return "cp does not go over the network"
    if tool in ("scp", "sftp") and not far.ssh:
        return f"{tool} is for another host"
    if tool == "rsync" and far.ssh and "rsync" not in far.has:
        return f"rsync is not on {far.target.host}"
    return ""


# ----------------------------------------------------------------------------------------------------------------- checks


def far_sums(far: Far, name: str) -> dict[bytes, str] | None:
    """The SHA-256 sums of all files below a folder of the far side; None where it has no tool for that."""
    if "sha256sum" not in far.has:
        return None
    ran = shell(far.ssh, _SUMS, f"{far.folder}/{name}")
    if not ran.ok:
        return None
    found = {}
    for entry in ran.out.encode("utf-8", "surrogateescape").split(b"\0"):
        digest, _, path = entry.partition(b"  ")
        if path:
            found[path.removeprefix(b"./")] = digest.decode()
    return found


def sent_wrong(sent: trees.Tree, sums: dict[bytes, str]) -> list[str]:
    """What differs on the far side, by its own sums."""
    want = {path: entry.digest for path, entry in sent.items() if entry.digest}
    wrong = [f"{path!r} is not there" for path in want if path not in sums]
    wrong += [f"{path!r} has another sum" for path in want if path in sums and sums[path] != want[path]]
    return wrong + [f"{path!r} was not sent" for path in sums if path not in want]


class ExchangeOptions(NamedTuple):
    """What is asked for on the command line."""

    tools: tuple[str, ...]
    large_bytes: int
    samples: int


def tree_both_ways(tool: str, far: Far, folder: Path, emit: Emitter) -> bool:
    """Send the tree by one tool, check it there, fetch it and compare; whether all was right."""
    out, back, name = folder / f"out-{tool}", folder / f"back-{tool}", f"tree-{tool}"
    out.mkdir()
    back.mkdir()
    keeps = trees.KEEPS[tool]
    trees.make(out / name, keeps)
    sent = trees.read(out / name)
    size = sum(entry.size for entry in sent.values())
    route = {"tool": tool, "route": "ssh" if far.ssh else "local"}
    steps: tuple[tuple[str, Callable[[], tuple[_work.Ran, list[str]]]], ...] = (
        ("out", lambda: _sent(send(tool, far, out, name), far, name, sent, emit)),
        ("back", lambda: (fetch(tool, far, back, name), trees.differences(sent, trees.read(back / name), keeps))),
    )
    for direction, step in steps:
        ran, wrong = step()
        if not ran.ok:
            wrong = [f"{tool} {_work.said(ran)}", *wrong]
        if wrong:
            emit.notice("exchange-wrong", f"{tool}, {direction}: {'; '.join(wrong[:4])}")
        check = Residual(value=len(wrong), limit=0, kind="files that differ")
        done = {"files": len(sent), "bytes": size}
        emit.case("tree", {**route, "direction": direction}, done, [ran.seconds], check)
        if wrong:
            return False
    return True


def _sent(ran: _work.Ran, far: Far, name: str, sent: trees.Tree, emit: Emitter) -> tuple[_work.Ran, list[str]]:
    sums = far_sums(far, name)
    if sums is None:
        where = far.target.place or "the far side"
        emit.notice("exchange-sums", f"{where} has no sha256sum -z: only what comes back is checked")
        return ran, []
    return ran, sent_wrong(sent, sums)


def large_both_ways(tool: str, far: Far, folder: Path, asked: ExchangeOptions, emit: Emitter) -> bool:
    """One large file of random bytes, several times each way; its sum is compared after each journey."""
    out, back = folder / f"out-{tool}", folder / f"back-{tool}"
    digest = trees.fill(out / _LARGE, asked.large_bytes)
    params = {"tool": tool, "route": "ssh" if far.ssh else "local", "bytes": asked.large_bytes}
    seconds: dict[str, list[float]] = {"out": [], "back": []}
    wrong: list[str] = []
    for _ in range(asked.samples):
        there = send(tool, far, out, _LARGE)
        (back / _LARGE).unlink(missing_ok=True)
        here = fetch(tool, far, back, _LARGE) if there.ok else there
        seconds["out"].append(there.seconds)
        seconds["back"].append(here.seconds)
        if not here.ok:
            wrong.append(f"{tool} {_work.said(here)}")
        elif trees.digest_of(back / _LARGE) != digest:
            wrong.append("the large file came back with another sum")
        if wrong:
            emit.notice("exchange-wrong", wrong[0])
            break
    check = Residual(value=len(wrong), limit=0, kind="wrong sums")
    for direction, taken in seconds.items():
        emit.case("large", {**params, "direction": direction}, {"bytes": asked.large_bytes}, taken, check)
    for place in (out, back):
        (place / _LARGE).unlink(missing_ok=True)
    return not wrong


def demonstrate(far: Far, folder: Path, asked: ExchangeOptions, emit: Emitter) -> None:
    """Each tool in turn; then how many were right."""
    right = tried = 0
    if far.ssh:
        setup = [shell(far.ssh, "true\n").seconds for _ in range(3)]
        emit.case("setup", {"route": "ssh"}, {}, setup)
    for number, tool in enumerate(asked.tools):
        emit.progress(number / len(asked.tools), tool)
        if why := absent(tool, far):
            emit.notice("exchange-tool", f"{tool} was not tried: {why}")
            continue
        tried += 1
        if tree_both_ways(tool, far, folder, emit):
            right += large_both_ways(tool, far, folder, asked, emit)
        shutil.rmtree(folder / f"out-{tool}", ignore_errors=True)
        shutil.rmtree(folder / f"back-{tool}", ignore_errors=True)
    if not tried:
        raise Unavailable(
            f"none of the tools {', '.join(asked.tools)} can be used",
            hint="install rsync on both sides, or openssh-client",
        )
    emit.case("exchange", {"route": "ssh" if far.ssh else "local"}, {"tools": right})


def body(argv: Sequence[str], emit: Emitter) -> None:
    words = ProgramArguments("exchange", "files to another system and back, verified")
    _work.add_options(words, TABLE, target={"required": True}, tools={"default": ",".join(TOOLS)})
    given = words.parse_args(argv)
    target = parse_target(given.target)
    asked = ExchangeOptions(_work.words(given.tools, TOOLS, "tool"), given.large, given.samples)
    if asked.samples < 1 or asked.large_bytes < 1:
        raise BadInput("--samples and --large begin at 1", hint="--large 268435456 --samples 3")
    config = str(Path(given.ssh_config).resolve()) if given.ssh_config else ""
    if config and (not os.access(config, os.R_OK) or any(sign.isspace() or sign in "'\"" for sign in config)):
        raise BadInput("this configuration of ssh cannot be used", where=config, hint="a readable file without spaces")
    here = Path(given.folder)
    if not here.is_dir():
        raise BadInput("there is no such folder", where=given.folder, hint="name a folder of this host")
    need = asked.large_bytes + _TREES_BYTES
    _refuse_full(Target("", "", ""), str(shutil.disk_usage(here).free // 1024), 2 * need)
    with _work.workshop(here) as folder, reached(target, config, need) as far:
        emit.start(
            {
                "target": given.target,
                "hosts": sorted({name for name in (os.uname().nodename, far.host) if name}),
                "far_folder": far.folder,
                "near_folder": str(folder),
                "tools": {tool: absent(tool, far) or "used" for tool in asked.tools},
                "sums": "sha256sum" in far.has,
            }
        )
        with emit.phase("measure"):
            demonstrate(far, folder, asked, emit)


if __name__ == "__main__":
    sys.exit(run("exchange", body))
