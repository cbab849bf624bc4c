"""A proxy before an HTTP server that fails as networks and servers do, on loopback."""

import threading
import time
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Mode = Literal["well", "closed", "silent", "error"]
"""It forwards requests, closes connections, does not answer, or answers with 500."""
NOT_FORWARDED = ("connection", "transfer-encoding", "content-length", "host", "keep-alive")
SILENT_SECONDS = 5.0
"""After which a connection without an answer is closed."""


class FaultyProxy:
    """A proxy that forwards requests until its `mode` is changed."""

    mode: Mode = "well"

    def __init__(self, server: str) -> None:
        """Starts it.

        Args:
            server: address of the server, with its port.
        """
        self.target = urlsplit(server).netloc
        self.refused = 0
        """Requests that were not forwarded."""
        members = {f"do_{name}": _Handler.answer for name in METHODS}
        handler = type("Handler", (_Handler,), {**members, "proxy": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Ends it."""
        self._http.shutdown()
        self._http.server_close()


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")


class _Handler(BaseHTTPRequestHandler):
    proxy: FaultyProxy

    def answer(self) -> None:
        """Forwards a request, or fails as the proxy's mode says."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        mode, self.close_connection = self.proxy.mode, True
        if mode != "well":
            self.proxy.refused += 1
        if mode == "silent":
            time.sleep(SILENT_SECONDS)
        elif mode == "error":
            self.send_error(500)
        elif mode == "well":
            try:
                self._forward(body)
            except (OSError, HTTPException):
                self.send_error(502)

    def _forward(self, body: bytes) -> None:
        server = HTTPConnection(self.proxy.target, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in NOT_FORWARDED}
        server.request(self.command, self.path, body, headers)
        answer = server.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in NOT_FORWARDED:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        server.close()

    def log_message(self, format: str, *args: object) -> None:
        """Keeps the terminal for the benchmark."""
