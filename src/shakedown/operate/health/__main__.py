"""python -m shakedown.operate.health: the check alone, without the rest of the command, for what calls it every minute.

The same as `shakedown health check`, in less time: the command's own imports take as long as all checks together.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ... import __version__
from ...errors import COULD_NOT_MEASURE, ShakedownError, unforeseen
from . import command
from .calling import LIMIT_S


def parser() -> argparse.ArgumentParser:
    """The words of the call; tests hold them beside the verb's."""
    made = argparse.ArgumentParser(prog="shakedown-health", description="Is this node healthy, now?")
    made.add_argument("checks", nargs="*", help="only these; see `shakedown health list`")
    made.add_argument("--plan", default="", help="the file of what should be there (docs/health.md)")
    made.add_argument("--state", default="", help="the folder of what outlives a call; none: nothing is kept")
    made.add_argument("--host", default="", help="by this name the plan and the state are looked up")
    made.add_argument("--root", default="", help="look at a recording below this folder")
    made.add_argument("--limit", type=float, default=LIMIT_S, help="seconds after which a check counts as stuck")
    made.add_argument("--json", action="store_true", help="print the report as JSON")
    made.add_argument(
        "--nagios", action="store_true", help="as a plugin of Nagios or Icinga, with its exit codes 0 to 3"
    )
    made.add_argument("--prometheus", default="", metavar="FILE", help="write this file for node_exporter; - prints")
    made.add_argument("--ganglia", action="store_true", help="print gmetric's calls, one a line: pipe them into sh")
    made.add_argument("--all", action="store_true", help="also what is healthy")
    made.add_argument("--drain", default="", metavar="ENGINE", help="drain the node once that is confirmed: slurm, pbs")
    made.add_argument(
        "--resume", action="store_true", help="with --drain: resume the node if this drained it, once it is healthy"
    )
    made.add_argument("--node", default="", help="the node's name in the engine")
    made.add_argument("--version", action="version", version=f"shakedown {__version__}")
    return made


#: What `shakedown health` also does; everything else that follows it is a check.
VERBS = ("clear", "correlate", "learn", "list", "log", "wrapper")


def check_words(words: Sequence[str]) -> Sequence[str] | None:
    """The words for ``main`` of a call ``shakedown health WORDS``; None where they are for another verb, or ask for help."""
    first = words[0] if words else ""
    if first in VERBS or {"-h", "--help"} & set(words):
        return None
    return words[1:] if first == "check" else words


def main(words: Sequence[str] | None = None) -> int:
    """The exit code; every foreseen error is one message with the next step."""
    given = vars(parser().parse_args(words))
    given |= {
        "checks": tuple(given["checks"]),
        "limit_s": given.pop("limit"),
        "everything": given.pop("all"),
    }
    try:
        return command.main(*command.options(**given))
    except ShakedownError as error:
        print(f"shakedown: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return COULD_NOT_MEASURE
    except Exception as error:  # 1 would mean that the node is not well
        print(f"shakedown: {unforeseen(error)}", file=sys.stderr)
        return COULD_NOT_MEASURE


if __name__ == "__main__":
    sys.exit(main())
