"""Starts the host from a worker: `python3 -c` gets this text, and the modules of the package come in the first frame."""

import sys

# Nothing is imported from the directory in which the worker happens to be.
sys.path[:] = [path for path in sys.path if path]

import importlib.abc
import importlib.util
import json
import os
import select
import signal
import struct


class _Carried(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=name == "vitrina")

    def exec_module(self, module):
        source = self.sources[module.__name__]
        exec(compile(source, "<vitrina>/" + module.__name__, "exec"), module.__dict__)


def _end_with_worker():
    """Ends the group when the worker is gone, also while a step keeps the interpreter's lock: a process of its own waits for that.

    It is nobody's child, so that no step waits for it, and reads nothing: the other end of the pipe is the worker's alone.
    """
    if os.getpgrp() != os.getpid():
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        if os.fork() == 0:
            os.close(1)
            os.close(2)
            gone = select.poll()
            gone.register(0, 0)
            gone.poll()
            os.killpg(0, signal.SIGKILL)
    finally:
        os._exit(0)


def _boot():
    _end_with_worker()
    # Before anything of the operator's runs: what is printed must not get between the frames.
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True, encoding="utf-8", errors="backslashreplace")
    head = requests.read(8)
    (length,) = struct.unpack(">I", head[4:])
    hello = json.loads(requests.read(length))
    sys.meta_path.insert(0, _Carried(hello["modules"]))
    from vitrina._host import serve

    serve(requests, replies, hello)


_boot()
