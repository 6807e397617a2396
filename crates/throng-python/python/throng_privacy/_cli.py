"""The command ``throng``."""

from __future__ import annotations

import os
import signal
import sys

from . import _native


def main() -> None:
    """Runs the command with the arguments of this process."""
    # The command handles the signal, and would hand it on to the handler of Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _native.command(["throng", *sys.argv[1:]])
    sys.stdout.flush()
    sys.stderr.flush()
    # The command has taken over signals and threads, which the end of the interpreter would wait for.
    os._exit(code)


if __name__ == "__main__":
    main()
