"""filesystem on real folders: what holds, what is broken by a library put in between, what is absent, and clearing up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events
from support import natives
from support.waiting import until

SMALL = ("--size", "1048576", "--blocks", "65536", "--files", "50", "--samples", "2")

#: Calls that do less than they must. Which of them: BREAK. What the program's checks see is then a file system that lies.
LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
static int broken(const char* what) { const char* word = getenv("BREAK"); return word && strcmp(word, what) == 0; }
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int open(const char* path, int flags, ...) {
  va_list list; va_start(list, flags); const int mode = flags & O_CREAT ? va_arg(list, int) : 0; va_end(list);
  if (broken("exclusive")) flags &= ~O_EXCL;
  if (broken("append")) flags &= ~O_APPEND;
  return NEXT(open)(path, flags, mode);
}
static int lock(int fd, int command, void* argument, const char* name) {
  if (broken("fcntl-locks") && (command == F_SETLK || command == F_SETLKW)) return 0;
  return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, name))(fd, command, argument);
}
int fcntl(int fd, int command, ...) {
  va_list list; va_start(list, command); void* argument = va_arg(list, void*); va_end(list);
  return lock(fd, command, argument, "fcntl");
}
int fcntl64(int fd, int command, ...) {
  va_list list; va_start(list, command); void* argument = va_arg(list, void*); va_end(list);
  return lock(fd, command, argument, "fcntl64");
}
int flock(int fd, int operation) { return broken("flock") ? 0 : NEXT(flock)(fd, operation); }
int rename(const char* from, const char* to) {
  if (!broken("rename")) return NEXT(rename)(from, to);
  char data[70000];
  const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const ssize_t got = read(in, data, sizeof data);
  usleep(300);
  const ssize_t done = write(out, data, (size_t)got);
  close(in); close(out);
  return done == got ? unlink(from) : -1;
}
int link(const char* from, const char* to) {
  if (!broken("hard-links")) return NEXT(link)(from, to);
  char data[100];
  const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (out < 0) return -1;
  const ssize_t done = write(out, data, (size_t)read(in, data, sizeof data));
  close(in); close(out);
  return done < 0 ? -1 : 0;
}
int utimensat(int folder, const char* path, const struct timespec times[2], int flags) {
  struct timespec both[2] = {times[0], times[1]};
  if (broken("nanoseconds")) both[0].tv_nsec = both[1].tv_nsec = 0;
  return NEXT(utimensat)(folder, path, both, flags);
}
int chmod(const char* path, mode_t mode) { return broken("permissions") ? 0 : NEXT(chmod)(path, mode); }
int ftruncate(int fd, off_t size) { return broken("truncate") ? 0 : NEXT(ftruncate)(fd, size); }
int fsync(int fd) { if (!broken("fsync")) return NEXT(fsync)(fd); errno = EIO; return -1; }
int fallocate(int fd, int mode, off_t at, off_t size) {
  return broken("reserve") && mode == 0 ? NEXT(ftruncate)(fd, at + size)
         : broken("punch-hole") && mode ? 0 : NEXT(fallocate)(fd, mode, at, size);
}
int setxattr(const char* path, const char* name, const void* value, size_t size, int flags) {
  return broken("attributes") ? 0 : NEXT(setxattr)(path, name, value, size, flags);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  if (broken("large-file")) at &= 0xffffffff;
  const int fails = broken("full") ? ENOSPC : broken("quota") ? EDQUOT : broken("gone") ? EIO : broken("stale") ? ESTALE : 0;
  if (fails && at >= 500000) { errno = fails; return -1; }
  return NEXT(pwrite)(fd, data, size, at);
}
"""


def _run(folder: Path, *words: str, env: dict[str, str] | None = None) -> tuple[int, Events, str]:
    return natives.run("storage", "--directory", str(folder), *words, env=env).told()


def _features(found: Events) -> dict[str, dict[str, object]]:
    return {one["feature"]: one for one in found.provenance["facts"]["features"]}


def test_everything_is_measured_and_nothing_stays(tmp_path: Path) -> None:
    code, found, err = _run(tmp_path, *SMALL, "--blocks", "4096,65536", "--threads", "1,2")
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    assert list(tmp_path.iterdir()) == []
    facts = found.provenance["facts"]
    assert facts["world_size"] == 1 and facts["type"] and facts["where"] in ("local", "network", "memory", "unknown")
    speeds = [case for case in found.cases if case.kernel in ("write", "rewrite", "read")]
    assert len(speeds) == 3 * 2 * 2
    for case in speeds:
        assert len(case.seconds) == 2 and case.work["bytes"] == int(case.params["threads"]) * 1048576
        assert case.residual is not None and case.residual.kind == "wrong pages" and case.residual.passed
    small = [case for case in found.cases if case.kernel in ("create", "stat", "unlink")]
    assert [case.work["op"] for case in small] == [50, 50, 50, 100, 100, 100]
    assert all(one["state"] != "broken" for one in _features(found).values())


@pytest.mark.parametrize("cache", ["dropped", "kept"])
def test_the_cache_is_as_it_was_asked_for(tmp_path: Path, cache: str) -> None:
    code, found, err = _run(tmp_path, *SMALL, "--kernels", "read", "--cache", cache)
    assert code == 0, err
    (case,) = found.cases
    assert case.params["cache"] in (cache, "memory")
    assert case.kernel == "read", "files that are only read are written before, and not reported"


@pytest.mark.parametrize(("kind", "kernels", "wrong"), [("flip", "write", 1), ("stale", "rewrite", 16)])
def test_damage_fails_the_check_and_the_run(tmp_path: Path, kind: str, kernels: str, wrong: int) -> None:
    code, found, _ = _run(tmp_path, *SMALL, "--kernels", kernels, "--inject", kind)
    check = found.cases[-1].residual
    assert code == 1 and found.ended and check is not None and check.value == wrong


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that breaks calls. Skips where there is no compiler."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("library")
    (folder / "broken.c").write_text(LIBRARY)
    made = folder / "broken.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", "-o", made, folder / "broken.c", "-ldl"], check=True)
    return made


@pytest.mark.parametrize(
    ("what", "state"),
    [
        ("rename", "broken"),
        ("exclusive", "broken"),
        ("hard-links", "broken"),
        ("permissions", "broken"),
        ("truncate", "broken"),
        ("append", "broken"),
        ("fsync", "broken"),
        ("reserve", "broken"),
        ("punch-hole", "broken"),
        ("attributes", "broken"),
        ("fcntl-locks", "broken"),
        ("flock", "broken"),
        ("large-file", "broken"),
        ("nanoseconds", "absent"),
    ],
)
def test_a_file_system_that_does_less_than_it_must_is_found_out(
    tmp_path: Path, library: Path, what: str, state: str
) -> None:
    code, found, err = _run(
        tmp_path, "--kernels", "features", "--features", what, env={"LD_PRELOAD": str(library), "BREAK": what}
    )
    got = _features(found)[what]
    assert got["state"] == state and got["why"], (got, err)
    assert code == (1 if state == "broken" else 0)
    notice = "filesystem-feature-failed" if state == "broken" else "filesystem-feature-absent"
    assert any(one.code == notice and one.text.startswith(what) for one in found.notices)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("what", "said", "advice"),
    [
        ("full", "No space left on device", "free some space"),
        ("quota", "Disk quota exceeded", "the quota is used up"),
        ("gone", "Input/output error", "the storage failed or has gone"),
        ("stale", "Stale file handle", "the storage failed or has gone"),
    ],
)
def test_storage_that_fails_meanwhile_is_one_error_and_keeps_no_file(
    tmp_path: Path, library: Path, what: str, said: str, advice: str
) -> None:
    env = {"LD_PRELOAD": str(library), "BREAK": what}
    code, found, err = _run(tmp_path, *SMALL, "--kernels", "write", "--threads", "2", "--cache", "kept", env=env)
    assert code == 3 and not found.ended and found.cases == ()
    assert said in err and advice in err and err.count("storage: ") == 1 and "writing" in err, err
    assert list(tmp_path.iterdir()) == []


def test_what_is_absent_fails_only_where_it_is_required(tmp_path: Path) -> None:
    """ramfs offers no attributes, no O_DIRECT and no room in advance."""
    mounted = ["unshare", "--user", "--map-root-user", "--mount"] if os.geteuid() else ["unshare", "--mount"]

    def run(require: str) -> tuple[int, Events]:
        command = f'mount -t ramfs ramfs "$0" && exec "$1" --directory "$0" --kernels features --require {require}'
        done = subprocess.run(
            [*mounted, "sh", "-c", command, str(tmp_path), natives.path("storage")],
            capture_output=True,
            timeout=natives.LIMIT_S,
        )
        if b'"event":"start"' not in done.stdout:
            pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
        return done.returncode, events.parse(done.stdout)

    code, found = run("posix")
    absent = {name for name, one in _features(found).items() if one["state"] == "absent"}
    assert code == 0 and {"attributes", "direct", "reserve"} <= absent
    assert found.cases[0].work["absent"] == len(absent)
    code, found = run("direct")
    assert code == 1 and found.cases[0].residual is not None and found.cases[0].residual.value == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_files_go_whatever_ends_the_run(tmp_path: Path, number: int) -> None:
    words = ("--directory", str(tmp_path), "--kernels", "metadata", "--seconds", str(10 * natives.LIMIT_S))
    process = subprocess.Popen([natives.path("storage"), *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    until(lambda: any(tmp_path.glob("shakedown-*/files.*/*")), every_s=0.01)
    os.kill(process.pid, number)
    process.communicate(timeout=natives.LIMIT_S)
    until(lambda: not list(tmp_path.iterdir()), what="its files go", every_s=0.01)
    assert process.returncode == -number


def test_several_processes_see_one_another_and_rank_0_speaks(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    ended = natives.by_hand("storage", folder, 3, *SMALL)
    assert [one[0] for one in ended] == [0, 0, 0], [one[2] for one in ended]
    assert not ended[1][1].started and not ended[2][1].started
    found = ended[0][1]
    features = _features(found)
    assert {name for name in features if name.startswith("shared-")} >= {
        "shared-open",
        "shared-exclusive",
        "shared-fcntl",
    }
    assert all(one["state"] == "holds" for name, one in features.items() if name.startswith("shared-"))
    write = next(case for case in found.cases if case.kernel == "write")
    assert write.work["bytes"] == 3 * 1048576 and write.params["ranks"] == 3
    assert list(folder.iterdir()) == [] and not (tmp_path / "meet").exists()


def test_locks_that_keep_no_other_process_out_are_found_between_processes(tmp_path: Path, library: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    os.environ["LD_PRELOAD"] = str(library)
    os.environ["BREAK"] = "fcntl-locks"
    try:
        ended = natives.by_hand(
            "storage", folder, 2, "--kernels", "features", "--features", "shared-fcntl", "--require", "shared-fcntl"
        )
    finally:
        del os.environ["LD_PRELOAD"], os.environ["BREAK"]
    assert _features(ended[0][1])["shared-fcntl"]["state"] != "holds"
    assert [one[0] for one in ended] == [1, 0], "rank 0 alone says that a check failed"


def test_a_process_that_does_not_come_is_told(tmp_path: Path) -> None:
    code, found, err = _run(
        tmp_path, "--ranks", "2", "--wait", "1", "--rendezvous", str(tmp_path / "meet"), env={"PMI_RANK": "0"}
    )
    assert code == 3 and not found.started and "1 of 2 processes of the job did not come" in err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--blocks", "1000", "--size", "1000000", "--cache", "direct"), 2, "not a multiple of 4096"),
        (("--size", "5000000"), 2, "not a multiple of the block"),
        (("--size", str(1 << 60)), 3, "are free on"),
        (("--files", "10000000", "--threads", "100000", "--kernels", "metadata"), 3, "can still be made"),
        (("--require", "everything"), 2, "known: none, posix, all, rename"),
        (("--features", "posix"), 2, "known: all, rename"),
        (("--kernels", "writes"), 2, "known: features, write"),
        (("--cache", "cold"), 2, "known: auto, direct"),
        (("--szie", "1"), 2, "did you mean --size"),
        (("--directory", "/nonexistent"), 3, "cannot be asked"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(tmp_path: Path, words: Sequence[str], code: int, said: str) -> None:
    if "can still be made" in said and os.statvfs(tmp_path).f_favail == 0:
        pytest.skip("this file system does not count its files")
    got, found, err = _run(tmp_path, *words)
    assert got == code and not found.started and said in err and "next:" in err, err
    assert list(tmp_path.iterdir()) == []
