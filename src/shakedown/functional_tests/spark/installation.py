"""Spark and Java as a site has them: by name, SPARK_HOME and JAVA_HOME, PATH (where modules put them), the Python package.

What is too old, or does not fit each other, is refused before anything is started, with the command that brings the
right one.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...errors import Unavailable
from ...units import whole_number
from .. import _work

_JAVA_HINT = "sudo apt-get install openjdk-17-jre-headless, or load the site's module (modules=NAME), or set JAVA_HOME"
_SPARK_HINT = (
    f"{sys.executable} -m pip install pyspark, or load the site's module (modules=NAME), "
    "or name its folder (spark=PATH, SPARK_HOME)"
)
#: Spark's major version -> the oldest Java that it runs on, and the newest that it was made for (0: no bound known).
_JAVA = {3: (8, 17), 4: (17, 0)}
_LIMIT_S = 60.0


class Installation(NamedTuple):
    """What a cluster is started from. ``python``: what makes pyspark importable, folders and archives."""

    home: Path
    version: str
    java_home: Path
    java: int
    python: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        return {"SPARK_HOME": str(self.home), "JAVA_HOME": str(self.java_home), "PYTHONPATH": ":".join(self.python)}

    def starts(self, name: str) -> str:
        """The path of ``spark-class`` and its like."""
        return str(self.home / "bin" / name)


def find(spark: str, environment: Mapping[str, str]) -> Installation:
    """The installation that is named (``auto``: the first of those above). Raises Unavailable."""
    home = _home(spark, environment)
    version = _version(home)
    java_home, java = _java(environment)
    least, most = _JAVA.get(int(version.split(".")[0]), (17, 0))
    if java < least or (most and java > most):
        raise Unavailable(
            f"Spark {version} needs Java {least}{f' to {most}' if most else ' or newer'}, and {java_home} is Java {java}",
            hint=_JAVA_HINT,
        )
    return Installation(home, version, java_home, java, _python(home))


def _home(spark: str, environment: Mapping[str, str]) -> Path:
    if spark != "auto":
        return _checked(Path(spark).expanduser(), f"{spark} (spark=)")
    if named := environment.get("SPARK_HOME", ""):
        return _checked(Path(named), f"SPARK_HOME, {named},")
    if submit := shutil.which("spark-submit", path=environment.get("PATH", os.defpath)):
        above = Path(submit).resolve().parents[1]
        for home in (above, *sorted(above.glob("lib/python3*/site-packages/pyspark"))):
            if _holds(home):
                return home
    found = importlib.util.find_spec("pyspark")
    if found is not None and found.origin and _holds(home := Path(found.origin).parent):
        return home
    raise Unavailable(
        "there is no Spark here: SPARK_HOME, spark-submit on PATH and the Python package pyspark were looked for",
        hint=_SPARK_HINT,
    )


def _holds(home: Path) -> bool:
    return os.access(home / "bin/spark-class", os.X_OK) and any(home.glob("jars/spark-core_*.jar"))


def _checked(home: Path, name: str) -> Path:
    for one in (home, *sorted(home.glob("lib/python3*/site-packages/pyspark"))):
        if _holds(one):
            return one.resolve()
    raise Unavailable(
        f"{name} holds no Spark: bin/spark-class and jars/spark-core_*.jar belong there", hint=_SPARK_HINT
    )


def _version(home: Path) -> str:
    for jar in home.glob("jars/spark-core_*.jar"):
        if found := re.fullmatch(r"spark-core_[0-9.]{1,10}-([0-9]{1,4}\.[0-9]{1,4}[0-9A-Za-z.-]{0,20})\.jar", jar.name):
            if int(found[1].split(".")[0]) < 3 or found[1].startswith(("3.0", "3.1", "3.2")):
                raise Unavailable(f"{home} is Spark {found[1]}, and 3.3 or newer is needed", hint=_SPARK_HINT)
            return found[1]
    raise Unavailable(f"the version of Spark in {home} is not known: its jars have other names", hint=_SPARK_HINT)


def _java(environment: Mapping[str, str]) -> tuple[Path, int]:
    named = environment.get("JAVA_HOME", "")
    path = f"{named}/bin/java" if named else shutil.which("java", path=environment.get("PATH", os.defpath))
    if not path:
        raise Unavailable("Spark needs Java, and there is none: JAVA_HOME is not set, no java on PATH", hint=_JAVA_HINT)
    ran = _work.run((path, "-version"), limit_s=_LIMIT_S)
    version = major(ran.err + ran.out)
    if not ran.ok or version is None:
        raise Unavailable(f"{path} is not a Java that works: {_work.said(ran)}", hint=_JAVA_HINT)
    return Path(path).resolve().parents[1], version


def major(text: str) -> int | None:
    """The major version in what ``java -version`` prints: 17 of "17.0.15", 8 of "1.8.0_452"."""
    found = re.search(r'version "(?:1\.)?([0-9]{1,4})[^"]{0,40}"', text)
    return whole_number(found[1]) if found else None


def _python(home: Path) -> tuple[str, ...]:
    """What makes pyspark importable: where Spark brings it, that one; else the package is beside."""
    archives = sorted(home.glob("python/lib/py4j-*-src.zip"))
    if (home / "python/pyspark/__init__.py").is_file() and archives:
        return (str(home / "python"), str(archives[-1]))
    return (str(home.parent),)
