"""The process that executes steps for a worker.

A frame is four bytes of magic, four of length (big-endian) and a JSON text, over the pipes that were standard input and output
when the process started. What a step prints goes to standard error, which the worker takes into its log.
"""

import hashlib
import importlib
import json
import logging
import os
import queue
import signal
import struct
import sys
import threading
from typing import Any, BinaryIO, Dict, List, Optional

from . import _step
from ._block import describe, failure, parse_request, place, run_block

MAGIC = b"VTR1"
#: What the process exits with when its memory is used up.
OUT_OF_MEMORY = 77
#: Directories that hold no code of the operator's.
_SKIPPED = ("__pycache__", "site-packages", "node_modules")


def serve(requests: BinaryIO, replies: BinaryIO, hello: Dict[str, Any]) -> None:
    """Imports the steps, says which there are, and executes blocks until the worker is gone."""
    log, own = _Log(hello["token"]), os.getpid()
    _bound_memory(hello["memory_bytes"])
    if hasattr(sys, "set_int_max_str_digits"):
        # A `numeric` has up to 131,072 digits.
        sys.set_int_max_str_digits(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, handlers=[log])
    frames: "queue.SimpleQueue[bytes]" = queue.SimpleQueue()
    threading.Thread(target=_read_all, args=(requests, frames), daemon=True).start()
    loaded = json.dumps(_load(hello["path"]))
    _end_fork(own, log)
    _write(replies, loaded)
    while True:
        payload = frames.get()
        answer = _execute(payload, log)
        _end_fork(own, log)
        block = _id_of(payload)
        log.end_of(block)
        _write(replies, f'{{"id":{block},{answer[1:]}')


def _end_fork(own: int, log: "_Log") -> None:
    """Ends a process that a step or a module has forked and that came back from it: only the process itself answers."""
    if os.getpid() != own:
        log.error("a process that was forked came back from the operator's code: it was ended and has changed nothing")
        os._exit(1)


def _id_of(payload: bytes) -> int:
    """The number that a request begins with."""
    return int(payload[: payload.index(b",")].split(b":")[1])


def _execute(payload: bytes, log: "_Log") -> str:
    try:
        request = parse_request(payload)
        if "version" in request:
            return json.dumps({"version": _version(request["version"])})
        return run_block(_step.registered[request["step"]], request, log.error)
    except BaseException as error:
        answer = failure(error)
        if answer is None:
            log.flush()
            os._exit(OUT_OF_MEMORY)
        log.error(place(error))
        return json.dumps({"error": answer})


def read_frame(stream: BinaryIO) -> Optional[bytes]:
    head = stream.read(8)
    if len(head) < 8 or head[:4] != MAGIC:
        return None
    (length,) = struct.unpack(">I", head[4:])
    payload = stream.read(length)
    return payload if len(payload) == length else None


def _read_all(requests: BinaryIO, frames: "queue.SimpleQueue[bytes]") -> None:
    """Reads ahead, so that the worker's end is noticed while a step executes."""
    try:
        while True:
            frame = read_frame(requests)
            if frame is None:
                break
            frames.put(frame)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    finally:
        if os.getpgrp() == os.getpid():
            # With what the steps have started.
            os.killpg(0, signal.SIGKILL)
        os._exit(0)


def _write(replies: BinaryIO, text: str) -> None:
    payload = text.encode()
    replies.write(MAGIC + struct.pack(">I", len(payload)) + payload)
    replies.flush()


def _bound_memory(most: Optional[int]) -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if most is not None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


# --- The operator's modules ---


def _load(path: str) -> Dict[str, Any]:
    """Imports the modules of a directory. One that fails is told, and the others are there all the same."""
    version = _version(path)
    sys.path.insert(0, path)
    problems: List[Dict[str, str]] = []
    for name in _modules(path):
        before = dict(_step.registered)
        try:
            importlib.import_module(name)
        except BaseException as error:
            _step.registered.clear()
            _step.registered.update(before)
            problems.append({"module": name, "error": describe(error), "place": place(error)})
    steps = [step.declaration() for step in _step.registered.values()]
    return {"version": version, "steps": steps, "problems": problems}


def _modules(path: str) -> List[str]:
    found = []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        name, ending = os.path.splitext(entry.name)
        is_module = ending == ".py" if entry.is_file() else os.path.isfile(os.path.join(entry.path, "__init__.py"))
        if is_module and name.isidentifier() and not name.startswith("_") and name != "vitrina":
            found.append(name)
    return found


def _version(path: str) -> str:
    """Tells the code of the directory from any other code: modules use each other, so it is one for all steps."""
    digest = hashlib.sha256()
    seen = set()
    for directory, inner, files in os.walk(path, followlinks=True):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in _SKIPPED)
        real = os.path.realpath(directory)
        if "pyvenv.cfg" in files or real in seen:
            inner.clear()
            continue
        seen.add(real)
        for name in sorted(files):
            file = os.path.join(directory, name)
            # Editors leave hidden files and links that lead to nothing.
            if name.endswith(".py") and not name.startswith(".") and os.path.isfile(file):
                with open(file, "rb") as code:
                    content = code.read()
                head = f"{os.path.relpath(file, path)}\0{len(content)}\0"
                digest.update(head.encode("utf-8", "surrogateescape") + content)
    return digest.hexdigest()[:16]


# --- The log ---


class _Log(logging.Handler):
    """Lines for the worker's log, with their level. The token tells them from what a step prints."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._line(record.levelname.lower(), record.getMessage())
        except Exception:
            self._line("error", "a line could not be formatted")

    def error(self, text: str) -> None:
        self._line("error", text)

    def end_of(self, block: int) -> None:
        self.flush()
        self._line("end", str(block))

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass

    def _line(self, kind: str, text: str) -> None:
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        line = f"\x1e{self.token}{kind}\x1f{escaped}\n".encode("utf-8", "backslashreplace")
        while line:
            line = line[os.write(2, line) :]
