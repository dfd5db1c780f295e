#!/usr/bin/env python3
"""A text service on this machine that misbehaves on request, and writes down who asked for what.

    python3 misbehave.py --port 9100 --log calls.jsonl --misbehave 500=0.05,slow=0.02

    POST /translate     {"text": "…" or ["…", …] or [{"text": "…"}, …], "to": "de"}: the translation, at once
    POST /generate      {"prompt": "…"}: 202 {"id"}; a prompt with `flaky` is answered 503 twice before it is taken
    GET /generate/{id}  "state": pending, then done with a result, or failed with an error: one with `impossible` always fails
    PUT /behave         a text like that of --misbehave, which holds from now on; an empty one ends all trouble
    GET /health         200

A text with `forbidden` is refused (422). A header `Misbehave` or a parameter `?misbehave=` holds for one request.
"""

import argparse
import json
import sys
import threading
import time
from collections import Counter
from http.server import ThreadingHTTPServer

from handler import Handler
from trouble import Buckets, parse_rate, parse_spec
from work import Desk


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--port", type=int, default=0, help="0 takes a free one")
    add("--log", required=True, help="a file that gets one JSON line for each request")
    add("--seed", type=int, default=1, help="with another seed other requests are in trouble")
    add("--rate", type=parse_rate, default=0, help="requests a second for each key, for instance 20/s; 0 means any")
    add("--burst", type=int, default=5, help="and how many of them at once")
    add("--keys", default="", help="the keys that are accepted, k1,k2; without them nobody needs one")
    add("--bad-key", action="append", default=[], metavar="KEY=STATUS", help="a key that always gets this answer")
    add("--limited-key", action="append", default=[], metavar="KEY=N/s", help="a key with a rate of its own")
    add("--misbehave", type=parse_spec, default={}, help="429=0.05,500=0.05,402=0.01,slow=0.02,reset=0.02,rubbish=0.02")
    add("--slow-seconds", type=float, default=2, help="how long a slow answer takes")
    add("--pending", type=float, default=2, help="about how many seconds a generation takes")
    add("--forgetful", action="store_true", help="take no notice of Idempotency-Key")
    return parser


def by_key(pairs):
    return {key: value for key, _, value in (pair.rpartition("=") for pair in pairs)}


class Service(ThreadingHTTPServer):
    """The service, and everything that its threads share."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, options):
        super().__init__(("127.0.0.1", options.port), Handler)
        self.options = options
        self.spec = options.misbehave
        self.keys = set(filter(None, options.keys.split(",")))
        self.bad_keys = {key: int(status) for key, status in by_key(options.bad_key).items()}
        rates = {key: parse_rate(rate) for key, rate in by_key(options.limited_key).items()}
        self.buckets = Buckets(options.rate, options.burst, rates, time.monotonic)
        self.desk = Desk(options.seed, options.pending, time.monotonic, options.forgetful)
        self.seen = Counter()
        self.lock = threading.Lock()
        self.log = open(options.log, "a", encoding="utf-8", buffering=1)

    def handle_error(self, request, client_address):
        """Reports our own mistakes. A client that was killed is none of them."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def count(self, *what):
        """How often this was asked, this time included."""
        with self.lock:
            self.seen[what] += 1
            return self.seen[what]

    def note(self, line):
        with self.lock:
            self.log.write(json.dumps(line) + "\n")


def main():
    service = Service(arguments().parse_args())
    print(f"listening on 127.0.0.1:{service.server_port}", flush=True)
    try:
        service.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
