"""The shipped adapters with the real programs of a site: started, read, judged."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from shakedown import programs
from shakedown.errors import Unavailable
from support.command import shakedown


def run(tmp_path: Path, workload: str, params: str) -> dict[str, float]:
    (tmp_path / "mine.toml").write_text(
        f'name = "m"\ntitle = "M"\n[[run]]\nworkload = "{workload}"\nparams = {params}\noptional = false\n'
    )
    done = shakedown("run", tmp_path / "mine.toml", "--directory", tmp_path / "run", "--format", "json", limit_s=300)
    assert done.returncode == 0, done.stderr
    findings = json.loads((tmp_path / "run" / "report.json").read_text())["findings"]
    return {one["metric"]: one["value"] for one in findings}


@pytest.mark.needs("fio")
def test_fio_writes_and_is_read(tmp_path: Path) -> None:
    found = run(tmp_path, "fio", '{ pattern = "rw", size = "8m", block = "64k" }')
    assert found["fio.write.bandwidth"] > 0 and found["fio.read.bandwidth"] > 0
    assert 0 < found["fio.write.latency"] < 10


@pytest.mark.slow
@pytest.mark.needs("hpcc", "mpirun")
def test_hpcc_runs_on_its_own_mpi_and_its_residual_is_checked(tmp_path: Path) -> None:
    found = run(tmp_path, "hpcc", "{ n = 500, nb = 64, ranks = 2 }")
    assert found["hpcc.hpl.rate"] > 1e8 and found["hpcc.triad.star"] > 1e8
    assert 0 < found["hpcc.pingpong.latency"] < 1e-3
    residuals = [
        case["residual"]
        for path in (tmp_path / "run").glob("runs/*/1/measurement.json")
        for case in json.loads(path.read_text())["cases"]
        if case.get("residual")
    ]
    assert any(one["kind"] == "HPL residual" and 0 < one["value"] < one["limit"] for one in residuals)


@pytest.mark.needs("lmp", "mpirun")
def test_lammps_runs_its_melt_and_a_sites_input_beside_its_data_file(tmp_path: Path) -> None:
    melt = run(tmp_path, "lammps", "{ cells = 6, steps = 20, ranks = 1 }")
    assert melt["lammps.rate"] == pytest.approx(4 * 6**3 / melt["lammps.step"])
    site = tmp_path / "site"
    site.mkdir()
    (site / "style").write_text("units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 6 0 6 0 6\n")
    (site / "in.minimised").write_text(
        "include style\ncreate_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\npair_style lj/cut 2.5\n"
        "pair_coeff 1 1 1.0 1.0 2.5\nminimize 1e-4 1e-6 10 10\nrun 0\nfix 1 all nve\nrun 20\n"
    )
    other = tmp_path / "other"
    other.mkdir()
    assert run(other, "lammps", f'{{ input = "{site / "in.minimised"}", ranks = 1 }}')["lammps.step"] > 0


@pytest.mark.needs("/usr/lib/examl/bin/examl-sse3", "parse-examl", "mpirun")
def test_examl_finds_a_tree_that_is_not_worse_than_the_true_one(tmp_path: Path) -> None:
    """The smallest input, on one rank, which waits for nobody."""
    program = "/usr/lib/examl/bin/examl-sse3"
    found = run(tmp_path, "examl", f'{{ program = "{program}", taxa = 8, sites = 100, ranks = 1 }}')
    assert 0 < found["examl.time"] < found["examl.outside"]


def test_a_site_stream_is_run_where_it_is_named(tmp_path: Path) -> None:
    fake = tmp_path / "stream"
    recording = Path(__file__).parent.parent / "recordings" / "mccalpin" / "stream-5.10-zen4.log"
    fake.write_text(f"#!/bin/sh\ncat {recording}\n")
    fake.chmod(0o755)
    assert run(tmp_path, "mccalpin", f'{{ program = "{fake}" }}')["mccalpin.triad.best"] == pytest.approx(363208.7e6)


def test_a_sites_own_hpl_is_run_with_the_input_that_was_written(tmp_path: Path) -> None:
    fake = tmp_path / "run_hpl.sh"
    recording = Path(__file__).parent.parent / "recordings" / "hpl" / "nvidia-25.02-8-gpus.log"
    fake.write_text(f"#!/bin/sh\ngrep -q '^1024  *NBs' HPL.dat && test $# = 2 && cat {recording}\n")
    fake.chmod(0o755)
    params = f'{{ program = "{fake}", ranks = 0, p = 2, q = 4, nb = 1024, n = 2048, arguments = "--dat HPL.dat" }}'
    assert run(tmp_path, "xhpl", params)["hpl.rate"] == pytest.approx(3.254e14, rel=2e-4)


def test_our_own_hpl_runs_by_the_name_and_the_files_of_a_sites(tmp_path: Path) -> None:
    try:
        (tmp_path / "xhpl").symlink_to(programs.path("hpl"))
    except Unavailable as error:
        pytest.skip(f"needs hpl: {error.what}; {error.hint}")
    params = f'{{ program = "{tmp_path / "xhpl"}", ranks = 0, n = 1500, nb = "32,64", p = 1, q = 1, threads = 1 }}'
    found = run(tmp_path, "xhpl", params)
    assert found["hpl.rate"] > 1e8 and found["hpl.time"] > 0
    cases = [
        case
        for path in (tmp_path / "run").glob("runs/*/1/measurement.json")
        for case in json.loads(path.read_text())["cases"]
    ]
    assert [case["params"]["nb"] for case in cases] == [32, 64]
    assert all(0 < case["residual"]["value"] < 1 and case["residual"]["limit"] == 16 for case in cases)


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "m"\ntitle = "M"\n[[run]]\nworkload = "mccalpin"\nparams = { program = "no-such-stream" }\n'
    )
    done = shakedown("run", tmp_path / "mine.toml", "--directory", tmp_path / "run", "--format", "json")
    assert done.returncode == 3 and "could not be started" in done.stderr and "no-such-stream" in done.stderr


@pytest.mark.needs("/usr/sbin/bonnie++")
def test_bonnie_writes_and_is_read(tmp_path: Path) -> None:
    """So little that each part may take less than half a second: then it says so, whatever the machine."""
    user = "root" if os.geteuid() == 0 else ""
    params = (
        f'program = "/usr/sbin/bonnie++", size = 16777216, files = 1, memory = false, user = "{user}", direct = true'
    )
    (tmp_path / "mine.toml").write_text(
        f'name = "m"\ntitle = "M"\n[[run]]\nworkload = "bonnie"\nparams = {{ {params} }}\noptional = false\n'
    )
    done = shakedown("run", tmp_path / "mine.toml", "--directory", tmp_path / "run", "--format", "json", limit_s=300)
    (found,) = (json.loads(path.read_text()) for path in (tmp_path / "run").glob("runs/*/1/measurement.json"))
    if found["state"] != "ok":
        assert found["reason"].startswith("bonnie++ measured nothing: everything"), done.stderr
        return
    measured = {case["kernel"]: case for case in found["cases"]}
    skipped = " ".join(one["text"] for one in found["notices"] if one["code"] == "bonnie-part-left-out")
    for kernel in ("write", "rewrite", "read", "seek", "create", "random_unlink"):
        assert (kernel in measured) is not (kernel in re.findall(r"\w+", skipped)), kernel
    assert not {"putc", "getc"} & measured.keys(), "O_DIRECT takes no single bytes"
    assert all(case["params"]["cache"] == "direct" for kernel, case in measured.items() if kernel == "write")


@pytest.mark.needs("mpirun")
@pytest.mark.parametrize(
    ("workload", "recording", "option", "metric"),
    [
        ("ior", "ior/ior-4.1.0-dev-file-a-rank.txt", "-t 1048576 -b 1073741824", "filesystem.write.bandwidth"),
        ("mdtest", "mdtest/mdtest-4.1.0-dev-files.txt", "-n 10000 -i 3", "filesystem.create.rate"),
        ("io500", "io500/io500-isc22-s3-sample.txt", "empty.ini", "io500.score"),
    ],
)
def test_a_sites_program_under_mpi_is_run_and_read(
    tmp_path: Path, workload: str, recording: str, option: str, metric: str
) -> None:
    fake, config = tmp_path / "program", tmp_path / "empty.ini"
    config.touch()
    path = Path(__file__).parent.parent / "recordings" / recording
    fake.write_text(f'#!/bin/sh\ncase "$*" in *"{option}"*) cat {path} ;; *) exit 9 ;; esac\n')
    fake.chmod(0o755)
    more = f', config = "{config}"' if workload == "io500" else ""
    assert run(tmp_path, workload, f'{{ program = "{fake}", ranks = 1{more} }}')[metric] > 0


def test_a_sites_elbencho_leaves_its_rows_in_a_file(tmp_path: Path) -> None:
    fake = tmp_path / "elbencho"
    recording = Path(__file__).parent.parent / "recordings/elbencho/elbencho-3.1-1-weka.csv"
    fake.write_text(f"#!/bin/sh\necho 'OPERATION   RESULT TYPE'\ncp {recording} elbencho.csv\n")
    fake.chmod(0o755)
    found = run(tmp_path, "elbencho", f'{{ program = "{fake}" }}')
    assert found["filesystem.read.bandwidth"] == pytest.approx(9048.5 * 2**20, rel=1e-3)
