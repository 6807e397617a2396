"""A small object store with the interface of S3, in memory: enough to read a table and to publish a release.

It is answered by threads of the process that uses the package, which works only as long as that does not hold their lock.
"""

from __future__ import annotations

import hashlib
import re
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

_AT = "2026-01-01T00:00:00.000Z"


@contextmanager
def store() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Serves a store. Returns its address, and its objects by bucket and key."""
    objects: dict[str, bytes] = {}
    uploads: dict[str, dict[int, bytes]] = {}
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def place(self) -> tuple[str, dict[str, str]]:
            url = urllib.parse.urlsplit(self.path)
            asked = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
            return urllib.parse.unquote(url.path).lstrip("/"), asked

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def listed(self, bucket: str, asked: dict[str, str]) -> bytes:
            prefix, delimiter, after = (asked.get(name, "") for name in ("prefix", "delimiter", "start-after"))
            keys, folders = [], set()
            for name in sorted(objects):
                key = name.removeprefix(f"{bucket}/")
                if key == name or not key.startswith(prefix) or key <= after:
                    continue
                rest = key[len(prefix) :]
                if delimiter and delimiter in rest:
                    folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
                else:
                    keys.append(key)
            entries = "".join(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{_AT}</LastModified><ETag>{tag(objects[f'{bucket}/{key}'])}</ETag>"
                f"<Size>{len(objects[f'{bucket}/{key}'])}</Size></Contents>"
                for key in keys
            )
            entries += "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(folders))
            return f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()

        def do_GET(self) -> None:
            name, asked = self.place()
            with lock:
                if "list-type" in asked:
                    return self.answer(200, self.listed(name.partition("/")[0], asked))
                found = objects.get(name)
            if found is None:
                return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            headers = {"ETag": tag(found), "Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
            if part := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
                first = int(part[1]) if part[1] else len(found) - int(part[2])
                last = min(len(found) - 1, int(part[2])) if part[1] and part[2] else len(found) - 1
                return self.answer(206, found[first : last + 1], Content_Range=f"bytes {first}-{last}/{len(found)}", **headers)
            return self.answer(200, found, **headers)

        do_HEAD = do_GET

        def do_PUT(self) -> None:
            (name, asked), given = self.place(), self.body()
            with lock:
                if "uploadId" in asked:
                    uploads[asked["uploadId"]][int(asked["partNumber"])] = given
                    return self.answer(200, ETag=tag(given))
                known = objects.get(name)
                is_wanted = self.headers.get("If-Match")
                if (self.headers.get("If-None-Match") and known is not None) or (is_wanted and (known is None or tag(known) != is_wanted)):
                    return self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
                copied = urllib.parse.unquote(self.headers.get("x-amz-copy-source", "")).lstrip("/")
                objects[name] = objects[copied] if copied else given
                made = tag(objects[name])
            body = f"<CopyObjectResult><ETag>{made}</ETag><LastModified>{_AT}</LastModified></CopyObjectResult>" if copied else ""
            return self.answer(200, body.encode(), ETag=made)

        def do_POST(self) -> None:
            (name, asked), given = self.place(), self.body()
            with lock:
                if "delete" in asked:
                    keys = re.findall(r"<Key>(.*?)</Key>", given.decode())
                    for key in keys:
                        objects.pop(f"{name.partition('/')[0]}/{key}", None)
                    deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
                    return self.answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())
                if "uploads" in asked:
                    uploads[number := str(len(uploads))] = {}
                    body = f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
                    return self.answer(200, body.encode())
                parts = uploads.pop(asked["uploadId"])
                objects[name] = b"".join(parts[number] for number in sorted(parts))
                body = f"<CompleteMultipartUploadResult><ETag>{tag(objects[name])}</ETag></CompleteMultipartUploadResult>"
                return self.answer(200, body.encode())

        def do_DELETE(self) -> None:
            with lock:
                objects.pop(self.place()[0], None)
            return self.answer(204)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", objects
    finally:
        server.shutdown()
        server.server_close()


def tag(content: bytes) -> str:
    """The tag by which a version of an object is recognized."""
    return f'"{hashlib.md5(content).hexdigest()}"'
