"""The types of the package, as type checkers see them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
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


def pyright(folder: Path, include: list[str], **settings: object) -> None:
    """Runs pyright on these files. It passes over paths that are absolute, and by default over environments."""
    relative = [os.path.relpath(path, folder) for path in include]
    config = {"pythonVersion": "3.11", "include": relative, "exclude": [], "extraPaths": [str(PACKAGE.parent)], **settings}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    line = [sys.executable, "-m", "pyright", "--project", str(folder), "--pythonpath", sys.executable, "--stats"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    checked = re.search(r"Total files checked\D*(\d+)", done.stdout)
    assert checked and int(checked[1]) >= len(include), done.stdout


def test_mypy_is_content_with_the_package_and_its_use(tmp_path):
    for checked in (["-p", "throng_privacy"], [str(USE)]):
        mypy(tmp_path, "--config-file", str(CONFIG), *checked)


def test_pyright_is_content_with_the_package_and_its_use(tmp_path):
    config = tomllib.loads(CONFIG.read_text())["tool"]["pyright"]
    assert config["typeCheckingMode"] == "strict"
    files = [str(path) for path in sorted(PACKAGE.glob("*.py*")) if path.suffix in (".py", ".pyi")]
    assert len(files) > 10
    pyright(tmp_path, [*files, str(USE)], **config)


def test_type_checkers_are_content_with_the_examples(tmp_path):
    for example in EXAMPLES:
        mypy(tmp_path, "--ignore-missing-imports", example)
    # The frames of other libraries have members without types; those of this package have them, which is tested below.
    of_others = dict.fromkeys(("Argument", "Lambda", "Member", "Parameter", "Variable"), "none")
    unknown = {f"reportUnknown{what}Type": level for what, level in of_others.items()}
    pyright(tmp_path, EXAMPLES, typeCheckingMode="strict", reportMissingTypeStubs="none", **unknown)


def test_pyright_finds_the_types_of_everything_public():
    line = [sys.executable, "-m", "pyright", "--verifytypes", "throng_privacy", "--ignoreexternal", "--outputjson"]
    # It looks for the package with the first Python of the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    assert len(symbols) > 300, "those of the package"
    assert [symbol["name"] for symbol in symbols if not symbol["isTypeKnown"]] == []
