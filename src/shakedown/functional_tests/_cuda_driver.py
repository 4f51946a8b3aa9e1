"""The CUDA driver through ctypes: as much of it as it takes to run a kernel. Nothing is linked and no toolkit is needed.

Signatures are those of the CUDA Driver API reference; the ``_v2`` names are what its header means by the plain ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import Unavailable

_HANDLE = ctypes.c_void_p
_U64 = ctypes.c_uint64
_SIZE = ctypes.c_size_t
_INT = ctypes.c_int
_UINT = ctypes.c_uint
_POINTER = ctypes.POINTER
_NO_DEVICE = 100
#: Attributes of a device.
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (_UINT,),
    "cuDriverGetVersion": (_POINTER(_INT),),
    "cuDeviceGetCount": (_POINTER(_INT),),
    "cuDeviceGet": (_POINTER(_INT), _INT),
    "cuDeviceGetName": (ctypes.c_char_p, _INT, _INT),
    "cuDeviceTotalMem_v2": (_POINTER(_SIZE), _INT),
    "cuDeviceGetAttribute": (_POINTER(_INT), _INT, _INT),
    "cuDevicePrimaryCtxRetain": (_POINTER(_HANDLE), _INT),
    "cuDevicePrimaryCtxRelease_v2": (_INT,),
    "cuCtxSetCurrent": (_HANDLE,),
    "cuCtxSynchronize": (),
    "cuMemGetInfo_v2": (_POINTER(_SIZE), _POINTER(_SIZE)),
    "cuModuleLoadData": (_POINTER(_HANDLE), ctypes.c_char_p),
    "cuModuleGetFunction": (_POINTER(_HANDLE), _HANDLE, ctypes.c_char_p),
    "cuModuleUnload": (_HANDLE,),
    "cuMemAlloc_v2": (_POINTER(_U64), _SIZE),
    "cuMemFree_v2": (_U64,),
    "cuMemcpyHtoD_v2": (_U64, ctypes.c_void_p, _SIZE),
    "cuMemcpyDtoH_v2": (ctypes.c_void_p, _U64, _SIZE),
    "cuLaunchKernel": (_HANDLE, *([_UINT] * 7), _HANDLE, _POINTER(ctypes.c_void_p), _POINTER(ctypes.c_void_p)),
}
_NAMES = ("cuGetErrorName", "cuGetErrorString")


class CudaError(Exception):
    """A call that failed: its name, and the driver's name for the error."""


class Device(NamedTuple):
    """One device, as the driver tells of it."""

    number: int  # as CUDA counts them
    handle: int
    name: str
    capability: str  # "9.0"
    multiprocessors: int
    memory_bytes: int


class Driver:
    """A loaded driver. Calls release Python's lock, so that threads drive several devices at once."""

    def __init__(self, library: str = "libcuda.so.1") -> None:
        """Raises Unavailable where there is no driver, or none that starts, with the next step."""
        try:
            self._library = ctypes.CDLL(library)
            for name, arguments in _SIGNATURES.items():
                function = getattr(self._library, name)
                function.argtypes, function.restype = arguments, _INT
            for name in _NAMES:
                function = getattr(self._library, name)
                function.argtypes, function.restype = (_INT, _POINTER(ctypes.c_char_p)), _INT
        except (OSError, AttributeError) as error:
            raise Unavailable(
                f"there is no CUDA driver here: {error}",
                hint="install NVIDIA's driver on the GPU nodes; in a batch job ask for a GPU (--gres=gpu:1)",
            ) from None
        try:
            self.call("cuInit", 0)
        except CudaError as error:
            hint = "look at `nvidia-smi` and dmesg; in a batch job ask for a GPU (--gres=gpu:1)"
            raise Unavailable(f"the CUDA driver does not start: {error}", hint=hint) from None

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function. Raises CudaError."""
        code = getattr(self._library, name)(*arguments)
        if code:
            raise CudaError(f"{name}: {self._error(code)}")

    def _error(self, code: int) -> str:
        texts = []
        for name in _NAMES:
            text = ctypes.c_char_p()
            if not getattr(self._library, name)(code, ctypes.byref(text)) and text.value:
                texts.append(text.value.decode("utf-8", "replace"))
        return f"{texts[0] if texts else 'error'} ({code})" + (f", {texts[1]}" if len(texts) > 1 else "")

    def version(self) -> str:
        """The CUDA version that the driver knows: "12.4"."""
        number = _INT()
        self.call("cuDriverGetVersion", ctypes.byref(number))
        return f"{number.value // 1000}.{number.value % 1000 // 10}"

    def devices(self) -> list[Device]:
        """All devices that this process may see."""
        count = _INT()
        try:
            self.call("cuDeviceGetCount", ctypes.byref(count))
        except CudaError as error:
            if f"({_NO_DEVICE})" in str(error):
                return []
            raise
        return [self._device(index) for index in range(count.value)]

    def _device(self, index: int) -> Device:
        handle, memory, name = _INT(), _SIZE(), ctypes.create_string_buffer(256)
        self.call("cuDeviceGet", ctypes.byref(handle), index)
        self.call("cuDeviceGetName", name, len(name), handle)
        self.call("cuDeviceTotalMem_v2", ctypes.byref(memory), handle)
        numbers = []
        for attribute in (_MULTIPROCESSORS, _MAJOR, _MINOR):
            number = _INT()
            self.call("cuDeviceGetAttribute", ctypes.byref(number), attribute, handle)
            numbers.append(number.value)
        text = name.value.decode("utf-8", "replace")
        return Device(index, handle.value, text, f"{numbers[1]}.{numbers[2]}", numbers[0], memory.value)


class Context:
    """The primary context of one device, current in the thread that made it, with one module; to be closed there."""

    def __init__(self, driver: Driver, device: Device, code: bytes) -> None:
        self._driver, self._device = driver, device
        self._buffers: list[int] = []
        self._module = _HANDLE()
        context = _HANDLE()
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device.handle)
        try:
            driver.call("cuCtxSetCurrent", context)
            driver.call("cuModuleLoadData", ctypes.byref(self._module), code)
        except CudaError:
            self.close()
            raise

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def function(self, name: str) -> ctypes.c_void_p:
        """A kernel of the module."""
        found = _HANDLE()
        self._driver.call("cuModuleGetFunction", ctypes.byref(found), self._module, name.encode())
        return found

    def free_bytes(self) -> int:
        """Memory that is free on the device."""
        free, total = _SIZE(), _SIZE()
        self._driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def filled(self, address: int, size: int) -> int:
        """A buffer on the device with the bytes that lie at an address of the host."""
        buffer = _U64()
        self._driver.call("cuMemAlloc_v2", ctypes.byref(buffer), size)
        self._buffers.append(buffer.value)
        self._driver.call("cuMemcpyHtoD_v2", buffer, address, size)
        return buffer.value

    def read(self, buffer: int, address: int, size: int) -> None:
        """Copy a buffer back."""
        self._driver.call("cuMemcpyDtoH_v2", address, buffer, size)

    def launch(
        self, function: ctypes.c_void_p, blocks: int, threads: int, arguments: Sequence[Any], times: int
    ) -> None:
        """Start a kernel so many times and wait for the last."""
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(one) for one in arguments))
        for _ in range(times):
            self._driver.call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, pointers, None)
        self._driver.call("cuCtxSynchronize")

    def close(self) -> None:
        """Give everything back. After a fault of the device nothing can be given back, and nothing is lost by it."""
        calls: list[tuple[Any, ...]] = [("cuMemFree_v2", buffer) for buffer in self._buffers]
        if self._module:
            calls.append(("cuModuleUnload", self._module))
        for call in (*calls, ("cuDevicePrimaryCtxRelease_v2", self._device.handle)):
            try:
                self._driver.call(*call)
            except CudaError:
                continue
        self._buffers.clear()
        self._module = _HANDLE()
