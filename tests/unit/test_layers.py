"""What is written behind --under, what stands in front of a program, which pairs a plan makes, and what is believed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import launchers
from shakedown.errors import BadInput, Unavailable
from shakedown.hosts.access import LocalHost, ReplayHost
from shakedown.launchers import Command
from shakedown.layers import asked, start, witness
from shakedown.layers.witness import Seen, Witnessed, refusal
from shakedown.records import Job, Run
from shakedown.results.outcome import measurement, under_layer
from support.machines import host
from support.workloads import installed

# ------------------------------------------------------------------------------------------------------- what is written


@pytest.mark.parametrize(
    ("text", "label", "image", "command", "whole_job"),
    [
        ("native", "native", "", (), False),
        ("namespaces@job", "namespaces@job", "", (), True),
        ("charliecloud:/images/a b", "charliecloud:/images/a b", "/images/a b", (), False),
        (
            "podman:docker.io/library/debian:12",
            "podman:docker.io/library/debian:12",
            "docker.io/library/debian:12",
            (),
            False,
        ),
        ("numa=numactl --interleave=all", "numa", "", ("numactl", "--interleave=all"), False),
        ("vm@job=/opt/in guest '{folder}'", "vm", "", ("/opt/in", "guest", "{folder}"), True),
    ],
)
def test_a_layer_is_read(text: str, label: str, image: str, command: tuple[str, ...], whole_job: bool) -> None:
    found = asked.read(text)
    assert (found.label, found.image, found.command, found.whole_job) == (label, image, command, whole_job)
    assert asked.label(text) == label and found.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("namespace", "unknown kind 'namespace'"),
        ("", "unknown kind"),
        ("native@job", "around nothing"),
        ("native=numactl", "a kind of its own"),
        ("x=", "has no command"),
        ("x='", "cannot be split"),
        ("charliecloud", "needs an image"),
        ("bubblewrap:/images/x", "takes no image"),
        ("9x=true", "unknown kind"),
    ],
)
def test_what_is_no_layer_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        asked.read(text, where="--under")
    assert caught.value.hint and caught.value.where == "--under"


def test_a_command_has_its_commas() -> None:
    assert asked.split("native, bubblewrap,mine=docker -v a:b,ro") == ["native", "bubblewrap", "mine=docker -v a:b,ro"]
    assert asked.split(" , ,native,") == ["native"]
    found = asked.read_all(["native,control", "native", "a=env,x"])
    assert [one.label for one in found] == ["native", "control", "a"], "each once"
    with pytest.raises(BadInput, match="names two commands"):
        asked.read_all(["a=env", "a=nice"])


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        for part in asked.split(text):
            asked.read(part)
    except BadInput as error:
        assert error.what and error.hint


# ---------------------------------------------------------------------------------------------- in front of a program


class Here(ReplayHost):
    """A machine with these programs, folders and variables."""

    def __init__(self, folder: Path, programs: tuple[str, ...], **env: str) -> None:
        super().__init__(folder)
        self.programs, self.variables = programs, env

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name in self.programs else None

    def env(self, name: str) -> str | None:
        return self.variables.get(name)


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "native"
    folder.mkdir()
    return installed(folder, monkeypatch, "witness", "stream")


def test_a_witness_stands_on_both_sides(native: Path, tmp_path: Path) -> None:
    door = Here(tmp_path, ("unshare",))
    made = start.words(asked.read("namespaces"), "/x", Path("/scratch/1"), door)
    text = " ".join(made.before)
    outer, inner = text.split(" -- /usr/bin/unshare ")
    assert outer == f"{native}/witness --to /scratch/1/witness --side outside"
    assert inner.endswith(f"-- {native}/witness --to /scratch/1/witness --side inside --") and not made.around
    plain = start.words(asked.read("native"), "/x", Path("/scratch/1"), door)
    assert plain.before.count("--") == 2 and "outside" in plain.before and "inside" in plain.before


def test_around_the_whole_job_the_outer_one_stands_once(native: Path, tmp_path: Path) -> None:
    door = Here(tmp_path, ("unshare", "/opt/guest"))
    made = start.words(asked.read("vm@job=/opt/guest {folder} {native}"), "/x", Path("/s/1"), door, ranks=2)
    assert made.around[-3:] == ("/opt/guest", "/s/1", str(native)) and "outside" in made.around
    assert "inside" in made.before and "outside" not in made.before and not made.env
    for text, next_ in (("namespaces@job", "--under namespaces "), ("vm@job=/opt/guest", "--under vm=COMMAND ")):
        with pytest.raises(Unavailable, match="over 2") as error:
            start.words(asked.read(text), "/x", Path("/s/1"), door, ranks=2, hosts=2)
        assert error.value.hint.startswith(next_)


def test_ranks_share_process_numbers_and_leave_each_others_memory_alone(native: Path, tmp_path: Path) -> None:
    door = Here(tmp_path, ("unshare",))
    name = "OMPI_MCA_btl_vader_single_copy_mechanism"
    alone, of_ranks, job = (
        start.words(asked.read(text), "/x", Path("/s/1"), door, ranks=ranks)
        for text, ranks in (("namespaces", 0), ("namespaces", 2), ("namespaces@job", 2))
    )
    assert "--pid" in alone.before and "--pid" not in of_ranks.before and "--pid" in job.around
    assert of_ranks.env == {name: "none"} and not alone.env and not job.env
    said = start.words(
        asked.read("namespaces"), "/x", Path("/s/1"), Here(tmp_path, ("unshare",), **{name: "cma"}), ranks=2
    )
    assert not said.env, "what the user says holds"


def test_an_image_shows_folders_at_its_empty_ones(native: Path, tmp_path: Path) -> None:
    images = tmp_path / "images"
    for folder in ("img/usr/lib", "img/scratch", "img/opt/full", f"img{native.parent}"):
        (images / folder).mkdir(parents=True, exist_ok=True)
    door = Here(Path("/"), ("ch-run",), USER="ada")
    layer = asked.read(f"charliecloud:{images}/img")
    program = str(native / "stream")
    words = start.words(layer, program, Path("/scratch/x/1"), door).before
    assert words[words.index("--bind") + 1] == "/scratch" and "USER=ada" in words
    with pytest.raises(Unavailable, match="no empty folder at which /data/1") as caught:
        start.words(layer, program, Path("/data/1"), door)
    assert caught.value.hint == f"mkdir -p {images}/img/data"
    with pytest.raises(Unavailable, match="no empty folder"):
        start.words(layer, program, Path("/opt/y"), door)
    assert isinstance(start.missing(asked.read("charliecloud:/no/such"), door), Unavailable)
    of_python = start.words(asked.read("podman:d"), "python3", Path("/s"), Here(Path("/"), ("podman",))).before
    package = str(Path(start.__file__).resolve().parents[2])
    assert any(package.startswith(word.partition(":")[0]) for word in of_python if ":" in word), (
        "Python sees the package"
    )


def test_a_site_s_program_that_is_absent_is_said(tmp_path: Path) -> None:
    found = start.missing(asked.read("numa=numactl --all"), Here(tmp_path, ()))
    assert found is not None and "numactl" in found.what and found.hint


def test_the_words_stand_behind_the_launcher_and_around_it(native: Path) -> None:
    command = Command(argv=(f"{native}/stream", "--n", "1"), before=("W", "--"), around=("A",), env={"K": "v"})
    argv, env = launchers.wrap(command, host(), build={}, root=False, environment={})
    assert argv == ("A", "W", "--", f"{native}/stream", "--n", "1") and env == {"K": "v"}


# --------------------------------------------------------------------------------------------------------- what is believed


def seen(side: str, **more: Any) -> Seen:
    plain: dict[str, Any] = {
        "schema": 1,
        "side": side,
        "host": "n1",
        "kernel": "6.1",
        "boot_id": "b",
        "pid": 1,
        "uid": 0,
        "namespaces": {"mnt": 1, "pid": 2, "user": 3},
        "root": "1:2",
        "mask": (0, 1),
    }
    return Seen(**{**plain, **more})


SITE = asked.read("mine=tool")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"namespaces": {"mnt": 9, "pid": 2, "user": 3}}, "mnt"),
        ({"root": "9:9"}, "root"),
        ({"boot_id": "other"}, "kernel"),
        ({"cpu_quota": 1.5}, "limit on CPU time"),
        ({"mask": (0,)}, "CPUs"),
        ({"nice": 5}, "priority"),
        ({"virtual": True}, "hypervisor"),
    ],
)
def test_a_command_of_the_site_s_must_change_something(change: dict[str, Any], word: str) -> None:
    outside = seen("outside", virtual=False)
    assert word in witness.differing(seen("inside", **{"virtual": False, **change}), [outside])
    assert refusal(SITE, Witnessed((outside, seen("inside", **{"virtual": False, **change})), "", 0)) == ""
    same = refusal(SITE, Witnessed((outside, seen("inside", virtual=False, pid=99)), "", 0))
    assert "nothing that differs" in same


def test_numbers_of_namespaces_mean_nothing_on_another_host() -> None:
    """Two nodes number theirs alike: what is inside on the one may be outside on the other."""
    outside = [seen("outside", namespaces={"mnt": 9}), seen("outside", namespaces={"mnt": 8}, host="n2", boot_id="c")]
    inside = [seen("inside", namespaces={"mnt": 8}), seen("inside", namespaces={"mnt": 7}, host="n2", boot_id="c")]
    assert refusal(SITE, Witnessed((*outside, *inside), "", 2)) == ""
    same = seen("inside", namespaces={"mnt": 9}), inside[1]
    assert "nothing that differs" in refusal(SITE, Witnessed((*outside, *same), "", 2))


def test_a_namespace_that_cannot_be_seen_proves_nothing() -> None:
    layer = asked.read("namespaces")
    blind = seen("inside", namespaces={"mnt": 9, "user": 9})
    assert "could not see its pid" in refusal(layer, Witnessed((seen("outside"), blind), "", 0))
    no_outside = seen("outside", namespaces={})
    inside = seen("inside", namespaces={"mnt": 9, "user": 9, "pid": 9})
    assert "the same" in refusal(layer, Witnessed((no_outside, inside), "", 0))


def test_the_ranks_of_a_whole_job_are_counted() -> None:
    layer = asked.read("vm@job=tool")
    inside = seen("inside", boot_id="guest")
    assert refusal(layer, Witnessed((seen("outside"), inside, inside), "", 2)) == ""
    assert "of 2 ranks 1" in refusal(layer, Witnessed((seen("outside"), inside), "", 2))
    assert refusal(layer, Witnessed((seen("outside"), inside, inside), "", None)) == "", "recovered: not known"


def test_records_that_are_spoiled_are_no_proof(tmp_path: Path) -> None:
    (tmp_path / "witness").mkdir()
    good = msgspec.json.encode(seen("outside"))
    (tmp_path / "witness" / "outside-1-0.json").write_bytes(good)
    assert len(witness.read(tmp_path).records) == 1
    for bad in (b"", b"{}", good.replace(b'"mnt"', b'"zzz"'), good[:-9], b" " * (1 << 21)):
        (tmp_path / "witness" / "inside-1-0.json").write_bytes(bad)
        found = witness.read(tmp_path, 0)
        assert found.wrong and "cannot be read" in refusal(asked.read("native"), found)


def run(under: str) -> Run:
    return Run(id="r", workload="empty", params={}, label="l", estimate_s=1, limit_s=9, under=under)


def test_a_run_without_proof_has_no_result() -> None:
    job = Job(run="r", repeat=1, argv=("x",), exit_code=0, begin_ns=0, end_ns=1)
    of = run("namespaces")
    found = measurement(of, job, b"", b"")
    same = Witnessed((seen("outside"), seen("inside")), "", 0)
    refused = under_layer(msgspec.structs.replace(found, state="ok", reason=""), of, same)
    assert refused.state == "failed" and "the same" in refused.reason
    inside = seen("inside", namespaces={"mnt": 9, "pid": 9, "user": 9})
    held = under_layer(
        msgspec.structs.replace(found, state="ok", reason=""), of, Witnessed((seen("outside"), inside), "", 0)
    )
    assert held.state == "ok" and set(held.provenance["under"]["differs"]) == {"mnt", "pid", "user"}
    crashed = msgspec.structs.replace(found, state="failed", reason="exit code 1: bwrap: no")
    said = under_layer(crashed, of, Witnessed((seen("outside"),), "", 0))
    assert said.state == "failed" and "bwrap: no (namespaces did not start the program" in said.reason


def test_the_local_machine_says_what_is_here() -> None:
    assert start.missing(asked.read("native"), LocalHost()) is None
    assert start.missing(asked.read("x=no-such-program-here"), LocalHost()) is not None


def test_turns_of_nothing_are_one_launch() -> None:
    assert asked.turns(()) == (asked.NO_LAYER,)
    assert asked.turns(asked.read_all(["native"])) == (asked.Turn("native"),)
    for kinds in itertools.permutations(("native", "control", "namespaces")):
        found = asked.turns(asked.read_all(kinds))
        assert [one.under for one in found][::2] == ["native"] * 2
