"""AMD's GPUs through AMD SMI: socket power and a counter of energy.

``current_socket_power`` (MI300 and later) is the power at a moment, ``average_socket_power`` (Navi, MI200 and older) a mean
that the firmware makes over a time that it does not state; of the two a chip has one (AMD SMI documentation). The energy is
``energy_accumulator x counter_resolution`` in microjoules, about 15.3 uJ a count. Power comes in whole watts.

* On MI250 and MI250X two dies share one module and one reading: the first die's is that of both, and the second, whose
  counter stands at zero, has none (UNSUPPORTED). Their sum is the first alone.
* 0xFFFF, 0xFFFFFFFF and "N/A" mean that the chip has no such value.
* The Python package ``amdsmi`` raises KeyError and prints where ROCm's library is missing: it is imported when a target asks
  for it, and what it prints is kept quiet. It must be of the same version as ROCm.

The library runs in a thread of its own: a driver that hangs costs a gap after ``?limit=`` seconds (1), not the reader.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import Unavailable
from ...hosts.access import HostAccess
from . import Channel, Meter, Reading, Source, Status, Target
from ._local import Facts, no_address, seconds
from ._network import Bounded, Guarded

_LIMIT_S = 1.0
_OPEN_LIMIT_S = 30.0
_SENTINELS = (0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
_CELSIUS_MOST = 1000.0  # a temperature above it is in thousandths of a degree
_WATTS_MOST = 1e5  # a power above it is in microwatts, as the driver of a virtualisation host gives it
_HINT = "install ROCm and its package: pip install /opt/rocm/share/amd_smi (the version must match ROCm's)"
#: Error codes of the library (amdsmi_status_t).
_NOT_SUPPORTED, _NO_PERMISSION = (2, 3), (10,)
_PAIRED = ("MI250",)


class Item(NamedTuple):
    """What one channel asks of one processor."""

    gpu: int
    ask: str  # current, average, energy, temperature
    silent: bool = False  # the second die of a module: its values are in the first's


def load() -> Any:
    """The package ``amdsmi``. Raises Unavailable, with what it would have printed, where it cannot be imported."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            import amdsmi  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise Unavailable("the Python package amdsmi is not installed", where="amdsmi", hint=_HINT) from None
    except Exception as error:  # KeyError, OSError, AttributeError: whatever a half-found library ends in
        last = said.getvalue().strip().splitlines()
        why = last[0] if last else f"{type(error).__name__}: {error}"
        raise Unavailable(f"amdsmi cannot load ROCm's library: {why}", where="amdsmi", hint=_HINT) from None
    return amdsmi


def whole(value: Any) -> float | None:
    """A number of AMD SMI's; None for "N/A" and for all ones."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value in _SENTINELS:
        return None
    return float(value)


class _Gpus(Guarded):
    """The open library."""

    def __init__(self, smi: Any, door: HostAccess, thread: Bounded, limit_s: float) -> None:
        super().__init__(door, thread, limit_s)
        self._smi = smi
        self._handles: list[Any] = []
        self._items: list[Item] = []

    def start(self) -> None:
        """Find the GPUs and what each answers. Runs in the thread of its own."""
        smi = self._smi
        smi.amdsmi_init()
        channels: list[Channel] = []
        for gpu, handle in enumerate(smi.amdsmi_get_processor_handles()):
            self._handles.append(handle)
            asic = self._ask(smi.amdsmi_get_gpu_asic_info, handle)[0] or {}
            name = str(asic.get("market_name", ""))
            energy = self._energy(handle)
            silent = any(word in name for word in _PAIRED) and not energy[0]
            power = self._ask(smi.amdsmi_get_power_info, handle)
            offers = ["energy"] if energy[1] is not Status.UNSUPPORTED else []
            offers += ["current" if whole((power[0] or {}).get("current_socket_power")) is not None else "average"]
            offers += ["temperature"] if self._temperature(handle)[1] is not Status.UNSUPPORTED else []
            items = [Item(gpu, ask, silent and ask != "temperature") for ask in offers]
            self._items += items
            channels += _channels(self._facts(handle, asic), items, name, self._most_w(handle))
        self.channels = tuple(channels)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Status]:
        smi = self._smi
        try:
            return function(*arguments), Status.OK
        except smi.AmdSmiException as error:
            code = getattr(error, "err_code", None)
            if code in _NO_PERMISSION:
                return None, Status.REFUSED
            return None, Status.UNSUPPORTED if code in _NOT_SUPPORTED else Status.GAP

    def _power(self, handle: Any, key: str) -> tuple[float | None, Status]:
        said, status = self._ask(self._smi.amdsmi_get_power_info, handle)
        value = whole(said.get(key)) if said else None
        if value is not None and value > _WATTS_MOST:
            value *= 1e-6
        return value, Status.UNSUPPORTED if status is Status.OK and value is None else status

    def _energy(self, handle: Any) -> tuple[float | None, Status]:
        """Joules: accumulator x resolution. Packages before ROCm 6.1 call the accumulator "power"."""
        said, status = self._ask(self._smi.amdsmi_get_energy_count, handle)
        if not said:
            return None, status
        count = whole(said.get("energy_accumulator", said.get("power")))
        step_uj = whole(said.get("counter_resolution"))
        if count is None or not step_uj:
            return None, Status.UNSUPPORTED
        return count * step_uj * 1e-6, Status.OK

    def _temperature(self, handle: Any) -> tuple[float | None, Status]:
        smi = self._smi
        said, status = self._ask(
            smi.amdsmi_get_temp_metric, handle, smi.AmdSmiTemperatureType.HOTSPOT, smi.AmdSmiTemperatureMetric.CURRENT
        )
        value = whole(said)
        if value is None:
            return None, Status.UNSUPPORTED if status is Status.OK else status
        return value / 1000 if value > _CELSIUS_MOST else value, Status.OK

    def _most_w(self, handle: Any) -> float | None:
        """Twice the largest power cap that can be set; microwatts or watts by version."""
        said = self._ask(self._smi.amdsmi_get_power_cap_info, handle)[0] or {}
        most = whole(said.get("max_power_cap"))
        if not most:
            return None
        return 2 * (most * 1e-6 if most > _WATTS_MOST else most)

    def _facts(self, handle: Any, asic: dict[str, Any]) -> Facts:
        smi = self._smi
        driver = self._ask(smi.amdsmi_get_gpu_driver_info, handle)[0] or {}
        bios = self._ask(smi.amdsmi_get_gpu_vbios_info, handle)[0] or {}
        address = self._ask(smi.amdsmi_get_gpu_device_bdf, handle)[0] or ""
        return Facts(
            " ".join(filter(None, (str(asic.get("market_name", "")), str(address)))),
            str(bios.get("version", "")),
            " ".join(str(driver[key]) for key in ("driver_name", "driver_version") if driver.get(key)),
        )

    def _read(self) -> list[Reading]:
        out: list[Reading] = []
        for index, (gpu, ask, silent) in enumerate(self._items):
            handle = self._handles[gpu]
            before = self._now()
            value: float | None
            if silent:
                value, status = None, Status.UNSUPPORTED
            elif ask == "energy":
                value, status = self._energy(handle)
            elif ask == "temperature":
                value, status = self._temperature(handle)
            else:
                value, status = self._power(handle, f"{ask}_socket_power")
            out.append(Reading(index, before, self._now(), None, value, status))
        return out

    def _shut(self) -> object:
        return self._ask(self._smi.amdsmi_shut_down)


def _channels(facts: Facts, items: list[Item], name: str, most_w: float | None) -> list[Channel]:
    paired = any(word in name for word in _PAIRED)
    out = []
    for gpu, ask, silent in items:
        notes = []
        if paired and ask != "temperature":
            notes.append("second die: its power is in the first's" if silent else "both dies of the module")
        if ask == "average":
            notes.append("a mean over a time that the firmware does not state: characterise it")
        out.append(
            Channel(
                id=f"amdsmi/gpu{gpu}/{ask}",
                title={
                    "current": f"socket power of GPU {gpu}",
                    "average": f"mean socket power of GPU {gpu}",
                    "energy": f"energy of GPU {gpu}",
                    "temperature": f"hot-spot temperature of GPU {gpu}",
                }[ask],
                quantity={"energy": "energy", "temperature": "temperature"}.get(ask, "power"),  # type: ignore[arg-type]
                unit={"energy": "J", "temperature": "degC"}.get(ask, "W"),
                scope={"energy": "counter", "average": "last"}.get(ask, "point"),  # type: ignore[arg-type]
                place="component",
                resolution=None if ask == "energy" else 1.0,
                most_w=most_w,
                note="; ".join(notes),
                device=facts.device,
                firmware=facts.firmware,
                driver=facts.driver,
            )
        )
    return out


def open_(target: Target, door: HostAccess) -> Source:
    """All GPUs of this machine. Raises Unavailable where there are none, or none that answers."""
    no_address(target)
    limit_s = seconds(target, "limit", _LIMIT_S)
    smi = load()
    thread = Bounded("meter amdsmi")
    gpus = _Gpus(smi, door, thread, limit_s)
    try:
        thread.call(gpus.start, _OPEN_LIMIT_S)
    except smi.AmdSmiException as error:
        thread.close(0.1)
        why = " ".join(str(error).split())
        raise Unavailable(f"AMD SMI: {why}", where="amdsmi", hint="amd-smi list must work: is amdgpu loaded?") from None
    except TimeoutError:
        thread.close(0.1)
        raise Unavailable("AMD's driver does not answer", where="amdsmi", hint="dmesg | grep amdgpu") from None
    if not gpus.channels:
        gpus.close()
        raise Unavailable("AMD's driver shows no GPU", where="amdsmi", hint="amd-smi list")
    return gpus


def find(door: HostAccess) -> tuple[Target, ...]:
    """AMD SMI where AMD's compute driver is loaded."""
    return (Target(meter="amdsmi"),) if "kfd" in door.list("/dev") else ()


METER = Meter(
    name="amdsmi",
    title="AMD GPUs (AMD SMI)",
    address="amdsmi[?limit=SECONDS]",
    open=open_,
    find=find,
    options={"limit": "seconds after which a driver that does not answer leaves a gap (1)"},
    poll_s=0.1,
    least_poll_s=0.005,
)
