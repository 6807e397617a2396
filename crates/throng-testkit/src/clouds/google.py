"""Serves the part of the XML API of Google Cloud Storage that the client of object stores uses: that of moto's S3, but for the names
of a few headers. Prints the port, and exits when standard input is closed. There is a bucket `people`."""

import hashlib
import logging
import os
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
from werkzeug.test import Client

AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"

# Tags of objects by generation; here objects of the same content have the same generation.
tags = {}
s3 = DomainDispatcherApplication(create_backend_app)


def google(environ, start_response):
    environ["HTTP_AUTHORIZATION"] = AUTHORIZATION
    expected = environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None)
    # Generation 0 is an object that does not exist.
    if expected == "0":
        environ["HTTP_IF_NONE_MATCH"] = "*"
    elif expected:
        environ["HTTP_IF_MATCH"] = tags.get(expected, '"never"')
    if "HTTP_X_GOOG_COPY_SOURCE" in environ:
        environ["HTTP_X_AMZ_COPY_SOURCE"] = environ.pop("HTTP_X_GOOG_COPY_SOURCE")

    def start(status, headers, *rest):
        for tag in [value for name, value in headers if name.lower() == "etag"][:1]:
            generation = str(int(hashlib.sha256(tag.encode()).hexdigest()[:12], 16))
            tags[generation] = tag
            headers.append(("x-goog-generation", generation))
        return start_response(status, headers, *rest)

    return s3(environ, start)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = make_server("127.0.0.1", 0, google, threaded=True)
assert Client(google).put("/people").status_code == 200
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print(server.server_port, flush=True)
server.serve_forever()
