"""Packs the sources of the package and a library that cargo has built into a wheel, without building anything.

maturin makes the wheels that users get. It selects one crate, which makes cargo build DataFusion once more; this takes the library that a
build of the whole workspace has made, so that the tests of the workspace install a wheel too. The wheel is for the machine that has built
it: its tag promises no older system library.
"""

from __future__ import annotations

import base64
import hashlib
import sysconfig
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TAG = "cp310-abi3"


def pack(library: Path, folder: Path) -> Path:
    """Writes the wheel to a folder, and returns its path."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())
    version = tomllib.loads((HERE / "../../Cargo.toml").read_text())["workspace"]["package"]["version"]
    package = project["tool"]["maturin"]["module-name"].partition(".")[0]
    tag = f"{TAG}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"{package}-{version}.dist-info"
    content: dict[str, bytes | Path] = {
        f"{package}/{source.name}": source for source in sorted((HERE / "python" / package).iterdir()) if source.is_file()
    }
    content[f"{package}/_native.abi3.so"] = library
    for name in project["project"]["license-files"]:
        content[f"{info}/licenses/{name}"] = HERE / name
    content[f"{info}/METADATA"] = metadata(project["project"], version).encode()
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pack_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    scripts = "".join(f"{name}={entry}\n" for name, entry in project["project"]["scripts"].items())
    content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{package}-{version}-{tag}.whl"
    record = ""
    # The library of a development build is large, and is unpacked at once: compressing it would take longer than all the rest.
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for name, given in content.items():
            data = given.read_bytes() if isinstance(given, Path) else given
            archive.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return wheel


def metadata(project: dict, version: str) -> str:
    """The metadata of a project, as the core metadata specification has it."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}",
        *(f"Author: {author['name']}" for author in project["authors"]),
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in project["license-files"]),
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        *(f"Requires-Dist: {needed}" for needed in project["dependencies"]),
        "Description-Content-Type: text/markdown; charset=UTF-8",
    ]
    return "\n".join(lines) + "\n\n" + (HERE / project["readme"]).read_text()
