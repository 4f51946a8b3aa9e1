"""What a submitted job starts, on the first node of its allocation: ``python -m shakedown.run.batch RUN``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ...document.terminal import say
from ...errors import COULD_NOT_MEASURE, MET, USAGE, ShakedownError, unforeseen
from ..observer import Lines
from . import campaign_jobs


def main(words: Sequence[str]) -> int:
    """The exit code: 0 for a session that came to its end, whatever its runs gave."""
    if len(words) != 1:
        say("usage: python -m shakedown.run.batch RUN")
        return USAGE
    try:
        campaign_jobs.inside(Path(words[0]), Lines(say))
    except ShakedownError as error:
        say(f"shakedown: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("shakedown: interrupted")
        return 130
    except Exception as error:
        say(f"shakedown: {unforeseen(error)}")
        return COULD_NOT_MEASURE
    return MET


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
