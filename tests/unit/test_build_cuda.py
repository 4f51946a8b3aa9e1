"""How a build gets its compiler of CUDA's kernels, and for which chips it makes code: compilers are a few lines of shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What every script here starts; a machine without a GPU has no nvidia-smi.
TOOLS = ("bash", "sh", "dirname", "sed", "head", "mkdir", "rm", "ls", "tail", "cat", "env", "chmod")

#: A Python that makes an environment, and in it one whose pip brings a compiler and says what it was asked for.
PYTHON = """#!/bin/sh
echo "$@" >>{told}
case "$*" in
  *"-m venv"*) mkdir -p build/cuda/bin && cp "$0" build/cuda/bin/python ;;
  *"pip"*install*) folder=build/cuda/lib/python3.11/site-packages/nvidia/cu13/bin
     mkdir -p $folder && printf '#!/bin/sh\\n' >$folder/nvcc && chmod +x $folder/nvcc ;;
esac
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree with that script, and a folder of programs in which there is neither nvcc nor nvidia-smi."""
    shutil.copytree(ROOT / "scripts" / "build", tmp_path / "tree/scripts/build")
    for locked in ROOT.glob("requirements/*.txt"):
        write(tmp_path / "tree/requirements" / locked.name, locked.read_text())
    for name in (*TOOLS, "cp"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(found)
    write(tmp_path / "bin/python3", PYTHON.format(told=tmp_path / "told"))
    return tmp_path / "tree"


def fetch(tree: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tree / "scripts/build/cuda-compiler"],
        env={"PATH": str(tree.parent / "bin"), "HOME": str(tree), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_machine_without_a_gpu_gets_a_compiler(tree: Path) -> None:
    done = fetch(tree)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("nvidia/cu13/bin/nvcc") and (tree / done.stdout.strip()).exists()
    assert "pip install" in (tree.parent / "told").read_text()


@pytest.mark.parametrize(
    ("said", "code", "part"),
    [
        ("NVIDIA-SMI has failed because it could not communicate with the driver", 9, ""),
        ("| Driver Version: 535.104   CUDA Version: 12.2 |", 0, "the driver here speaks CUDA 12"),
        ("| Driver Version: 580.65   CUDA Version: 13.0 |", 0, ""),
    ],
)
def test_what_nvidia_smi_says_never_ends_it_in_silence(tree: Path, said: str, code: int, part: str) -> None:
    write(tree.parent / "bin/nvidia-smi", f"#!/bin/sh\necho '{said}'\nexit {code}\n")
    done = fetch(tree)
    assert done.returncode == 0, done.stderr
    assert part in done.stderr and bool(part) == bool(done.stderr)


def test_a_compiler_that_cannot_be_brought_is_an_error_with_the_next_step(tree: Path) -> None:
    write(tree.parent / "bin/python3", "#!/bin/sh\necho no route to the network >&2\nexit 1\n")
    done = fetch(tree)
    assert done.returncode == 3 and "no route to the network" in done.stderr and "PIP_FIND_LINKS" in done.stderr
    done = fetch(tree, SHAKEDOWN_NVCC="/nowhere/nvcc")
    assert done.returncode == 3 and "/nowhere/nvcc is no program" in done.stderr


#: An nvcc of chips that it knows.
NVCC = """#!/bin/sh
case "$*" in
  *--list-gpu-code*) printf 'sm_75\\nsm_80\\nsm_90\\nsm_100\\n' ;;
  *--version*) echo 'Cuda compilation tools, release 13.0, V13.0.88' ;;
esac
"""


@pytest.mark.needs("cmake")
@pytest.mark.parametrize(
    ("asked", "capabilities", "expected"),
    [
        ("", "9.0", "80 90 100"),
        ("native", "9.0\n9.0\n8.0", "80 90"),
        ("native", "10.0\n9.0", "90 100"),
        ("native", "[N/A]", "80 90 100"),
        ("native", "6.0", "80 90 100"),  # a chip that this compiler has forgotten
        ("75", "9.0", "75"),
    ],
)
def test_code_is_made_for_the_chips_that_are_here(tmp_path: Path, asked: str, capabilities: str, expected: str) -> None:
    nvcc = write(tmp_path / "bin/nvcc", NVCC)
    write(tmp_path / "bin/nvidia-smi", f"#!/bin/sh\nprintf '{capabilities}\\n'\n")
    script = tmp_path / "ask.cmake"
    script.write_text(
        "function(shakedown_build_entry)\nendfunction()\nfunction(shakedown_json_text)\nendfunction()\n"
        f"set(CMAKE_BINARY_DIR {tmp_path})\nset(CMAKE_CXX_COMPILER c++)\ninclude({ROOT}/cmake/cuda.cmake)\n"
    )
    done = subprocess.run(
        ["cmake", "-P", script],
        env={
            "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
            "SHAKEDOWN_NVCC": str(nvcc),
            "SHAKEDOWN_CUDA_ARCHITECTURES": asked,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"13.0 for {expected} (" in done.stdout, done.stdout + done.stderr
