"""The program that is measured, in a scratch folder with a generated census."""

import os
import pathlib
import subprocess
import time

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "configs" / "census.toml"


def add_options(parser):
    """Adds the options that all measurements have."""
    parser.add_argument("--throng", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)


def prepare(options):
    """Enters the scratch folder. Returns a function that runs the program and returns its seconds, and the folder of the census."""
    options.scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(options.scratch)
    environment = os.environ | {"THRONG_SECRET": "0123456789abcdef" * 4}
    data = pathlib.Path(f"census-{options.rows}")

    def throng(*words):
        start = time.perf_counter()
        subprocess.run([options.throng, *map(str, words)], env=environment, check=True, capture_output=True)
        return time.perf_counter() - start

    if not data.exists():
        throng("generate", "census", "--rows", options.rows, "-o", data)
    return throng, data
