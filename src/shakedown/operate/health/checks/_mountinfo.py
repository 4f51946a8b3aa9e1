"""What is mounted where: /proc/self/mountinfo (proc(5)). Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

#: File systems that hold nothing of a user's, that are always full, or that mount what one looks at (autofs).
PSEUDO = frozenset((
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs",
    "efivarfs", "erofs", "fusectl", "hugetlbfs", "iso9660", "mqueue", "nsfs", "proc", "pstore", "ramfs",
    "rpc_pipefs", "securityfs", "selinuxfs", "squashfs", "sysfs", "tracefs", "fuse.gvfsd-fuse", "fuse.portal",
    "fuse.lxcfs",
))  # fmt: skip
#: File systems behind a server or a daemon, which may never answer: each has a child of its own.
REMOTE = frozenset((
    "nfs", "nfs4", "lustre", "gpfs", "mmfs", "beegfs", "panfs", "cifs", "smb3", "ceph", "glusterfs", "9p",
    "afs", "orangefs", "pvfs2", "wekafs", "dvs", "fuse", "fuseblk", "virtiofs", "vastnfs",
))  # fmt: skip


class Mount(NamedTuple):
    point: str
    kind: str
    source: str
    options: frozenset[str]  # of this mount
    device_options: frozenset[str]  # of the file system behind it
    device: str  # major:minor

    @property
    def remote(self) -> bool:
        return self.kind in REMOTE or self.kind.startswith("fuse.")

    @property
    def read_only(self) -> bool:
        return "ro" in self.options or "ro" in self.device_options

    @property
    def turned_read_only(self) -> bool:
        """Mounted for writing, but the kernel has made the file system itself read-only after an error."""
        return "rw" in self.options and "ro" in self.device_options


def parse(text: str) -> dict[str, Mount]:
    """By mount point; where several lie over each other, the uppermost."""
    found: dict[str, Mount] = {}
    for line in text.splitlines():
        head, separator, tail = line.partition(" - ")
        first, last = head.split(" "), tail.split(" ")
        if not separator or len(first) < 6 or len(last) < 3:
            continue
        point = _plain(first[4])
        found[point] = Mount(
            point, last[0], _plain(last[1]), frozenset(first[5].split(",")), frozenset(last[2].split(",")), first[2]
        )
    return found


def _plain(text: str) -> str:
    """Without the octal escapes of space, tab, newline and backslash."""
    return re.sub(r"\\([0-7]{3})", lambda one: chr(int(one[1], 8)), text)


def worth(mounts: dict[str, Mount]) -> list[Mount]:
    """What is looked at without a plan: each file system once, at its shortest mount point."""
    seen: dict[str, Mount] = {}
    for one in sorted(mounts.values(), key=lambda mount: (len(mount.point), mount.point)):
        if one.kind in PSEUDO or (one.kind == "tmpfs" and one.point not in ("/", "/tmp", "/dev/shm")):
            continue
        key = f"{one.device} {one.kind}" if not one.device.startswith("0:") else f"{one.device} {one.source}"
        seen.setdefault(key, one)
    return list(seen.values())
