"""The BLAS libraries of a machine: each real file once, called what it is, wherever it lies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shakedown.hosts.access import ReplayHost, Result
from shakedown.machine.blas import blas
from shakedown.records import Software
from support import trees
from support.trees import Link

DEBIAN = "/usr/lib/x86_64-linux-gnu"
LDCONFIG = f"""2 libs found in cache `/etc/ld.so.cache'
\tlibblas.so.3 (libc6,x86-64) => {DEBIAN}/libblas.so.3
\tlibopenblas.so.0 (libc6,x86-64) => {DEBIAN}/libopenblas.so.0
\tlibm.so.6 (libc6,x86-64) => /elsewhere/libm.so.6
"""


def found(
    root: Path,
    files: dict[str, str | bytes | Link],
    *,
    environment: dict[str, str] | None = None,
    commands: dict[tuple[str, ...], Result | str] | None = None,
) -> dict[str, Software]:
    trees.write(root, files)
    listed = blas(ReplayHost(root, environment=environment, commands=commands))
    assert len({one.path for one in listed}) == len(listed), "a real file is listed once"
    assert all(one.kind == "blas" for one in listed)
    return {one.path: one for one in listed}


def the_one(root: Path, path: str, **details: dict[str, str]) -> Software:
    listed = found(root, {path: ""}, environment=details.get("environment"))
    assert list(listed) == [path]
    return listed[path]


def test_a_machine_without_any_has_none(tmp_path: Path) -> None:
    assert found(tmp_path, {"/usr/lib/libm.so.6": "", "/usr/lib/libblast.so": "", "/usr/lib64/libblas.a": ""}) == {}


def test_debian_alternatives_lead_to_one_real_file_each(tmp_path: Path) -> None:
    listed = found(
        tmp_path,
        {
            "/lib": Link("usr/lib"),
            f"{DEBIAN}/libblas.so.3": Link("/etc/alternatives/libblas.so.3-x86_64-linux-gnu"),
            "/etc/alternatives/libblas.so.3-x86_64-linux-gnu": Link(f"{DEBIAN}/openblas-pthread/libblas.so.3"),
            f"{DEBIAN}/libopenblas.so.0": Link("/etc/alternatives/libopenblas.so.0"),
            "/etc/alternatives/libopenblas.so.0": Link(f"{DEBIAN}/openblas-pthread/libopenblas.so.0"),
            f"{DEBIAN}/openblas-pthread/libopenblas.so.0": Link("libopenblasp-r0.3.21.so"),
            f"{DEBIAN}/openblas-pthread/libopenblasp-r0.3.21.so": "",
            f"{DEBIAN}/openblas-pthread/libblas.so.3": "",  # a wrapper around the one above
            f"{DEBIAN}/openblas-openmp/libopenblasp-r0.3.21.so": "",
            f"{DEBIAN}/openblas-serial/libopenblas-r0.3.21.so": "",
            f"{DEBIAN}/openblas64-pthread/libopenblas64p-r0.3.21.so": "",
            f"{DEBIAN}/blas/libblas.so.3": Link("libblas.so.3.11.0"),
            f"{DEBIAN}/blas/libblas.so.3.11.0": "",
            f"{DEBIAN}/atlas/libblas.so.3.10.3": "",
            f"{DEBIAN}/blis-openmp/libblis.so.4": "",
            f"{DEBIAN}/blis-openmp/libblas.so.3": "",
            "/usr/lib/i386-linux-gnu/libopenblas.so.0": "",  # of the wrong width
            "/var/lib/dpkg/status": "Package: libblis4-openmp\nStatus: install ok installed\nVersion: 0.9.0-1\n\n"
            "Package: libblis9\nStatus: deinstall ok config-files\nVersion: 9.9-1\n",
        },
        commands={("/sbin/ldconfig", "-p"): LDCONFIG},
    )
    seen = {
        path.removeprefix(DEBIAN + "/"): (one.name, one.version, one.facts["threading"], one.facts["ilp64"])
        for path, one in listed.items()
    }
    assert seen == {
        "openblas-pthread/libopenblasp-r0.3.21.so": ("openblas", "0.3.21", "pthread", False),
        "openblas-openmp/libopenblasp-r0.3.21.so": ("openblas", "0.3.21", "openmp", False),
        "openblas-serial/libopenblas-r0.3.21.so": ("openblas", "0.3.21", "serial", False),
        "openblas64-pthread/libopenblas64p-r0.3.21.so": ("openblas", "0.3.21", "pthread", True),
        "blis-openmp/libblis.so.4": ("blis", "0.9.0", "openmp", False),
        "atlas/libblas.so.3.10.3": ("atlas", "3.10.3", "unknown", False),
        "blas/libblas.so.3.11.0": ("netlib", "3.11.0", "serial", False),
    }
    assert [path for path, one in listed.items() if one.facts.get("reference")] == [f"{DEBIAN}/blas/libblas.so.3.11.0"]


def test_the_reference_alone_is_listed_as_such(tmp_path: Path) -> None:
    one = the_one(tmp_path, "/usr/lib64/libblas.so.3.12.0")
    assert (one.name, one.version, one.facts["reference"]) == ("netlib", "3.12.0", True)


@pytest.mark.parametrize(
    ("path", "name", "version", "threading", "ilp64"),
    [
        ("/usr/lib64/libopenblas-r0.3.26.so", "openblas", "0.3.26", "serial", False),
        ("/usr/lib64/libopenblaso-r0.3.26.so", "openblas", "0.3.26", "openmp", False),
        ("/usr/lib64/libopenblasp64_-r0.3.26.so", "openblas", "0.3.26", "pthread", True),
        ("/usr/lib64/libflexiblas.so.3.4", "flexiblas", "3.4", "unknown", False),
        ("/usr/lib64/atlas/libtatlas.so.3.10", "atlas", "", "pthread", False),
        ("/opt/intel/oneapi/mkl/2024.1/lib/libmkl_rt.so.2", "mkl", "2024.1", "openmp", False),
        ("/opt/AMD/aocl/aocl-linux-gcc-4.2.0/gcc/lib_LP64/libblis-mt.so.4.2.0", "aocl", "4.2.0", "openmp", False),
        ("/opt/AMD/aocl/aocl-linux-aocc-5.0.0/aocc/lib_LP64/libblis.so.5", "aocl", "5.0.0", "serial", False),
        (
            "/opt/nvidia/hpc_sdk/Linux_aarch64/24.5/compilers/lib/libnvpl_blas_lp64_gomp.so.0.2.0",
            "nvpl",
            "0.2.0",
            "openmp",
            False,
        ),
        ("/opt/nvidia/nvpl/lib/libnvpl_blas_ilp64_seq.so.0.2.0", "nvpl", "0.2.0", "serial", True),
        ("/opt/arm/armpl-24.10.1_gcc/lib/libarmpl_lp64_mp.so", "armpl", "24.10.1", "openmp", False),
        (
            "/opt/cray/pe/libsci/23.12.5/GNU/12.3/x86_64/lib/libsci_gnu_123_mp.so.6",
            "libsci",
            "23.12.5",
            "openmp",
            False,
        ),
    ],
)
def test_what_a_name_and_its_folder_tell(
    tmp_path: Path, path: str, name: str, version: str, threading: str, ilp64: bool
) -> None:
    one = the_one(tmp_path, path)
    assert (one.name, one.version, one.facts["threading"], one.facts["ilp64"]) == (name, version, threading, ilp64)
    assert one.facts["source"] == "site"


@pytest.mark.parametrize(
    ("variable", "value", "path", "name", "version"),
    [
        ("LD_LIBRARY_PATH", "/nowhere:/sw/my/lib", "/sw/my/lib/libopenblas.so.0", "openblas", ""),
        (
            "EBROOTOPENBLAS",
            "/apps/software/OpenBLAS/0.3.24-GCC-13.2.0",
            "/apps/software/OpenBLAS/0.3.24-GCC-13.2.0/lib/libopenblas.so.0",
            "openblas",
            "0.3.24",
        ),
        (
            "EBROOTIMKL",
            "/apps/software/imkl/2023.2.0",
            "/apps/software/imkl/2023.2.0/mkl/latest/lib/intel64/libmkl_rt.so.2",
            "mkl",
            "2023.2.0",
        ),
        ("MKLROOT", "/sw/intel/mkl/2024.2", "/sw/intel/mkl/2024.2/lib/libmkl_rt.so.2", "mkl", "2024.2"),
        ("AOCL_ROOT", "/sw/aocl/5.0.0/gcc", "/sw/aocl/5.0.0/gcc/lib_LP64/libblis-mt.so.5", "aocl", "5.0.0"),
        (
            "OPENBLAS_ROOT",
            "/spack/openblas-0.3.26-wq3hdz",
            "/spack/openblas-0.3.26-wq3hdz/lib/libopenblas.so",
            "openblas",
            "0.3.26",
        ),
        ("BLIS_ROOT", "/sw/blis/1.0", "/sw/blis/1.0/lib/libblis.so.4", "blis", "1.0"),
        ("CONDA_PREFIX", "/home/u/env", "/home/u/env/lib/libopenblasp-r0.3.27.so", "openblas", "0.3.27"),
        ("FLEXIBLAS_ROOT", "/sw/flexiblas", "/sw/flexiblas/lib64/libflexiblas.so.3.3", "flexiblas", "3.3"),
    ],
)
def test_what_modules_point_to(tmp_path: Path, variable: str, value: str, path: str, name: str, version: str) -> None:
    one = the_one(tmp_path, path, environment={variable: value})
    assert (one.name, one.version) == (name, version)
    assert found(tmp_path, {}) == {}, "without the variable it is not found"


def test_the_wheels_of_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = "/venv/lib/python3.11/site-packages"
    monkeypatch.setattr(sys, "path", ["", packages])
    monkeypatch.setattr(sys, "prefix", "/venv")
    listed = found(
        tmp_path,
        {
            f"{packages}/scipy_openblas32-0.3.34.481.3.dist-info/METADATA": "",
            f"{packages}/scipy_openblas32/lib/libscipy_openblas.so": "",
            f"{packages}/scipy_openblas64-0.3.30.0.8.dist-info/METADATA": "",
            f"{packages}/scipy_openblas64/lib/libscipy_openblas64_.so": "",
            f"{packages}/numpy.libs/libscipy_openblas64_-32a4b2a6.so": "",  # numpy's own, not for others
            f"{packages}/mkl-2026.2.0.dist-info/METADATA": "",
            "/venv/lib/libmkl_rt.so.3": "",
            "/opt/OpenBLAS/lib/libopenblas.so": "",
        },
    )
    seen = {
        path: (one.name, one.version, one.facts["symbol_prefix"], one.facts["ilp64"], one.facts["source"])
        for path, one in listed.items()
    }
    assert seen == {
        "/opt/OpenBLAS/lib/libopenblas.so": ("openblas", "", "", False, "site"),
        f"{packages}/scipy_openblas32/lib/libscipy_openblas.so": ("openblas", "0.3.34.481.3", "scipy_", False, "wheel"),
        f"{packages}/scipy_openblas64/lib/libscipy_openblas64_.so": ("openblas", "0.3.30.0.8", "scipy_", True, "wheel"),
        "/venv/lib/libmkl_rt.so.3": ("mkl", "2026.2.0", "", False, "wheel"),
    }
    assert next(iter(seen)) == "/opt/OpenBLAS/lib/libopenblas.so", "the site's come first"


def test_links_that_lead_nowhere_or_in_a_circle_are_passed_over(tmp_path: Path) -> None:
    assert (
        found(
            tmp_path,
            {
                "/usr/lib64/libopenblas.so": Link("libopenblas.so.0"),
                "/usr/lib64/libopenblas.so.0": Link("libopenblas.so"),
                "/usr/lib64/libblis.so": Link("/gone/libblis.so.4"),
            },
        )
        == {}
    )
