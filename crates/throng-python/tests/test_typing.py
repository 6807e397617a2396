"""The types of the package, as type checkers see them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import throng_privacy

PACKAGE = Path(throng_privacy.__file__).parent
CONFIG = Path(__file__).parent.parent / "pyproject.toml"
USE = Path(__file__).parent / "typed_use.py"
# Without the recipes for schedulers, which are not installed.
EXAMPLES = [
    str(path)
    for path in sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
    if path.stem not in ("airflow_dag", "dagster_asset")
]


def mypy(folder: Path, *arguments: str) -> None:
    """Runs mypy in a folder of its own. It finds a package that is installed, and one that is not by the path."""
    path = {} if PACKAGE.parent.name == "site-packages" else {"MYPYPATH": str(PACKAGE.parent)}
    line = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **path})
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_is_content_with_the_package_and_its_use(tmp_path):
    for checked in (["-p", "throng_privacy"], [str(USE)]):
        mypy(tmp_path, "--config-file", str(CONFIG), *checked)


def test_pyright_is_content_with_the_use_of_the_package(tmp_path):
    config = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": [str(USE)], "extraPaths": [str(PACKAGE.parent)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    line = [sys.executable, "-m", "pyright", "--project", str(tmp_path), "--pythonpath", sys.executable]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_type_checkers_are_content_with_the_examples(tmp_path):
    for example in EXAMPLES:
        mypy(tmp_path, "--ignore-missing-imports", example)
    config = {"typeCheckingMode": "standard", "pythonVersion": "3.11", "include": EXAMPLES, "extraPaths": [str(PACKAGE.parent)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    line = [sys.executable, "-m", "pyright", "--project", str(tmp_path), "--pythonpath", sys.executable]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_finds_the_types_of_everything_public():
    line = [sys.executable, "-m", "pyright", "--verifytypes", "throng_privacy", "--ignoreexternal", "--outputjson"]
    # It looks for the package with the first Python of the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    assert len(symbols) > 300, "those of the package"
    assert [symbol["name"] for symbol in symbols if not symbol["isTypeKnown"]] == []
