"""One request: limit, key, trouble, work. It is in the log before it is answered."""

import json
import socket
import struct
import time
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from trouble import choose, dice, parse_spec
from work import Refused, inputs_of

# More than a client should be ready to read.
TOO_LONG = 3 << 20


def parsed(raw):
    try:
        body = json.loads(raw) if raw else {}
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Refused(400, "the body is no JSON object")
    return body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self):
        arrived, url = time.monotonic(), urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path == "/health":
            return self.send(200, {"status": "ok"})
        if (self.command, url.path) == ("PUT", "/behave"):
            return self.behave(raw.decode())
        line = {
            "at": arrived,
            "method": self.command,
            "path": "/generate/{id}" if url.path.startswith("/generate/") else url.path,
            "key": self.key(),
            "idempotency_key": self.headers.get("Idempotency-Key"),
            "inputs": [],
            "status": 200,
            "paid": False,
            "trouble": None,
        }
        try:
            self.answer(line, url, raw)
        except Refused as refused:
            self.reply(line, refused.status, {"error": str(refused)}, refused.after)

    do_POST = do_PUT = do_GET

    def log_message(self, *_):
        """The service writes its own log."""

    def key(self):
        return (self.headers.get("Authorization") or "").rpartition(" ")[2] or self.headers.get("X-Api-Key") or ""

    def behave(self, text):
        try:
            self.server.spec = parse_spec(text)
        except ValueError as wrong:
            return self.send(400, {"error": str(wrong)})
        return self.send(200, {"misbehave": self.server.spec})

    def answer(self, line, url, raw):
        self.check_client(line["key"])
        body = parsed(raw)
        what = [url.path] if line["path"] == "/generate/{id}" else inputs_of(line["path"], body)
        if line["method"] == "POST":
            line["inputs"] = what
        times = self.server.count(line["path"], *what)
        if "flaky" in str(body.get("prompt")) and times < 3:
            raise Refused(503, "try again later")
        rng = dice(self.server.options.seed, line["path"], *what, times)
        line["trouble"] = trouble = choose(self.spec(url), rng)
        if trouble and trouble.isdigit():
            raise Refused(int(trouble), "trouble was asked for", after=1 if trouble == "429" else None)
        if trouble == "reset" and rng.random() < 0.5:
            return self.reset(line)
        status, answer, line["paid"] = self.work(line, url, body)
        return self.deliver(line, status, answer, rng)

    def check_client(self, key):
        service = self.server
        wait = service.buckets.take(key)
        if wait:
            raise Refused(429, "too many requests", after=wait)
        if key in service.bad_keys:
            raise Refused(service.bad_keys[key], "not with this key")
        if service.keys and key not in service.keys:
            raise Refused(401, "this key is unknown")

    def spec(self, url):
        text = self.headers.get("Misbehave") or parse_qs(url.query).get("misbehave", [""])[0]
        try:
            return parse_spec(text) if text else self.server.spec
        except ValueError as wrong:
            raise Refused(400, str(wrong)) from None

    def work(self, line, url, body):
        """The status, the answer, and whether it was paid for."""
        asked = (line["method"], line["path"])
        if asked == ("GET", "/generate/{id}"):
            return 200, self.server.desk.state(url.path.rpartition("/")[2]), False
        if asked not in (("POST", "/translate"), ("POST", "/generate")):
            raise Refused(404, "there is nothing here")
        answer, paid = self.server.desk.order(line["path"], body, line["idempotency_key"])
        return (202 if line["path"] == "/generate" else 200), answer, paid

    def deliver(self, line, status, answer, rng):
        """Sends the answer, or what becomes of it on the way."""
        if line["trouble"] == "reset":
            return self.reset(line)
        if line["trouble"] == "rubbish":
            return self.rubbish(line, status, answer, rng)
        if line["trouble"] == "slow":
            line["status"] = status
            self.server.note(line)
            time.sleep(self.server.options.slow_seconds)
            return self.send(status, answer)
        return self.reply(line, status, answer)

    def reply(self, line, status, answer, after=None):
        line["status"] = status
        self.server.note(line)
        self.send(status, answer, {"Retry-After": str(after)} if after else {})

    def rubbish(self, line, status, answer, rng):
        """Answers that no program can read: a page, half of the JSON, or no end of it."""
        line["status"] = status
        self.server.note(line)
        text = json.dumps(answer)
        page = "<html><body><h1>Something went wrong</h1></body></html>"
        body, kind = rng.choice([
            (page, "text/html"), (text[: len(text) // 2], "application/json"), (" " * TOO_LONG + text, "application/json")
        ])
        self.send_bytes(status, body.encode(), kind, {})

    def reset(self, line):
        """Ends the connection as a crashed machine would: the client sees a reset, and no answer."""
        line["status"] = None
        self.server.note(line)
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()

    def send(self, status, answer, headers=None):
        self.send_bytes(status, json.dumps(answer).encode(), "application/json", headers or {})

    def send_bytes(self, status, body, kind, headers):
        try:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            # The client has gone: it was killed, or did not want to wait.
            self.close_connection = True
