"""Checkpoints of Python programs: the checkpoint library by ctypes, for anything with the buffer protocol.

    from shakedown.checkpoint.session import Session

    u, step = numpy.zeros((rows, columns)), numpy.zeros((), dtype="int64")
    with Session(MPI.COMM_WORLD, local="/local/job", global_folder="/scratch/job") as session:
        session.protect("step", step)
        session.protect("u", u, global_shape=(all_rows, columns), offset=(first_row, 0))
        session.restore()
        while step < steps:
            advance(u)
            step += 1
            if level := session.due():
                session.checkpoint(level)

Arrays on a GPU are protected the same way (CuPy's, Numba's, PyTorch's tensors: what has ``__cuda_array_interface__``).
NumPy and mpi4py are not needed: ``array.array`` and ctypes' numbers are buffers too, and without a communicator the process
is one rank alone. What is protected is filled in place, so it has to be writable, lie in C order and stay the same object.

What is wrong in a program raises ``CheckpointError``. What happens to a run (a full disk, a rank that does not answer) is a
``Status``, false where the checkpoint failed: the run goes on.
"""

from __future__ import annotations

import ctypes
import enum
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Protocol

from ..errors import USAGE, BadInput, ShakedownError, Unavailable
from . import _abi, installed


class Code(enum.IntEnum):
    """How a call ended: shakedown_ckpt_error of checkpoint.h."""

    OK = 0
    NOTHING = 1
    INVALID = 2
    STORAGE = 3
    PEER = 4
    BUSY = 5
    TIMEOUT = 6
    LOCKED = 7
    MEMORY = 8
    MISMATCH = 9
    LOST = 10
    INTERNAL = 11
    DEVICE = 12


class Did(enum.IntEnum):
    """What ``snapshot`` did."""

    NOTHING = 0
    RESTORE = 1
    CHECKPOINT = 2


class Status(NamedTuple):
    """True where the call did what it should; else what failed, where, and what that means."""

    code: Code
    text: str = ""

    def __bool__(self) -> bool:
        return self.code is Code.OK


class CheckpointError(ShakedownError):
    """A call that the library refused: an option, a name, a shape, a folder."""

    exit_code: ClassVar[int] = USAGE

    def __init__(self, status: Status) -> None:
        super().__init__(status.text or status.code.name.lower())
        self.code = status.code


class Communicator(Protocol):
    """What is needed of mpi4py's ``Comm``."""

    def Get_rank(self) -> int: ...
    def Get_size(self) -> int: ...
    def Dup(self) -> Communicator: ...
    def Free(self) -> None: ...
    def Allgather(self, sendbuf: Any, recvbuf: Any, /) -> None: ...


#: Kind of a format character of ``struct`` and its size in bytes -> shakedown_ckpt_type.
_TYPES: Mapping[tuple[str, int], int] = {
    **{("signed", 2**i): 1 + 2 * i for i in range(4)},
    **{("unsigned", 2**i): 2 + 2 * i for i in range(4)},
    ("float", 2): 9,
    ("float", 4): 11,
    ("float", 8): 12,
    ("complex", 8): 13,
    ("complex", 16): 14,
    ("bytes", 1): 0,
}
_KINDS = {
    **dict.fromkeys("bhilqn", "signed"),
    **dict.fromkeys("BHILQN?", "unsigned"),
    **dict.fromkeys("efd", "float"),
    **dict.fromkeys(("Zf", "Zd", "F", "D"), "complex"),
    "c": "bytes",
}
#: Letters of a ``typestr``.
_DEVICE_KINDS = {"i": "signed", "u": "unsigned", "b": "unsigned", "f": "float", "c": "complex", "V": "bytes"}
_ELEMENTS = "integers, floats and complex numbers in this machine's byte order; others as bytes, by a view"


class Session:
    """The state of this process and its checkpoints. Options are those of checkpoint.h: ``node``, ``domain``, ``address``,
    ``group_size``, ``group_losses``, ``keep``, ``synchronous``, ``mtti_seconds``, ``timeout_seconds`` and
    ``interval_seconds`` (level -> seconds). Raises CheckpointError, BadInput for an option that does not exist, Unavailable
    where the library was not built."""

    def __init__(
        self,
        comm: Communicator | None = None,
        *,
        local: str | os.PathLike[str] | None = None,
        global_folder: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        self._handle = ctypes.c_void_p()
        self._held: dict[str, Any] = {}
        path = installed.folders().library
        try:
            self._library = _abi.load(path)
        except OSError as error:
            raise Unavailable("the checkpoint library cannot be loaded", where=str(path), hint=str(error)) from None
        asked = self._options({"local": local, "global_": global_folder, **options})
        self._comm, self._callbacks = _callbacks(comm)
        ranks = ctypes.byref(self._callbacks) if self._callbacks else None
        self._require(self._library.shakedown_ckpt_open(ranks, ctypes.byref(asked), ctypes.byref(self._handle)))

    def _options(self, given: Mapping[str, Any]) -> _abi.Options:
        found = _abi.Options()
        self._library.shakedown_ckpt_options_init(ctypes.byref(found))
        if found.struct_bytes != ctypes.sizeof(_abi.Options):
            raise Unavailable("the checkpoint library is not of this version of the package")
        known = [name for name, *_ in _abi.Options._fields_ if name != "struct_bytes"]
        for name, value in given.items():
            if name not in known:
                raise BadInput(f"unknown option {name!r}", where="Session", hint=f"known: {', '.join(known)}")
            if name == "interval_seconds":
                for level, seconds in dict(value).items():
                    found.interval_seconds[_level(level)] = seconds
            elif value is not None:
                try:
                    setattr(found, name, os.fsencode(value) if isinstance(value, (str, os.PathLike)) else value)
                except (TypeError, ValueError) as error:
                    raise BadInput(f"{value!r} cannot be an option: {error}", where=name) from None
        return found

    # ------------------------------------------------------------------------------------------- what is protected

    def protect(
        self,
        name: str,
        array: Any,
        *,
        global_shape: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
        box: Sequence[int] | None = None,
        at: Sequence[int] | None = None,
    ) -> None:
        """Save ``array`` under this name: part of an array of all ranks where ``global_shape`` and ``offset`` say so, else
        of this rank alone; without dimensions a value that is equal on all ranks. ``box`` and ``at`` leave ghost layers out:
        the part has the shape ``box`` and begins at ``at`` in the array. Raises CheckpointError, BadInput."""
        held, address, kind, shape = _on_device(name, array) or _in_memory(name, array)
        for what, values in (("global_shape", global_shape), ("offset", offset), ("box", box), ("at", at)):
            if values is not None and (len(values) != len(shape) or min(values, default=0) < 0):
                raise BadInput(f"{what} has to be {len(shape)} numbers from 0", where=name, hint=f"not {values!r}")
        if (global_shape is None) != (offset is None) or (box is None) != (at is None) or (box and not global_shape):
            raise BadInput("global_shape and offset go together, and so do box and at", where=name)
        common = (self._handle, name.encode(), address, kind, len(shape))
        if global_shape is None or offset is None:
            code = self._library.shakedown_ckpt_protect(*common, _shape(shape), None, None)
        else:
            lies = (box or shape, global_shape, offset, shape, at or (0,) * len(shape))
            code = self._library.shakedown_ckpt_protect_inside(*common, *map(_shape, lies))
        self._require(code)
        self._held[name] = held  # it is neither freed nor resized

    def unprotect(self, name: str) -> None:
        """Save it no longer. Raises CheckpointError."""
        self._require(self._library.shakedown_ckpt_unprotect(self._handle, name.encode()))
        self._held.pop(name, None)

    # --------------------------------------------------------------------------------- collective: every rank calls

    def due(self) -> int:
        """The level at which a checkpoint should be made now, or 0."""
        level = ctypes.c_int()
        self._require(self._library.shakedown_ckpt_due(self._handle, ctypes.byref(level)))
        return level.value

    def checkpoint(self, level: int) -> Status:
        """Save all that is protected, which may be changed when this returns."""
        return self._status(self._library.shakedown_ckpt_checkpoint(self._handle, level))

    def restore(self, name: str | None = None) -> Status:
        """Fill what is protected, or one name of it. ``Code.NOTHING``: a fresh start."""
        return self._status(self._library.shakedown_ckpt_restore(self._handle, None if name is None else name.encode()))

    def snapshot(self) -> tuple[Did, Status]:
        """Restore at the first call, later make a checkpoint where one is due."""
        did = ctypes.c_int()
        status = self._status(self._library.shakedown_ckpt_snapshot(self._handle, ctypes.byref(did)))
        return Did(did.value), status

    def restart_info(self) -> dict[str, Any]:
        """What ``restore`` would take: the members of shakedown_ckpt_restart. Raises CheckpointError."""
        found = _abi.Restart(struct_bytes=ctypes.sizeof(_abi.Restart))
        self._require(self._library.shakedown_ckpt_restart_info(self._handle, ctypes.byref(found)))
        return _members(found)

    def close(self, *, discard: bool = False) -> Status:
        """Wait for what is being written. ``discard``: the work is done, all checkpoints go."""
        if not self._handle:
            return Status(Code.OK)
        handle, self._handle = self._handle, ctypes.c_void_p()
        status = self._status(self._library.shakedown_ckpt_close(handle, int(discard)))
        self._held.clear()
        return status

    # ------------------------------------------------------------------------------------------------ of this rank

    def pending(self) -> bool:
        """Whether a checkpoint is still being written."""
        pending = ctypes.c_int()
        self._library.shakedown_ckpt_poll(self._handle, ctypes.byref(pending))
        return bool(pending.value)

    def wait(self, seconds: float = -1.0) -> Status:
        """Wait for it; below 0 as long as the option ``timeout_seconds`` says."""
        return self._status(self._library.shakedown_ckpt_wait(self._handle, seconds))

    def statistics(self) -> dict[str, Any]:
        """The members of shakedown_ckpt_statistics; ``level`` has an entry for each level. Raises CheckpointError."""
        found = _abi.Statistics(struct_bytes=ctypes.sizeof(_abi.Statistics))
        self._require(self._library.shakedown_ckpt_stats(self._handle, ctypes.byref(found)))
        return {**_members(found), "level": {level: _members(found.level[level]) for level in range(1, 5)}}

    def set_option(self, name: str, value: object) -> None:
        """Change an option that may change while open. Raises CheckpointError."""
        text = str(value).encode()
        self._require(self._library.shakedown_ckpt_set_option(self._handle, name.encode(), text))

    def last_error(self) -> str:
        """What went wrong last, and warnings."""
        words: bytes | None = self._library.shakedown_ckpt_last_error(self._handle)
        return (words or b"").decode(errors="replace")

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _status(self, code: int) -> Status:
        return Status(Code.OK) if code == Code.OK else Status(Code(code), self.last_error())

    def _require(self, code: int) -> None:
        if not (status := self._status(code)):
            raise CheckpointError(status)


def _level(level: object) -> int:
    if level not in (1, 2, 3, 4):
        raise BadInput(f"{level!r} is not a level", where="interval_seconds", hint="levels are 1 to 4")
    assert isinstance(level, int)
    return level


def _members(record: ctypes.Structure) -> dict[str, Any]:
    names = (name for name, *_ in record._fields_ if name != "struct_bytes")
    return {name: getattr(record, name) for name in names}


def _shape(values: Sequence[int]) -> ctypes.Array[ctypes.c_uint64]:
    return (ctypes.c_uint64 * max(len(values), 1))(*values)


def _in_memory(name: str, array: Any) -> tuple[Any, int, int, tuple[int, ...]]:
    """What holds a buffer, its address, type and shape. Raises BadInput."""
    view = _writable(name, array)
    memory = (ctypes.c_char * view.nbytes).from_buffer(array)
    return memory, ctypes.addressof(memory), _type_of(name, view), tuple(view.shape or ())


def _on_device(name: str, array: Any) -> tuple[Any, int, int, tuple[int, ...]] | None:
    """The same of an array on a GPU, by Numba's CUDA Array Interface, which CuPy and PyTorch have too; None for others.
    Raises BadInput."""
    try:
        found = getattr(array, "__cuda_array_interface__", None)
        if found is None:
            return None
        shape, (address, readonly), text = tuple(map(int, found["shape"])), found["data"], found["typestr"]
        order, kind, size = text[0], text[1], int(text[2:])
        gaps = found.get("strides") not in (None, _dense(shape, size)) or found.get("mask") is not None
    except (RuntimeError, TypeError, ValueError, KeyError, IndexError) as error:
        raise BadInput(
            f"is on a GPU and cannot be had: {error}", where=name, hint="of a tensor its .detach()"
        ) from None
    if readonly or gaps:
        raise BadInput("has to be writable and in C order, without gaps", where=name, hint="protect the whole array")
    known = _TYPES.get((_DEVICE_KINDS.get(kind, ""), size))
    if known is None or order not in ("|", "<" if _LITTLE else ">"):
        raise BadInput(f"elements of type {text!r} cannot be saved", where=name, hint=_ELEMENTS)
    return array, int(address or 0), known, shape


def _dense(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Strides in bytes of an array in C order without gaps."""
    strides = [size]
    for length in reversed(shape[1:]):
        strides.append(strides[-1] * length)
    return tuple(reversed(strides)) if shape else ()


def _writable(name: str, array: Any) -> memoryview:
    """The buffer of an array that can be filled in place. Raises BadInput."""
    try:
        view = memoryview(array)
    except (TypeError, ValueError, BufferError) as error:
        hint = "a NumPy array, array.array, a number of ctypes; of a tensor its .numpy()"
        raise BadInput(f"is not a buffer: {error}", where=name, hint=hint) from None
    if view.readonly or not view.c_contiguous:
        raise BadInput("has to be writable and in C order, without gaps", where=name, hint="protect the whole array")
    return view


def _type_of(name: str, view: memoryview) -> int:
    letter = view.format.lstrip("@=" + ("<" if _LITTLE else ">!"))
    found = _TYPES.get((_KINDS.get(letter, ""), view.itemsize))
    if found is None:
        raise BadInput(f"elements of type {view.format!r} cannot be saved", where=name, hint=_ELEMENTS)
    return found


_LITTLE = memoryview(ctypes.c_uint16(1)).cast("B")[0] == 1


def _callbacks(comm: Communicator | None) -> tuple[Communicator | None, _abi.Comm | None]:
    """A duplicate of the communicator and the callbacks that use it; nothing for one rank alone."""
    if comm is None:
        return None, None
    own = comm.Dup()
    size = own.Get_size()

    def allgather(_: int | None, mine: int, everything: int, count: int) -> int:
        def gather() -> None:
            sent = (ctypes.c_char * count).from_address(mine)
            received = (ctypes.c_char * (count * size)).from_address(everything)
            own.Allgather(memoryview(sent).cast("B"), memoryview(received).cast("B"))

        return _without_error(gather)

    def release(_: int | None) -> None:
        _without_error(own.Free)

    return own, _abi.Comm(own.Get_rank(), size, None, _abi.ALLGATHER(allgather), _abi.RELEASE(release))


def _without_error(call: Callable[[], None]) -> int:
    """0, or 1 where it fails: no exception goes through C."""
    try:
        call()
    except Exception:  # what MPI raises is of mpi4py, which is not needed here; the library reports the peer
        return 1
    return 0
