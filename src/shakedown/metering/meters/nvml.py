"""NVIDIA's GPUs through their management library: power at a moment, power as a mean, and a counter of energy.

The fields POWER_INSTANT and POWER_AVERAGE say which of the two they are; where the driver has neither,
``nvmlDeviceGetPowerUsage`` is read, whose meaning depends on the chip and on the driver: a mean of 1 s on Ampere (not GA100)
and later, a moment before (NVML documentation; on a RTX 3090 driver 530 alone gave a moment). A new value comes every 20 to
100 ms, and where its window is shorter than that the rest of the time is never seen: an A100 and an H100 look at 25 of
100 ms (Yang, Adamek and Armour, SC24, arXiv 2312.02741). That study found boards 5 % low and steps of 1 s on the mean.

The counter (Volta and later, millijoules, zero when the driver was loaded) moves about every 100 ms; on some cards it
disagrees with the integrated power: compare them per card. Modules that hold a CPU too (Grace Hopper) show a scope of the
module, in which the GPU lies, and may refuse that of the GPU.

All times are those around the call; the stamp in NVML's field values is that of the query. The library runs in a thread of
its own: a driver that hangs costs a gap after ``?limit=`` seconds (1), never the reader. A call that the kernel holds cannot
be ended from outside; until it comes back every further reading is a gap at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ...errors import Unavailable
from ...hosts import nvidia
from ...hosts.access import HostAccess
from ...units import whole_number
from . import Accuracy, Channel, Meter, Reading, Source, Status, Target
from ._local import no_address, seconds
from ._network import Bounded, Guarded

_LIMIT_S = 1.0
_OPEN_LIMIT_S = 30.0  # a driver without persistence mode takes seconds to start
_AVERAGE, _INSTANT = 185, 186
_GPU, _MODULE, _MEMORY = 0, 1, 2
_USAGE, _ENERGY, _TEMPERATURE = "usage", "energy", "temperature"
_NO_VALUE = 2**32 - 1
#: What a channel asks: a field and its scope, or one of the functions.
Ask = tuple[int, int] | str
_SUCCESS, _NOT_SUPPORTED, _NO_PERMISSION = 0, 3, 4
_KEPLER, _MAXWELL, _PASCAL, _VOLTA, _TURING, _AMPERE, _ADA, _HOPPER = range(2, 10)
_GA100 = ("A100", "A800", "A30")
_STUDY = "arXiv 2312.02741"


class Meaning(NamedTuple):
    """What a reading of power stands for on one kind of chip. None: not known, ask a characterisation."""

    window_s: float | None
    refresh_s: float | None
    note: str


class Board(NamedTuple):
    """One GPU, as far as the meaning of its readings goes."""

    gpu: int
    name: str
    architecture: int
    driver: str


def instant(architecture: int, name: str) -> Meaning:
    """POWER_INSTANT: the window and refresh that the study found for this kind (table of results)."""
    ga100 = architecture == _AMPERE and name_has(name, _GA100)
    if architecture in (_KEPLER, _MAXWELL):
        return Meaning(None, None, f"follows the load with an exponential, up to 9 % off ({_STUDY})")
    if architecture in (_PASCAL, _VOLTA):
        return Meaning(0.010, 0.020, f"sees 10 of 20 ms ({_STUDY})")
    if ga100 or architecture == _HOPPER:
        return Meaning(0.025, 0.100, f"sees 25 of 100 ms; repeat short work with random pauses ({_STUDY})")
    if architecture == _TURING and name_has(name, ("RTX 8000", "RTX 6000")):
        return Meaning(0.020, 0.100, f"sees 20 of 100 ms ({_STUDY}: RTX 8000)")
    if architecture in (_TURING, _AMPERE, _ADA):
        return Meaning(0.100, 0.100, f"mean of 100 ms ({_STUDY})")
    return Meaning(None, None, "not in the study: characterise it")


def average(architecture: int, name: str) -> Meaning:
    """POWER_AVERAGE: 1 s by NVML's documentation; 1.08 to 1.10 s in the study's recordings of a RTX 3090."""
    if architecture < _AMPERE or (architecture == _AMPERE and name_has(name, _GA100)):
        return Meaning(None, None, "NVML documents no mean for this chip: characterise it")
    return Meaning(1.0, 0.1 if architecture <= _HOPPER else None, "mean of 1 s (NVML documentation)")


def usage(architecture: int, name: str, driver: str) -> Meaning:
    """nvmlDeviceGetPowerUsage, whose meaning changed with chip and driver."""
    major = whole_number(driver.partition(".")[0]) or 0
    if architecture < _AMPERE or (architecture == _AMPERE and name_has(name, _GA100)):
        return instant(architecture, name)
    if major == 530:
        found = instant(architecture, name)
        return found._replace(note=f"a moment with driver 530, a mean of 1 s with 525 and 535; {found.note}")
    return average(architecture, name)._replace(note="mean of 1 s; driver 530 alone gave a moment: characterise it")


def name_has(name: str, words: Sequence[str]) -> bool:
    """Whether a board's name has one of some words as a whole: A30 is not A300."""
    cut = name.replace("-", " ").split()
    return any(set(word.split()) <= set(cut) for word in words)


class _Gpus(Guarded):
    """The open library."""

    def __init__(self, nvml: Any, door: HostAccess, thread: Bounded, limit_s: float) -> None:
        super().__init__(door, thread, limit_s)
        self._nvml = nvml
        self._handles: list[Any] = []
        self._asks: list[tuple[list[tuple[int, int]], list[str]]] = []  # of each GPU: fields, then functions

    def start(self) -> None:
        """Find the GPUs and what each answers. Runs in the thread of its own."""
        nvml = self._nvml
        nvml.nvmlInit()
        driver = nvidia.text(nvml.nvmlSystemGetDriverVersion())
        channels: list[Channel] = []
        for gpu in range(nvml.nvmlDeviceGetCount()):
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
            except nvml.NVMLError as error:  # fallen off the bus: its channels cannot be known, that it is there can
                channels.append(_lost(gpu, str(error), driver))
                self._handles.append(None)
                self._asks.append(([], [_USAGE]))
                continue
            fields, functions = self._offers(handle)
            channels += _channels(nvml, handle, gpu, [*functions, *fields], driver)
            self._handles.append(handle)
            self._asks.append((fields, functions))
        self.channels = tuple(channels)

    def _offers(self, handle: Any) -> tuple[list[tuple[int, int]], list[str]]:
        """What this GPU answers, refusals included: only what it does not have is left out. The counter comes first:
        it stands for the feed, and the powers of the GPU are further views of it."""
        fields = []
        for ask in [(field, scope) for scope in (_GPU, _MODULE, _MEMORY) for field in (_AVERAGE, _INSTANT)]:
            value, status = self._values(handle, [ask])[0]
            if status is Status.REFUSED or (status is Status.OK and (value or ask[1] == _GPU)):
                fields.append(ask)
        wanted = [_ENERGY, _TEMPERATURE] if any(ask[1] == _GPU for ask in fields) else [_ENERGY, _USAGE, _TEMPERATURE]
        return fields, [one for one in wanted if _function(self._nvml, one, handle)[1] is not Status.UNSUPPORTED]

    def _values(self, handle: Any, asked: list[tuple[int, int]]) -> list[tuple[float | None, Status]]:
        """Several fields in one call, in watts."""
        nvml = self._nvml
        try:
            said = nvml.nvmlDeviceGetFieldValues(handle, asked)
        except nvml.NVMLError as error:
            return [(None, _status(nvml, error))] * len(asked)
        return [_field(one) for one in said]

    def _read(self) -> list[Reading]:
        nvml, now = self._nvml, self._now
        out: list[Reading] = []
        for handle, (fields, functions) in zip(self._handles, self._asks, strict=True):
            for ask in functions:
                before = now()
                value, status = (None, Status.GAP) if handle is None else _function(nvml, ask, handle)
                out.append(Reading(len(out), before, now(), None, value, status))
            if fields:
                before = now()
                said = self._values(handle, fields)
                after = now()
                out += [Reading(len(out) + at, before, after, None, *one) for at, one in enumerate(said)]
        return out

    def _shut(self) -> object:
        return _ask(self._nvml, self._nvml.nvmlShutdown)


def _field(said: Any) -> tuple[float | None, Status]:
    if said.nvmlReturn != _SUCCESS:
        refusals = {_NO_PERMISSION: Status.REFUSED, _NOT_SUPPORTED: Status.UNSUPPORTED}
        return None, refusals.get(said.nvmlReturn, Status.GAP)
    names = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    value = getattr(said.value, names[said.valueType]) if said.valueType < len(names) else None
    if value is None or value == _NO_VALUE:
        return None, Status.UNSUPPORTED
    return value * 1e-3, Status.OK


def _status(nvml: Any, error: Exception) -> Status:
    if isinstance(error, nvml.NVMLError_NoPermission):
        return Status.REFUSED
    missing = (nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound, nvml.NVMLError_InvalidArgument)
    return Status.UNSUPPORTED if isinstance(error, missing) else Status.GAP


def _ask(nvml: Any, function: Any, *arguments: Any) -> tuple[Any, Status]:
    try:
        return function(*arguments), Status.OK
    except nvml.NVMLError as error:
        return None, _status(nvml, error)


def _function(nvml: Any, ask: str, handle: Any) -> tuple[float | None, Status]:
    """One of the functions, in watts, joules or degrees."""
    if ask == _TEMPERATURE:
        value, status = _ask(nvml, nvml.nvmlDeviceGetTemperature, handle, 0)
        return (None if value is None else float(value)), status
    function = nvml.nvmlDeviceGetTotalEnergyConsumption if ask == _ENERGY else nvml.nvmlDeviceGetPowerUsage
    value, status = _ask(nvml, function, handle)
    if value in (_NO_VALUE, 2**64 - 1):
        return None, Status.UNSUPPORTED
    return (None if value is None else value * 1e-3), status


def _lost(gpu: int, why: str, driver: str) -> Channel:
    return Channel(
        id=f"nvml/gpu{gpu}/power",
        title=f"power of GPU {gpu}, which does not answer",
        quantity="power",
        unit="W",
        scope="point",
        place="component",
        driver=driver,
        note=f"{why}; next: nvidia-smi -q -i {gpu}, dmesg | grep Xid",
    )


def _channels(nvml: Any, handle: Any, gpu: int, asks: Sequence[Ask], driver: str) -> list[Channel]:
    board = Board(
        gpu,
        nvidia.text(_ask(nvml, nvml.nvmlDeviceGetName, handle)[0]),
        (_ask(nvml, nvml.nvmlDeviceGetArchitecture, handle)[0] or 0) % _NO_VALUE,  # all ones: unknown
        driver,
    )
    limits = _ask(nvml, nvml.nvmlDeviceGetPowerManagementLimitConstraints, handle)[0]
    cap = _ask(nvml, nvml.nvmlDeviceGetEnforcedPowerLimit, handle)[0]
    capped = ""
    if cap and limits and cap < limits[1]:
        capped = f"power limit {cap * 1e-3:g} W, of at most {limits[1] * 1e-3:g} W"
    uuid = nvidia.text(_ask(nvml, nvml.nvmlDeviceGetUUID, handle)[0])
    firmware = nvidia.text(_ask(nvml, nvml.nvmlDeviceGetVbiosVersion, handle)[0])
    out = []
    for ask in asks:
        one = _channel(board, ask)
        notes = (one.note, capped if one.quantity == "power" else "")
        out.append(
            msgspec.structs.replace(
                one,
                within=_within(ask, asks, gpu),
                most_w=_most_w(ask, limits[1] * 1e-3) if limits and one.quantity != "temperature" else None,
                device=f"{board.name} {uuid}".strip(),
                firmware=firmware,
                driver=driver,
                note="; ".join(filter(None, notes)),
            )
        )
    return out


def _within(ask: Ask, asks: Sequence[Ask], gpu: int) -> str:
    """A GPU lies in its module, a memory in its GPU: the id of the first channel of the wider part."""
    if ask == _TEMPERATURE:
        return ""
    wider = {_GPU: _MODULE, _MODULE: None, _MEMORY: _GPU}[_scope(ask)]
    return next((_key(one, gpu) for one in asks if one != _TEMPERATURE and _scope(one) == wider), "")


def _scope(ask: Ask) -> int:
    return ask[1] if isinstance(ask, tuple) else _GPU


def _most_w(ask: Ask, limit_w: float) -> float:
    """Peaks of milliseconds pass a board's limit, and a module's CPU is not under it at all."""
    return limit_w * (4 if _scope(ask) == _MODULE else 2)


def _key(ask: Ask, gpu: int) -> str:
    part = {_GPU: f"gpu{gpu}", _MODULE: f"module{gpu}", _MEMORY: f"gpu{gpu}-memory"}[_scope(ask)]
    if isinstance(ask, str):
        return f"nvml/{part}/{'power' if ask == _USAGE else ask}"
    return f"nvml/{part}/{'average' if ask[0] == _AVERAGE else 'instant'}"


def _channel(board: Board, ask: Ask) -> Channel:
    """The channel of one question, without what all of a GPU share."""
    if ask == _TEMPERATURE:
        return Channel(
            id=_key(ask, board.gpu),
            title=f"temperature of GPU {board.gpu}",
            quantity="temperature",
            unit="degC",
            scope="point",
            place="component",
            resolution=1.0,
        )
    if ask == _ENERGY:
        return Channel(
            id=_key(ask, board.gpu),
            title=f"energy of GPU {board.gpu} since its driver was loaded",
            quantity="energy",
            unit="J",
            scope="counter",
            place="component",
            resolution=1e-3,
            refresh_s=0.1,
            note="moves about every 100 ms; compare it with the integrated power of this card",
        )
    averaged = isinstance(ask, tuple) and ask[0] == _AVERAGE
    if ask == _USAGE:
        meaning = usage(board.architecture, board.name, board.driver)
    else:
        meaning = (average if averaged else instant)(board.architecture, board.name)
    what = {_GPU: "", _MODULE: "the module (CPU and GPU) of ", _MEMORY: "the memory of "}[_scope(ask)]
    return Channel(
        id=_key(ask, board.gpu),
        title=f"power of {what}GPU {board.gpu}",
        quantity="power",
        unit="W",
        scope="last" if meaning.window_s or averaged else "point",
        place="board" if _scope(ask) == _MODULE else "component",
        window_s=meaning.window_s,
        refresh_s=meaning.refresh_s,
        resolution=1e-3,
        accuracy=_accuracy(board.architecture),
        note=meaning.note,
    )


def _accuracy(architecture: int) -> Accuracy:
    """The largest steady error that the study found among boards of that age (without the K620, 41 % low)."""
    return Accuracy(reading=0.09 if architecture <= _MAXWELL else 0.06, source=f"largest steady error in {_STUDY}")


def open_(target: Target, door: HostAccess) -> Source:
    """All GPUs of this machine. Raises Unavailable where there are none, or none that answers."""
    no_address(target)
    limit_s = seconds(target, "limit", _LIMIT_S)
    try:
        nvml = nvidia.library()
    except ImportError:
        raise Unavailable("nvidia-ml-py is not installed", where="nvml", hint="pip install nvidia-ml-py") from None
    thread = Bounded("meter nvml")
    gpus = _Gpus(nvml, door, thread, limit_s)
    try:
        thread.call(gpus.start, _OPEN_LIMIT_S)
    except nvml.NVMLError as error:
        thread.close(0.1)
        raise Unavailable(
            f"NVIDIA's library: {error}", where="nvml", hint="nvidia-smi must work: the driver brings libnvidia-ml.so.1"
        ) from None
    except TimeoutError:
        thread.close(0.1)
        raise Unavailable(
            "NVIDIA's driver does not answer",
            where="nvml",
            hint="dmesg | grep -i -e xid -e nvrm; then restart the node",
        ) from None
    if not gpus.channels:
        gpus.close()
        raise Unavailable(
            "NVIDIA's driver shows no GPU that measures power", where="nvml", hint="nvidia-smi -q -d POWER"
        )
    return gpus


def find(door: HostAccess) -> tuple[Target, ...]:
    """NVML where the driver is loaded."""
    devices = door.list("/dev")
    return (Target(meter="nvml"),) if "nvidiactl" in devices or "nvidia0" in devices else ()


METER = Meter(
    name="nvml",
    title="NVIDIA GPUs (NVML)",
    address="nvml[?limit=SECONDS]",
    open=open_,
    find=find,
    options={"limit": "seconds after which a driver that does not answer leaves a gap (1)"},
    poll_s=0.1,
    least_poll_s=0.005,
)
