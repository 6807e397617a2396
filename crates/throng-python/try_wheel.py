#!/usr/bin/env python3
"""Builds the wheel, installs it into a fresh virtual environment, and tries it there.

    python3 crates/throng-python/try_wheel.py [--profile dist] [--wheel FILE | --library FILE] [--packages ENVIRONMENT] [-- ARGUMENTS]

Runs the lines of the README with `python -c`, the command, and the tests. `--profile dev` builds faster than `dist`. `--wheel` tries a wheel
that is built, and `--library` packs one of a library that cargo has built. The packages of the tests are installed from a package index,
unless a virtual environment that has them is given. What follows `--` goes to pytest. Prints the time of the build, the size of the wheel, and what is
installed with it. Needs Python 3.11.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

# Run from anywhere, it leaves no compiled files among the sources.
sys.dont_write_bytecode = True

from pack_wheel import pack  # noqa: E402

HERE = Path(__file__).resolve().parent
MATURIN = "maturin==1.16.0"
PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
SITE = "import sysconfig; print(sysconfig.get_path('platlib'))"


def run(*line: object, **settings: object) -> str:
    """Runs a program, and returns what it has printed."""
    done = subprocess.run([str(part) for part in line], stdout=subprocess.PIPE, text=True, check=True, **settings)
    return done.stdout


def environment(folder: Path) -> Path:
    """Makes a virtual environment, and returns its programs."""
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin"


def packages(python: Path) -> set[str]:
    """The names of what is installed."""
    return {re.split(" @ |==", line)[0] for line in run(python, *PIP, "freeze", "--all").splitlines()}


def build(folder: Path, profile: str) -> Path:
    """Builds the wheel with maturin."""
    programs = environment(folder / "build")
    run(programs / "python", *PIP, "install", MATURIN)
    start = time.monotonic()
    run(programs / "maturin", "build", "--profile", profile, "--locked", "--out", folder / "wheels", cwd=HERE)
    print(f"built with the profile {profile} in {time.monotonic() - start:.0f} s")
    (wheel,) = (folder / "wheels").glob("*.whl")
    return wheel


def describe(wheel: Path) -> None:
    """Prints the size of a wheel, and fails if it needs another package or lacks its licence."""
    with zipfile.ZipFile(wheel) as content:
        unpacked = sum(file.file_size for file in content.infolist())
        (metadata,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        licences = [name for name in content.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        if not licences or content.read(licences[0]) != (HERE / "LICENSE").read_bytes():
            raise SystemExit("the wheel has no licence")
        needs = re.findall(r"^Requires-Dist: (.*)$", content.read(metadata).decode(), re.MULTILINE)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {unpacked / 1e6:.1f} MB unpacked, needs {needs or 'no other package'}")
    if needs:
        raise SystemExit("the wheel needs other packages")


def install(python: Path, wheel: Path) -> None:
    """Installs the wheel without a package index, and fails if anything else is installed with it."""
    before = packages(python)
    run(python, *PIP, "install", "--no-index", wheel)
    installed = sorted(packages(python) - before)
    print("installed:", *installed)
    if installed != ["throng-privacy"]:
        raise SystemExit("the wheel is not installed, or not alone")


def add_packages(python: Path, known: Path | None) -> None:
    """Adds the packages of the tests: those of another environment, or else from a package index."""
    if known is None:
        run(python, *PIP, "install", "--no-deps", "--requirement", HERE / "tests/requirements.txt")
        return
    theirs = run(known / "bin/python", "-c", SITE).strip()
    Path(run(python, "-c", SITE).strip(), "packages.pth").write_text(f"{theirs}\n")


def arguments() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="dist", help="profile of cargo")
    parser.add_argument("--wheel", type=Path, help="try this wheel, and build none")
    parser.add_argument("--library", type=Path, help="pack a wheel of this library, and build none")
    parser.add_argument("--packages", type=Path, help="a virtual environment that has the packages of the tests")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        if args.wheel:
            wheel = args.wheel.resolve(strict=True)
        elif args.library:
            wheel = pack(args.library, Path(folder) / "wheels")
        else:
            wheel = build(Path(folder), args.profile)
        describe(wheel)
        programs = environment(Path(folder) / "fresh")
        python = programs / "python"
        install(python, wheel)
        print(run(programs / "throng", "--version").strip())
        add_packages(python, args.packages)
        (lines,) = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)
        print(run(python, "-c", f"{lines}\nprint(release)", cwd=folder).strip())
        package = run(python, "-c", "import throng_privacy; print(throng_privacy.__path__[0])", cwd=folder).strip()
        tests = [python, "-m", "pytest", "--quiet", "-rs", "--config-file", HERE / "pyproject.toml", HERE / "tests", package, *args.pytest]
        sys.stdout.flush()
        ended = subprocess.run([str(part) for part in tests], cwd=folder, check=False)
        raise SystemExit(ended.returncode)


if __name__ == "__main__":
    main()
