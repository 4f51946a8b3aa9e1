"""The command: `shakedown VERB`. One file per verb; each imports what it needs when it is called, so help is instant."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from .. import __version__
from ..errors import COULD_NOT_MEASURE, USAGE, ShakedownError, unforeseen
from . import (
    _batch,
    accept,
    accounting,
    availability,
    burnin,
    cluster,
    compare,
    energy,
    energy_archive,
    energy_check,
    energy_import,
    facility,
    gpu,
    health,
    import_,
    list_,
    machine,
    meter,
    meter_characterise,
    native,
    pairs,
    plan,
    predict,
    report,
    run,
    tune,
)

app = typer.Typer(
    name="shakedown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Takes a cluster from installation to production: what it is, how fast it could be, how fast it is, and how it "
    "compares with published systems.\n\nData goes to standard output, messages to standard error. Exit codes: "
    "0 met, 1 not met, 2 usage, 3 could not measure, 4 undecided.",
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


app.command("machine")(machine.command)
app.command("gpu")(gpu.command)
app.command("run", cls=_batch.Command)(run.command)
app.command("plan")(plan.command)
app.command("report")(report.command)
app.command("import")(import_.command)
app.command("compare")(compare.command)
app.command("predict")(predict.command)
app.command("pairs")(pairs.command)
app.add_typer(tune.app, name="tune")
app.add_typer(accept.app, name="accept")
app.add_typer(cluster.app, name="cluster")
meter.app.command("characterise")(meter_characterise.command)
energy.app.command("check")(energy_check.check)
energy.app.command("draw")(energy_check.draw)
energy.app.command("bundle")(energy_check.bundle)
energy.app.command("archive")(energy_archive.command)
energy.app.command("import")(energy_import.command)
app.add_typer(meter.app, name="meter")
app.add_typer(energy.app, name="energy")
app.add_typer(facility.app, name="facility")
app.add_typer(availability.app, name="availability")
app.add_typer(burnin.app, name="burnin")
app.add_typer(health.app, name="health")
app.add_typer(accounting.app, name="accounting")
app.command("list")(list_.command)
app.command("native")(native.command)


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
