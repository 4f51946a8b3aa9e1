"""The command: `shakedown VERB`. One file per verb, which is loaded when the verb is asked for."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from .. import __version__
from ..errors import COULD_NOT_MEASURE, USAGE, ShakedownError, unforeseen
from . import _verbs

app = typer.Typer(
    name="shakedown",
    cls=_verbs.Group,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Takes a cluster from installation to production: what it is, how fast it could be, how fast it is, and how it "
    "compares with published systems.\n\nData goes to standard output, messages to standard error. Exit codes: "
    "0 met, 1 not met, 2 usage, 3 could not measure, 4 undecided.",
    **_verbs.SETTINGS,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"shakedown {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main() -> None:
    """The entry point: every foreseen error is one message with the next step, and its exit code. An error that nobody
    foresaw is one sentence and exit code 3: 1 means that a limit was not met."""
    try:
        code = app(standalone_mode=False)
    except ShakedownError as error:
        print(f"shakedown: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _left_alone()
    except SystemExit as end:  # typer's own for a closed pipe is 1
        if isinstance(end.__context__, BrokenPipeError):
            _left_alone()
        raise
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # typer's: words that no command line can be
            error.show()
            sys.exit(USAGE)
        _unforeseen(error.__cause__ if isinstance(error, typer.Abort) and error.__cause__ else error)
    _flush()
    if code == 130:
        print("shakedown: interrupted", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _unforeseen(error: BaseException) -> NoReturn:
    print(f"shakedown: {unforeseen(error)}", file=sys.stderr)
    sys.exit(COULD_NOT_MEASURE)


def _flush() -> None:
    """Write what is left on standard output while its failure can still be reported."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _left_alone()
    except OSError as error:
        print(f"shakedown: standard output cannot be written: {error.strerror}", file=sys.stderr)
        os._exit(COULD_NOT_MEASURE)


def _left_alone() -> NoReturn:
    """Nobody reads any more: nothing more is written, not even at the interpreter's end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(COULD_NOT_MEASURE)
