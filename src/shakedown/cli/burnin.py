"""shakedown burnin: every GPU or core of a node at work at once, for minutes to days, and what went wrong first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from . import common

if TYPE_CHECKING:
    from ..operate.burnin.records import BurninReport

app = typer.Typer(
    name="burnin",
    no_args_is_help=True,
    help="Every GPU or core of this node at full power at once, every result checked to the bit, with clocks, heat, power, "
    "error counters and the kernel's log watched; a verdict for each device and the first symptom. docs/burnin.md.",
)

Json = Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")]
Folder = Annotated[Path, typer.Argument(help="The folder of a burn-in.")]
Time = Annotated[str, typer.Option(help="How long: 90s, 30min, 12h, 3d.")]
Devices = Annotated[
    str, typer.Option(help="auto (GPUs where there are any, else cores), cpu, gpu, all, or cpu:0-3,gpu:0.")
]
Memory = Annotated[
    str,
    typer.Option(
        help="For the patterns of each core: a size, a share of what is free as 80%, auto (50%; less where the time is "
        "short), 0."
    ),
]
GpuMemory = Annotated[
    str, typer.Option(help="For the patterns of each GPU: a size, or auto (nearly all that is free).")
]
Stages = Annotated[
    str,
    typer.Option(help="What is done in turn, and for how many seconds; default: product:60,steps:30,memory:30."),
]
Periods = Annotated[str, typer.Option(help="Seconds of one power step up and down, separated by commas.")]
Stop = Annotated[str, typer.Option(help="When to stop: end (of the time), or first (critical symptom).")]
Hang = Annotated[
    float, typer.Option(callback=common.not_negative, help="Seconds without a sign of life that make a device silent.")
]
Look = Annotated[
    float,
    typer.Option(
        callback=common.not_negative, help="Seconds between two readings of clocks, counters and the kernel's log."
    ),
]
Meters = Annotated[
    list[str] | None, typer.Option(help="Power of the node: auto, none or a meter's address; may be repeated.")
]
Inject = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DEVICE=KIND[@S]",
        help="A drill: cpu:0=result@30. Kinds: result, result-always, operand, memory, memory-always, die, stop. "
        "The verdict is then marked as a drill's.",
    ),
]
Isa = Annotated[str, typer.Option(help="Instruction set of the cores' products, as avx2; auto: the widest.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A new folder for journal and verdict.")]


@app.command("run")
def run(
    time: Time = "1h",
    devices: Devices = "auto",
    memory: Memory = "auto",
    gpu_memory: GpuMemory = "auto",
    stages: Stages = "",
    periods: Periods = "1,0.1,0.01",
    stop: Stop = "end",
    hang: Hang = 60.0,
    look: Look = 5.0,
    meter: Meters = None,
    inject: Inject = None,
    isa: Isa = "auto",
    output: Output = None,
    json: Json = False,
) -> None:
    """Burn in this node. Exit code 0 passed, 1 failed, 3 not tested to the end (Ctrl-C: the verdict so far)."""
    from ..operate.burnin import journal, options
    from ..operate.burnin.devices import usable_cpus
    from ..operate.health.node_access import NodeAccess

    meters = tuple(one for one in meter or ["auto"] if one != "none")
    asked = options.BurninOptions(
        time=time,
        devices=devices,
        memory=memory,
        gpu_memory=gpu_memory,
        stages=stages,
        periods=periods,
        stop=stop,
        hang_s=hang,
        look_s=look,
        inject=tuple(inject or ()),
        isa=isa,
        meters=meters,
    )
    senses = NodeAccess()
    planned = options.plan(asked, senses, usable_cpus())
    folder = output or Path(options.folder_name(planned))
    journal.create(folder, planned)
    if said := options.remark(asked, planned):
        terminal.say(said)
    terminal.say(f"{len(planned.devices)} devices, journal in {folder}; Ctrl-C ends it with the verdict so far")
    _show(options.carry_out(folder, planned, senses, terminal.say), json)


@app.command("resume")
def resume(folder: Folder, json: Json = False) -> None:
    """Continue a burn-in that was ended or cut off, for the rest of its time."""
    from ..operate.burnin import journal, options
    from ..operate.health.node_access import NodeAccess

    planned = journal.read_plan(folder)
    _show(options.carry_out(folder, planned, NodeAccess(), terminal.say), json)


@app.command("report")
def report(folder: Folder, json: Json = False) -> None:
    """The verdict of a burn-in so far, recomputed from its journal; also while it runs, or after it was cut off."""
    from ..operate.burnin import options

    _show(options.again(folder), json)


@app.command("devices")
def list_devices(json: Json = False) -> None:
    """What there is to burn in here."""
    from ..operate.burnin.devices import cores, gpus, usable_cpus
    from ..operate.health.node_access import NodeAccess

    senses = NodeAccess()
    found = (*gpus(senses), *cores(senses, usable_cpus()))
    if json:
        terminal.print_json(found)
    else:
        terminal.print_table(("device", "what it is"), [(one.id, one.title) for one in found])


def _show(verdict: BurninReport, json: bool) -> None:
    import sys

    from ..operate.burnin.report import text

    if json:
        terminal.print_json(verdict)
    else:
        sys.stdout.write(text(verdict))
    raise typer.Exit(verdict.exit_code)
