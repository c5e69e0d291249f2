"""A search endpoint on this machine, for tests: it answers what it is told to, and remembers what it was asked."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace


@contextmanager
def search_server(answer, *, status=200, headers=None):
    """``answer`` is sent as JSON, or as it is if it is bytes; a function is called with the query of the body."""
    found = SimpleNamespace(asked=[], url="")

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(content) if content else None
            found.asked.append(
                {"path": self.path, "method": self.command, "headers": dict(self.headers), "body": body}
            )
            told = answer(found.asked[-1]) if callable(answer) else answer
            sent = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_PUT = answer  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
