"""Python's session: every type of element, ghost layers, refusals, and ranks that are threads."""

from __future__ import annotations

import array
import ctypes
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import pytest

from shakedown.checkpoint.session import CheckpointError, Code, Did, Session
from shakedown.errors import BadInput, Unavailable

TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64", "complex64", "complex128")


@contextmanager
def session(folder: Path, **options: Any) -> Iterator[Session]:
    with Session(local=folder, **options) as made:
        yield made


def saved(made: Session) -> None:
    assert made.checkpoint(1) and made.wait(300)


@pytest.mark.parametrize("dtype", [*TYPES, *FLOATS])
def test_every_type_of_element_comes_back(tmp_path: Path, dtype: str) -> None:
    whole = numpy.frombuffer(numpy.random.default_rng(7).bytes(480), dtype="uint8").copy()
    values = (whole % 2 if dtype == "bool" else whole).astype(dtype).reshape(8, 12, 5)
    alone, one = values.copy(), numpy.array(values[3, 2, 1])
    with session(tmp_path) as made:
        made.protect("a", values, global_shape=values.shape, offset=(0, 0, 0))
        made.protect("alone", alone)
        made.protect("one", one)
        saved(made)
    back, back_alone, back_one = numpy.zeros_like(values), numpy.zeros_like(values), numpy.zeros_like(one)
    with session(tmp_path) as made:
        made.protect("a", back, global_shape=values.shape, offset=(0, 0, 0))
        made.protect("alone", back_alone)
        made.protect("one", back_one)
        assert made.restore()
    for found, expected in ((back, values), (back_alone, alone), (back_one, one)):
        assert found.tobytes() == expected.tobytes()


def test_buffers_need_no_numpy(tmp_path: Path) -> None:
    numbers, step = array.array("d", [1.5, -2.5, 1e300]), ctypes.c_int64(41)
    with session(tmp_path) as made:
        made.protect("numbers", numbers)
        made.protect("step", step)
        assert made.restore().code is Code.NOTHING
        saved(made)
        with pytest.raises(BufferError):
            numbers.append(0.0)  # it stays where it is while it is protected
        numbers[:] = array.array("d", [0.0] * 3)
        step.value = 0
        assert made.restore("step") and step.value == 41 and list(numbers) == [0.0] * 3
        assert made.restore() and list(numbers) == [1.5, -2.5, 1e300]
        made.unprotect("numbers")
        numbers.append(0.0)
    code = "import sys, shakedown.checkpoint.session; print(*({'numpy', 'msgspec', 'duckdb', 'mpi4py'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_ghost_layers_are_left_out_and_left_alone(tmp_path: Path) -> None:
    u = numpy.arange(42.0).reshape(6, 7)
    lies: dict[str, Any] = {"global_shape": (4, 5), "offset": (0, 0), "box": (4, 5), "at": (1, 1)}
    with session(tmp_path) as made:
        made.protect("u", u, **lies)
        saved(made)
    back = numpy.full((6, 7), -1.0)
    with session(tmp_path) as made:
        made.protect("u", back, **lies)
        assert made.restore()
    assert (back[1:-1, 1:-1] == u[1:-1, 1:-1]).all()
    back[1:-1, 1:-1] = -1.0
    assert (back == -1.0).all()


def test_snapshot_statistics_and_what_would_be_restored(tmp_path: Path) -> None:
    u = numpy.ones(1000)
    with session(tmp_path, synchronous=True, interval_seconds={1: 1e-9}) as made:
        made.protect("u", u)
        assert not made.restart_info()["available"]
        did, status = made.snapshot()
        assert (did, status.code) == (Did.NOTHING, Code.OK)
        saved(made)
        assert not made.pending()
        found = made.statistics()
        assert found["level"][1]["committed"] >= 1 and found["level"][1]["failed"] == 0 and found["generation"] >= 1
        made.set_option("keep", 3)
        with pytest.raises(CheckpointError):
            made.set_option("keep", -1)
    u[:] = 0.0
    with session(tmp_path) as made:
        made.protect("u", u)
        info = made.restart_info()
        assert (
            info["available"]
            and info["ranks"] == 1
            and info["level"] == 1
            and info["generation"] == found["generation"]
        )
        assert made.snapshot()[0] is Did.RESTORE and (u == 1.0).all()
        assert made.close(discard=True)
    with session(tmp_path) as made:
        assert not made.restart_info()["available"], "discarded"


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (numpy.zeros((4, 4))[:, ::2], {}, "C order"),
    (numpy.asfortranarray(numpy.zeros((4, 3))), {}, "C order"),
    (b"bytes", {}, "writable"),
    (3.0, {}, "is not a buffer"),
    ([1.0], {}, "is not a buffer"),
    (numpy.zeros(3, dtype=">f8"), {}, "cannot be saved"),
    (numpy.zeros(3, dtype="U4"), {}, "cannot be saved"),
    (numpy.array([None]), {}, "cannot be saved"),
    (numpy.zeros(3, dtype="longdouble"), {}, "cannot be saved"),
    (numpy.zeros(3, dtype=[("a", "f8"), ("b", "i4")]), {}, "cannot be saved"),
    (numpy.zeros(3), {"global_shape": (3,)}, "go together"),
    (numpy.zeros(3), {"global_shape": (3,), "offset": (0,), "box": (2,)}, "go together"),
    (numpy.zeros(3), {"box": (2,), "at": (0,)}, "go together"),
    (numpy.zeros(3), {"global_shape": (3, 1), "offset": (0, 0)}, "1 numbers"),
    (numpy.zeros(3), {"global_shape": (3,), "offset": (-1,)}, "from 0"),
]


@pytest.mark.parametrize(("value", "lies", "words"), REFUSED)
def test_what_cannot_be_protected_is_one_error_with_its_name(
    tmp_path: Path, value: Any, lies: dict[str, Any], words: str
) -> None:
    with session(tmp_path) as made:
        with pytest.raises(BadInput, match=words) as error:
            made.protect("u", value, **lies)
        assert error.value.where == "u"


@pytest.mark.parametrize(
    "lies",
    [
        {"global_shape": (3,), "offset": (1,)},
        {"global_shape": (9,), "offset": (0,), "box": (4,), "at": (0,)},
        {"global_shape": (9,), "offset": (0,), "box": (2,), "at": (2,)},
    ],
)
def test_a_box_outside_its_array_is_refused_by_the_library(tmp_path: Path, lies: dict[str, Any]) -> None:
    with session(tmp_path) as made, pytest.raises(CheckpointError) as error:
        made.protect("u", numpy.zeros(3), **lies)
    assert error.value.code is Code.INVALID


class OnDevice:
    """An array that says of itself that it lies on a GPU. No driver is loaded here, so that its memory is read as it is."""

    def __init__(self, array: numpy.ndarray[Any, Any], **more: object) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3, "stream": 1, **more}


@pytest.mark.parametrize("dtype", ["<i8", "|u1", "<f2", "<f4", "<f8", "<c16", "|b1"])
def test_arrays_of_gpus_are_taken_by_their_interface(tmp_path: Path, dtype: str) -> None:
    saved = (numpy.arange(24) % 7).astype(dtype).reshape(4, 6)
    step = numpy.array(7)
    with Session(local=tmp_path, synchronous=1) as session:
        session.protect("u", OnDevice(saved.copy(), strides=(6 * saved.itemsize, saved.itemsize)))
        session.protect("step", OnDevice(step))
        assert session.checkpoint(1)
    back, again = numpy.zeros_like(saved), numpy.array(0)
    with Session(local=tmp_path, synchronous=1) as session:
        session.protect("u", back)
        session.protect("step", OnDevice(again))
        assert session.restore()
    assert (back == saved).all() and again == 7


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"data": (4096, True)}, "writable"),
        ({"strides": (96, 16)}, "without gaps"),
        ({"mask": object()}, "without gaps"),
        ({"typestr": ">f8"}, "cannot be saved"),
        ({"typestr": "<O8"}, "cannot be saved"),
        ({"typestr": "f"}, "cannot be had"),
        ({"shape": None}, "cannot be had"),
    ],
)
def test_an_array_of_a_gpu_that_cannot_be_saved_is_one_error(tmp_path: Path, more: dict[str, Any], what: str) -> None:
    with Session(local=tmp_path) as session, pytest.raises(BadInput, match=what) as found:
        session.protect("u", OnDevice(numpy.zeros((4, 6)), **more))
    assert "u" in str(found.value)


def test_options_and_folders_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="unknown option 'lokal'"):
        Session(lokal="x")
    with pytest.raises(BadInput, match="5 is not a level"):
        Session(local=tmp_path, interval_seconds={5: 1.0})
    with pytest.raises(BadInput, match="cannot be an option"):
        Session(local=tmp_path, keep=2.5)
    with pytest.raises(CheckpointError):
        Session()
    with pytest.raises(CheckpointError, match="/proc/none"):
        Session(local="/proc/none")
    with session(tmp_path) as made:
        made.close()
        assert made.close() and not made.checkpoint(1), "a closed session answers"
    monkeypatch.setenv("SHAKEDOWN_CHECKPOINT", str(tmp_path))
    with pytest.raises(Unavailable, match="was not built"):
        Session(local=tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libshakedown_checkpoint.so").write_text("no library")
    with pytest.raises(Unavailable, match="cannot be loaded"):
        Session(local=tmp_path)


def test_an_exception_closes_and_keeps_what_was_saved(tmp_path: Path) -> None:
    u = numpy.ones(5)
    with pytest.raises(ZeroDivisionError), session(tmp_path) as made:
        made.protect("u", u)
        saved(made)
        raise ZeroDivisionError
    with session(tmp_path) as made:
        made.protect("u", u)
        assert made.restore()


# ------------------------------------------------------------------------------------------------------ several ranks


class Ranks:
    """What the session needs of mpi4py, for threads of this process; ``broken`` raises as MPI's errors do."""

    def __init__(self, rank: int, size: int, shared: dict[str, Any]) -> None:
        self.rank, self.size, self.shared, self.freed = rank, size, shared, 0

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def Dup(self) -> Ranks:
        return self

    def Free(self) -> None:
        self.freed += 1

    def Allgather(self, sent: memoryview, received: memoryview) -> None:
        if self.shared.get("broken"):
            raise RuntimeError("MPI_ERR_OTHER")
        self.shared[f"of {self.rank}"] = bytes(sent)
        self.shared["barrier"].wait(300)
        received[:] = b"".join(self.shared[f"of {rank}"] for rank in range(self.size))
        self.shared["barrier"].wait(300)


def on_ranks(size: int, work: Callable[[Ranks], Any], **shared: Any) -> list[Any]:
    told = {"barrier": threading.Barrier(size), **shared}
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(work, [Ranks(rank, size, told) for rank in range(size)]))


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_other_numbers_of_ranks_restore_the_same_array(tmp_path: Path, ranks: int) -> None:
    rows = 30
    truth = numpy.arange(rows * 4.0).reshape(rows, 4)

    def part(comm: Ranks) -> slice:
        return slice(rows * comm.rank // comm.size, rows * (comm.rank + 1) // comm.size)

    def protect(made: Session, comm: Ranks, u: numpy.ndarray[Any, Any], step: numpy.ndarray[Any, Any]) -> None:
        made.protect("u", u, global_shape=truth.shape, offset=(part(comm).start, 0))
        made.protect("step", step)

    def save(comm: Ranks) -> None:
        with Session(comm, global_folder=tmp_path / "global", address="127.0.0.1") as made:
            protect(made, comm, truth[part(comm)].copy(), numpy.array(9))
            assert made.checkpoint(4) and made.wait(300), made.last_error()
        assert comm.freed == 1

    def restore(comm: Ranks) -> bool:
        u, step = numpy.zeros_like(truth[part(comm)]), numpy.array(0)
        with Session(comm, global_folder=tmp_path / "global", address="127.0.0.1") as made:
            protect(made, comm, u, step)
            assert made.restore(), made.last_error()
        return bool((u == truth[part(comm)]).all()) and int(step) == 9

    on_ranks(3, save)
    assert on_ranks(ranks, restore) == [True] * ranks


def test_a_communicator_that_fails_is_an_error_and_is_freed(tmp_path: Path) -> None:
    def begin(comm: Ranks) -> tuple[Code, int]:
        with pytest.raises(CheckpointError) as error:
            Session(comm, local=tmp_path / str(comm.rank))
        return error.value.code, comm.freed

    assert on_ranks(2, begin, broken=True) == [(Code.PEER, 1)] * 2
