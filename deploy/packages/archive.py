#!/usr/bin/env python3
"""Puts a built `throng` into an archive with manual pages, completions and a bill of materials.

    cargo build --profile dist --locked --bin throng
    deploy/packages/archive.py --throng target/dist/throng --out dist

writes to dist/

    throng-VERSION-TARGET.tar.gz    bin/, share/man/, share/bash-completion/, share/zsh/, share/fish/, licence, documents
    throng-VERSION-TARGET.cdx.json  what the binary is made of (CycloneDX 1.5), from cargo
    SHA256SUMS                      digests of both, to be signed

The same inputs give the same bytes: no time, user, path or order of a folder enters. `SOURCE_DATE_EPOCH` is the time of the files
in the archive (0 by default). With `--cluster PATH` the binary `throng-cluster` goes in too.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["CHANGELOG.md", "GLOSSARY.md", "LICENSE", "README.md", "REFERENCES.md", "SECURITY.md"]
COMPLETIONS = {
    "bash": "share/bash-completion/completions/throng",
    "fish": "share/fish/vendor_completions.d/throng.fish",
    "zsh": "share/zsh/site-functions/_throng",
}


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout


def cargo(*arguments):
    return output_of(os.environ.get("CARGO", "cargo"), *arguments).decode()


def commands_of(throng, path=()):
    """All commands and the commands below them, as `throng --help` lists them."""
    text = output_of(throng, *path, "--help").decode()
    listed = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, re.MULTILINE)
    names = re.findall(r"^  ([a-z][a-z-]*)", listed.group(1), re.MULTILINE) if listed else []
    for name in names:
        if name != "help":
            yield (*path, name)
            yield from commands_of(throng, (*path, name))


def contents(throng, cluster):
    """The files of the archive: name to mode and bytes."""
    files = {"bin/throng": (0o755, Path(throng).read_bytes())}
    if cluster:
        files["bin/throng-cluster"] = (0o755, Path(cluster).read_bytes())
    for path in [(), *commands_of(throng)]:
        page = output_of(throng, "man", *path)
        files[f"share/man/man1/{'-'.join(['throng', *path])}.1"] = (0o644, page)
    for shell, name in COMPLETIONS.items():
        files[name] = (0o644, output_of(throng, "completions", shell))
    for name in DOCUMENTS:
        files[f"share/doc/throng/{name}"] = (0o644, (ROOT / name).read_bytes())
    return files


def archive(top, files, time):
    """A tar file with sorted names and no owner, compressed without a time."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (mode, content) in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), mode, time
            tar.addfile(entry, io.BytesIO(content))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0, compresslevel=9) as file:
        file.write(plain.getbuffer())
    return packed.getvalue()


def bill_of_materials(version, target, features, binary, time):
    """What the binary is compiled from. Build scripts, and what only tests need, are not part of it."""
    selection = ["-p", "throng-cli", "--locked", "--offline", "--target", target]
    selection += ["--features", features] if features else []
    tree = cargo("tree", *selection, "-e", "normal", "--prefix", "none", "--format", "{p}")
    used = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    used = {(name, number.removeprefix("v")) for name, number in used}
    arguments = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", target]
    packages = json.loads(cargo(*arguments))["packages"]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    digests = {(package["name"], package["version"]): package.get("checksum") for package in lock}
    components = []
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        key = (package["name"], package["version"])
        if key not in used or key[0] == "throng-cli":
            continue
        component = {
            "type": "library",
            "bom-ref": f"pkg:cargo/{key[0]}@{key[1]}",
            "name": key[0],
            "version": key[1],
            "purl": f"pkg:cargo/{key[0]}@{key[1]}",
        }
        if package["license"]:
            component["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
        if digests.get(key):
            component["hashes"] = [{"alg": "SHA-256", "content": digests[key]}]
        components.append(component)
    digest = hashlib.sha256(binary).hexdigest()
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # Random by convention; here it follows from the binary, so that the document is reproducible.
        "serialNumber": f"urn:uuid:{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:cargo/throng-cli@{version}",
                "name": "throng",
                "version": version,
                "purl": f"pkg:cargo/throng-cli@{version}",
                "licenses": [{"expression": "Apache-2.0"}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
            "properties": [
                {"name": "throng:target", "value": target},
                {"name": "throng:features", "value": features},
                {"name": "throng:source-date-epoch", "value": str(time)},
            ],
        },
        "components": components,
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True, type=Path, help="the binary, built with the profile dist")
    parser.add_argument("--cluster", type=Path, help="the binary throng-cluster, from a build with the feature cluster")
    parser.add_argument("--features", default="", help="features of the build, for the bill of materials")
    parser.add_argument("--target", help="the target of the build [default: that of this machine]")
    parser.add_argument("--out", required=True, type=Path, help="folder for the files")
    arguments = parser.parse_args()
    throng = arguments.throng.resolve()
    target = arguments.target or re.search(r"^host: (.+)$", cargo("-vV"), re.MULTILINE).group(1)
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    reported = output_of(throng, "--version").decode().strip()
    if reported != f"throng {version}":
        raise SystemExit(f"{throng} is `{reported}`, and this is the source of version {version}")

    name = f"throng-{version}-{target}"
    files = contents(throng, arguments.cluster)
    features = arguments.features or ("cluster" if arguments.cluster else "")
    bill = bill_of_materials(version, target, features, files["bin/throng"][1], time)
    files["share/doc/throng/throng.cdx.json"] = (0o644, bill)
    written = {f"{name}.tar.gz": archive(name, files, time), f"{name}.cdx.json": bill}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for file, content in written.items():
        (arguments.out / file).write_bytes(content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {file}\n" for file, content in sorted(written.items()))
    (arguments.out / "SHA256SUMS").write_text(sums)
    print(sums, end="")


if __name__ == "__main__":
    main()
