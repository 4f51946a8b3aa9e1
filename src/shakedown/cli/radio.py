"""shakedown radio: the group of its verbs; `app.py` hangs each in from a file of its own."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="radio",
    no_args_is_help=True,
    help="Radio path loss over terrain and in towns: links, coverage maps, one link step by step, a live server for "
    "emulators, a network of emulated radios. docs/radio.md begins with nothing and ends with a network.",
)


@app.callback()
def _root() -> None:
    pass
