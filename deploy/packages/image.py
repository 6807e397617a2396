#!/usr/bin/env python3
"""Makes the image of deploy/Containerfile from a built `throng`, without a container engine.

    cargo build --profile dist --locked --bin throng
    deploy/packages/image.py --throng target/dist/throng --out throng.tar

throng.tar is an OCI image layout: `podman load -i throng.tar`, `docker load -i throng.tar` (25 or later), or `skopeo copy
oci-archive:throng.tar docker://registry.example.org/throng:0.1.0`. With `--cluster PATH` it is the image of
deploy/Containerfile.cluster, with the binary `throng-cluster` too.

It has one layer: the binaries, the libraries that `ldd` lists for them, the certificates of this machine (`--certificates`), and
/tmp. User, variables and entrypoint are those of the Containerfile. The C library is that of this machine, so build where the binary
was built. The same inputs give the same bytes; `SOURCE_DATE_EPOCH` is the time of everything in it (0 by default).
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def last_stage(containerfile):
    """The instructions of the last stage, each word with its values."""
    stage = {}
    for line in containerfile.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stage = {}
        if word.isupper():
            stage.setdefault(word, []).append(rest)
    return stage


def libraries(binary):
    """The libraries that a binary is linked to, by the names under which it looks for them."""
    listed = subprocess.run(["ldd", binary], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def contents(throng, cluster, certificates):
    """The files of the image: name to mode and place."""
    files = {"usr/bin/throng": (0o755, throng), CERTIFICATES[1:]: (0o644, certificates)}
    if cluster:
        files["usr/bin/throng-cluster"] = (0o755, cluster)
    for binary in filter(None, [throng, cluster]):
        files.update({name[1:]: (0o755, Path(name).resolve()) for name in libraries(binary)})
    return files


def entry(name, epoch, kind=tarfile.REGTYPE, mode=0o644, size=0):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime, info.size = kind, mode, epoch, size
    return info


def write_layer(file, files, level, epoch):
    """Writes the layer. Returns the digest of its tar file before compression."""
    plain = hashlib.sha256()

    class Both(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            plain.update(data)
            return packed.write(data)

    folders = {str(folder): 0o755 for name in files for folder in list(Path(name).parents)[:-1]} | {"tmp": 0o1777}
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0, compresslevel=level) as packed:
        with tarfile.open(fileobj=Both(), mode="w|", format=tarfile.USTAR_FORMAT) as tar:
            for name, mode in sorted(folders.items()):
                tar.addfile(entry(name, epoch, tarfile.DIRTYPE, mode))
            for name, (mode, place) in sorted(files.items()):
                with open(place, "rb") as content:
                    tar.addfile(entry(name, epoch, mode=mode, size=os.path.getsize(place)), content)
    return plain.hexdigest()


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def image(arguments, version, epoch, folder):
    """Writes the blobs of the image to a folder. Returns the descriptor of its manifest."""
    stage = last_stage(ROOT / ("deploy/Containerfile.cluster" if arguments.cluster else "deploy/Containerfile"))
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)

    def put(kind, document):
        text = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(text).hexdigest()
        (blobs / digest).write_bytes(text)
        return {"mediaType": f"application/vnd.oci.image.{kind}.v1+json", "digest": f"sha256:{digest}", "size": len(text)}

    layer = folder / "layer"
    with open(layer, "wb") as file:
        files = contents(arguments.throng, arguments.cluster, arguments.certificates)
        plain = write_layer(file, files, arguments.level, epoch)
    digest, size = digest_of(layer), os.path.getsize(layer)
    layer.rename(blobs / digest)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    config = put("config", {
        "architecture": MACHINES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "created": created,
        "config": {
            "User": stage["USER"][0],
            "Env": stage["ENV"],
            "Entrypoint": json.loads(stage["ENTRYPOINT"][0]),
            "Cmd": json.loads(stage["CMD"][0]),
            "Labels": {"org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0"},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{plain}"]},
        "history": [{"created": created, "created_by": "deploy/packages/image.py"}],
    })
    packed = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": f"sha256:{digest}", "size": size}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json"}
    return put("manifest", manifest | {"config": config, "layers": [packed]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throng", required=True, type=Path, help="the binary, built with the profile dist")
    parser.add_argument("--cluster", type=Path, help="the binary throng-cluster, from a build with the feature cluster")
    parser.add_argument("--certificates", type=Path, default=Path(CERTIFICATES), help="authorities of the web, as PEM")
    parser.add_argument("--level", type=int, default=9, help="level of compression, 0 to 9 [default: 9]")
    parser.add_argument("--out", required=True, type=Path, help="the file to write")
    arguments = parser.parse_args()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    name = "throng-cluster" if arguments.cluster else "throng"
    folder = Path(tempfile.mkdtemp(dir=arguments.out.resolve().parent, prefix=".image-"))
    try:
        manifest = image(arguments, version, epoch, folder)
        manifest["annotations"] = {"org.opencontainers.image.ref.name": f"{name}:{version}"}
        (folder / "index.json").write_text(json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest],
        }))
        (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        with tarfile.open(arguments.out, "w", format=tarfile.USTAR_FORMAT) as tar:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                with open(path, "rb") as content:
                    tar.addfile(entry(str(path.relative_to(folder)), epoch, size=os.path.getsize(path)), content)
    finally:
        shutil.rmtree(folder)
    print(f"{name}:{version} {manifest['digest']} {os.path.getsize(arguments.out)} bytes")


if __name__ == "__main__":
    main()
