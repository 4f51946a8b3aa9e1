"""Where the command starts: `shakedown VERB`, or `python -m shakedown VERB`."""

from __future__ import annotations

import sys


def main() -> None:
    """The whole command; a health check, which runs on every node every few minutes, loads nothing but itself."""
    if sys.argv[1:2] == ["health"]:
        from .operate.health import __main__ as quick

        words = quick.check_words(sys.argv[2:])
        if words is not None:
            sys.exit(quick.main(words))
    from .cli import app

    app.main()


if __name__ == "__main__":
    main()
