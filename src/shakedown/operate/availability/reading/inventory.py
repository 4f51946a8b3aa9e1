"""The nodes of a machine, in words: ``node[1-4] processors=4 gpus=4; fat1 processors=64``."""

from __future__ import annotations

import re

from ....errors import BadInput
from ....hosts import hostlist
from ..history import OPEN_S, Builder


def add(builder: Builder, text: str) -> None:
    """Put the nodes into the inventory, there all the time. Raises BadInput."""
    for part in filter(None, (one.strip() for one in text.split(";"))):
        names, *words = part.split()
        cpus, gpus = 1, 0
        for word in words:
            found = re.fullmatch(r"(processors|gpus)=(\d+)", word)
            if not found:
                raise BadInput(
                    f"{word!r} is not understood",
                    where="--nodes",
                    hint="write it as 'node[1-4] processors=4 gpus=4; login processors=8'",
                )
            if found[1] == "processors":
                cpus = int(found[2])
            else:
                gpus = int(found[2])
        for name in hostlist.expand(names):
            builder.present(name, 0, OPEN_S, cpus, gpus)
