"""Environment modules (Lmod, Environment Modules) without a shell: what ``module load`` would set, read and applied.

Both print, when asked for Python, statements such as ``os.environ['PATH'] = '/opt/icc/bin:...'``. They are read as text
(``ast``) and only assignments of words to environment variables are taken: nothing that a module file prints is executed.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

from ..errors import CannotMeasure
from . import _work

_LIMIT_S = 60.0
_HINT = "check the names with `module avail`, or leave `modules` empty and load them before the run"


def commands(environment: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The module commands that this environment knows of, each to be followed by ``python load NAME``."""
    found: list[tuple[str, ...]] = []
    for name in ("LMOD_CMD", "MODULES_CMD"):
        path = environment.get(name, "")
        if path and Path(path).is_file():
            found.append((path,) if os.access(path, os.X_OK) else ("tclsh", path))
    home = environment.get("MODULESHOME", "")
    for path in (f"{home}/libexec/modulecmd.tcl", f"{home}/bin/modulecmd") if home else ():
        if Path(path).is_file() and os.access(path, os.X_OK):
            found.append((path,))
    for folder in environment.get("PATH", "").split(":"):
        path = f"{folder}/modulecmd"
        if folder.startswith("/") and os.access(path, os.X_OK):
            found.append((path,))
    return list(dict.fromkeys(found))


def settings(text: str) -> dict[str, str | None] | None:
    """What the printed statements set (None: unset). None where the text is no Python or says that it failed."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    found: dict[str, str | None] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            name = _variable(target)
            if name and isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[name] = value.value
            elif isinstance(target, ast.Name) and target.id == "_mlstatus" and _is(value, False):
                return None
        elif isinstance(statement, ast.Delete):
            found |= {name: None for target in statement.targets if (name := _variable(target))}
        elif isinstance(statement, ast.Expr) and (_is(statement.value, False) or _is_name(statement.value, "false")):
            return None  # Lmod's word for a failure
    return found


def _variable(target: ast.expr) -> str:
    """The name in ``os.environ['NAME']``; empty for anything else."""
    if not (isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)):
        return ""
    of = target.value
    if isinstance(of, ast.Attribute) and of.attr == "environ" and _is_name(of.value, "os"):
        return str(target.slice.value)
    return ""


def _is(value: ast.expr, constant: object) -> bool:
    return isinstance(value, ast.Constant) and value.value is constant


def _is_name(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name) and value.id == name


def load(names: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> tuple[str, ...]:
    """Load modules into ``environment``, in order; returns what is loaded then (LOADEDMODULES).

    Raises CannotMeasure where there is no module command, or where it refuses a module, with what it said.
    """
    if not names:
        return ()
    for name in names:
        if name.startswith("-"):
            raise CannotMeasure(f"{name!r} is not a valid module name", hint=_HINT)
    known = commands(environment)
    if not known:
        raise CannotMeasure(
            f"the modules {', '.join(names)} were requested, and there is no module command here "
            "(LMOD_CMD, MODULES_CMD, MODULESHOME and modulecmd on PATH were looked at)",
            hint="start from a shell that has `module`, or leave `modules` empty and set PATH before the run",
        )
    for name in names:
        ran = _work.run((*known[0], "python", "load", name), limit_s=_LIMIT_S, env=environment)
        found = settings(ran.out) if ran.ok else None
        if not found:
            lines = [line.strip() for line in ran.err.splitlines() if line.strip()]
            told = "; ".join(lines[:3]) or ran.why or "it set nothing"
            raise CannotMeasure(f"the module {name!r} was not loaded: {told[:300]}", hint=_HINT)
        for variable, value in found.items():
            if value is None:
                environment.pop(variable, None)
            else:
                environment[variable] = value
    return tuple(filter(None, environment.get("LOADEDMODULES", "").split(":")))
