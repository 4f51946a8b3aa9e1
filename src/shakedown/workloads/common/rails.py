"""The networks of a node (rails): which there are, and what makes an MPI use some of them and no others.

Each MPI heeds variables of its own, and of the libraries below it. For interfaces (``eth0``) messages go by TCP, for ports
of adapters (``mlx5_0:1``) by UCX, verbs, or the adapter's own library. What an MPI really used is not taken from here: the
program counts the bytes of each network (``native/multi_pair/rails.hpp``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import BadInput, Unavailable
from ...machine import mpi as flavours
from ...machine.span import ELSEWHERE
from ...records import Host

_UP = ("up", "active")
_ADAPTERS = ("infiniband", "omnipath")


def is_port(name: str) -> bool:
    """Whether it is a port of an adapter (``mlx5_0:1``) and no interface."""
    return ":" in name


def found(host: Host) -> tuple[str, ...]:
    """The networks of a host that are up: ports of adapters where it has some, else its Ethernet interfaces. Of several
    hosts as one, those that are up by that name on all of them."""
    up = [one for one in host.networks if one.state in _UP and ELSEWHERE not in one.facts]
    ports = [one.name for one in up if is_port(one.name) and one.kind in _ADAPTERS]
    return tuple(ports or (one.name for one in up if one.kind == "ethernet" and not is_port(one.name)))


def named(text: str, host: Host, where: str) -> tuple[str, ...]:
    """The networks that a parameter names; ``auto``: those that are up. Raises BadInput where they are not of one kind,
    Unavailable where fewer than two are up, with what keeps others from being used on all hosts."""
    names = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if names == ("auto",):
        names = found(host)
        if len(names) < 2:
            raise Unavailable(
                f"{where} = auto: {host.name} has {'one network' if names else 'no network'} that is up"
                f"{': ' + names[0] if names else ''}{_apart(host)}",
                hint="two networks or more are compared: name them, such as eth0,eth1 or mlx5_0:1,mlx5_1:1",
            )
    if len({is_port(name) for name in names}) > 1:
        raise BadInput(
            f"{where}: {', '.join(names)} are interfaces and ports of adapters",
            hint="compare networks of one kind: eth0,eth1 or mlx5_0:1,mlx5_1:1",
        )
    if any("/" in name or "+" in name or " " in name for name in names):
        raise BadInput(f"{where}: {', '.join(names)} cannot be names of networks", hint="ip -brief link, ibstat")
    return names


def _apart(host: Host) -> str:
    """Why networks that are up on the first of several hosts are not for all of them."""
    kinds = ("ethernet", *_ADAPTERS)
    differ = [one for one in host.networks if one.kind in kinds and one.state in _UP and ELSEWHERE in one.facts]
    return "".join(f"; {one.name} is up on the first host, and {one.facts[ELSEWHERE]}" for one in differ[:4])


def alone_and_together(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Each network by itself, and then all of them."""
    return (*((name,) for name in names), *([tuple(names)] if len(names) > 1 else []))


def environment(mpi: str, names: Sequence[str]) -> dict[str, str]:
    """What makes an MPI of that flavour use these networks between nodes, and no others."""
    every, count = ",".join(names), str(len(names))
    devices = [name.partition(":")[0] for name in names]
    ucx = {"UCX_NET_DEVICES": every, "UCX_MAX_RNDV_RAILS": count, "UCX_MAX_EAGER_RAILS": count}
    if is_port(names[0]):
        if any(device.startswith("hfi") for device in devices):  # Omni-Path: units are numbered
            units = ",".join(device.rpartition("_")[2] for device in devices)
            alone = {"HFI_UNIT": units} if len(names) == 1 else {}
            return {**alone, "PSM2_MULTIRAIL": "0" if len(names) == 1 else "1", "FI_OPX_HFI_SELECT": units}
        return {
            flavours.OPEN_MPI: {**ucx, "OMPI_MCA_pml": "ucx"},
            flavours.MVAPICH2: {"MV2_IBA_HCA": ":".join(devices), "MV2_NUM_HCAS": count},
            flavours.CRAY: {"FI_CXI_DEVICE_NAME": ",".join(devices), "MPICH_OFI_NUM_NICS": count},
            flavours.INTEL: {"FI_MLX_NET_DEVICES": every, **ucx, "I_MPI_MULTIRAIL": "1" if len(names) > 1 else "0"},
        }.get(mpi, ucx)
    by_tcp = {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": every}
    return {
        flavours.OPEN_MPI: {
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "^uct,ofi,openib,usnic",
            "OMPI_MCA_btl_tcp_if_include": every,
        },
        flavours.INTEL: {"I_MPI_OFI_PROVIDER": "tcp", **by_tcp},
        flavours.CRAY: by_tcp,
        flavours.MVAPICH2: {"MV2_IFACE": every},
    }.get(mpi, {**ucx, **by_tcp})
