"""Extension by file: the modules of a folder are its plug-ins, found by name.

Serves the extension folders only (``workloads``, ``launchers``, ``machine``, ``report``...); everything else is an
ordinary import. Each module holds one constant of an agreed name (``WORKLOAD``...). Other distributions join by an entry
point in the group ``shakedown.<folder>``; what several of a folder share lies in its package ``common``.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache
from typing import Any

from .errors import unknown

#: Groups that keep their name though their folder has moved.
_GROUPS = {"metering.meters": "shakedown.meters", "report.formats": "shakedown.report"}


@cache
def names(folder: str) -> tuple[str, ...]:
    """The names of the plug-ins in ``shakedown.<folder>``, sorted, those of other distributions included."""
    from importlib.metadata import entry_points

    package = importlib.import_module(f"shakedown.{folder}")
    own = {
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if not (module.ispkg or module.name.startswith("_"))
    }
    return tuple(sorted(own | {point.name for point in entry_points(group=_group(folder))}))


def _group(folder: str) -> str:
    return _GROUPS.get(folder, f"shakedown.{folder}")


def load(folder: str, constant: str, name: str) -> Any:
    """The constant of one plug-in. Raises BadInput, naming the nearest, where there is none of that name."""
    if name not in names(folder):
        raise unknown(folder.rpartition(".")[2].rstrip("s"), name, names(folder))
    module_name = f"shakedown.{folder}.{name}"
    if importlib.util.find_spec(module_name) is not None:
        return getattr(importlib.import_module(module_name), constant)
    from importlib.metadata import entry_points

    return getattr(entry_points(group=_group(folder))[name].load(), constant)
