"""``python -m throng_privacy`` is the command ``throng``."""

from ._cli import main

main()
