"""The options of a batch engine, for the verbs that can hand their work to one: made of the record that declares them, when
such a verb is called (the help of all others need not load it)."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from . import _options

if TYPE_CHECKING:
    from ..run.session import How

_GIVEN = "shakedown.batch"
_TYPES = {"number": int, "words": list[str]}


class Command(TyperCommand):
    """A verb with the options of a batch engine; what was given of them is asked for by ``how``."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The verb's own parameters and then those, before the help."""
        if not any(param.name == "engine" for param in self.params):
            self.params.extend(_params())
        return super().get_params(ctx)


def _params() -> list[Any]:
    from ..run.batch.options import BatchOptions
    from ..schedulers.common.options import declared

    parameters = []
    options = declared(BatchOptions)
    for field, option in {"engine": options["engine"], **options}.items():
        hint = Annotated[_TYPES.get(option.kind, str) | None, typer.Option(option.name, help=option.help)]  # type: ignore[valid-type]
        parameters.append(inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint))
    detach = Annotated[bool, typer.Option("--detach", help="Submit, say how to come back, and leave.")]
    parameters.append(inspect.Parameter("detach", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=detach))
    return _options.params(parameters, _keep)


def _keep(ctx: Any, param: Any, value: Any) -> Any:
    ctx.meta.setdefault(_GIVEN, {})[param.name] = value
    return value


def how(ctx: typer.Context, *, retry_failed: bool = False, back: str = "") -> How:
    """How the campaign is carried out, by the options that were given. Raises BadInput."""
    from ..run import session
    from ..run.batch import options

    given = dict(ctx.meta.get(_GIVEN, {}))
    detach = bool(given.pop("detach", False))
    batch = options.read(given)
    hosts = None if batch else session.named(given.get("hosts") or "")
    return session.How(batch=batch, hosts=hosts, detach=detach, retry_failed=retry_failed, back=back)
