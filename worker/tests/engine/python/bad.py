"""Steps that do what no step should. Those with `once` do it where the file of that name is not there yet."""

import ctypes
import os
import subprocess
import sys
import time

import vitrina

FILE = {"type": "object", "properties": {"file": {"type": "string"}}}


def is_first(options):
    """Whether nothing bad was done so far. Leaves this process's number for the test."""
    file = options.get("file")
    if file is None:
        return True
    if os.path.exists(file):
        return False
    with open(file + ".new", "w") as made:
        made.write(str(os.getpid()))
    os.rename(file + ".new", file)
    return True


def capitals(rows):
    for row in rows:
        row["name"] = row["name"].upper()
    return rows


def bad(function):
    return vitrina.step(columns={"name": "text"}, options=FILE, name=function.__name__)(function)


@bad
def killed(rows, options):
    if any(row["id"] == 15 for row in rows) and is_first(options):
        os.kill(os.getpid(), 9)
    return capitals(rows)


@bad
def hangs(rows, options):
    if any(row["id"] == 15 for row in rows) and is_first(options):
        time.sleep(600)
    return capitals(rows)


@bad
def leaks(rows, options):
    if is_first(options):
        kept = []
        while True:
            kept.append(bytearray(16 * 1024 * 1024))
    return capitals(rows)


@bad
def exits(rows, options):
    if is_first(options):
        os._exit(3)
    return capitals(rows)


@bad
def prints(rows, options):
    for _ in range(1000):
        print("rubbish", "x" * 500)
    os.write(1, b"VTR1\x00\x00\x00\x02{}\xff\xfe no line end")
    os.system("echo from another program")
    return capitals(rows)


def note_child(options):
    """Starts a program and leaves the numbers of this process and of it for the test."""
    child = subprocess.Popen(["sleep", "600"])
    file = options["file"]
    with open(file + ".new", "w") as made:
        made.write(f"{os.getpid()} {child.pid}")
    os.rename(file + ".new", file)


@bad
def leaves_child(rows, options):
    if not os.path.exists(options["file"]):
        note_child(options)
    return capitals(rows)


@bad
def keeps_lock(rows, options):
    """Sleeps without letting any other thread of Python work"""
    if not os.path.exists(options["file"]):
        note_child(options)
        ctypes.PyDLL(None).sleep(600)
    return capitals(rows)


@bad
def forks(rows, options):
    """As does who forgets to end the process that was forked, which is faster"""
    if is_first(options):
        child = os.fork()
        if child == 0:
            return [{**row, "name": "WRONG"} for row in rows]
        until = time.monotonic() + 2
        while os.waitpid(child, os.WNOHANG) == (0, 0) and time.monotonic() < until:
            time.sleep(0.01)
    return capitals(rows)


def host():
    """The frame of the package that writes answers."""
    frame = sys._getframe()
    while "replies" not in frame.f_locals:
        frame = frame.f_back
    return frame


@bad
def answers_before(rows, options):
    """An answer that nobody asked for, and then its own"""
    if is_first(options):
        frame = host()
        rubbish = ",".join(['["WRONG"]'] * len(rows))
        frame.f_globals["_write"](frame.f_locals["replies"], f'{{"id":0,"rows":[{rubbish}]}}')
    return capitals(rows)


@bad
def answers_twice(rows, options):
    """The same answer again, which stays in the pipe"""
    if is_first(options):
        package = host().f_globals
        write = package["_write"]

        def twice(replies, text):
            write(replies, text)
            write(replies, text)

        package["_write"] = twice
    return capitals(rows)


@bad
def rests(rows, options):
    if is_first(options):
        raise vitrina.Retry(2)
    return capitals(rows)


@bad
def fails(rows, options):
    raise vitrina.Fatal(f"never {rows[0]['name']}")


@bad
def raises(rows, options):
    return rows[0]["no such column"]


@bad
def too_many(rows, options):
    return rows + rows


@bad
def too_few(rows, options):
    return rows[1:]


@bad
def reverses(rows, options):
    return rows[::-1]


@bad
def changes_key(rows, options):
    return [{**row, "id": row["id"] + 1} for row in rows]


@bad
def leaves_out_key(rows, options):
    return [{"name": row["name"].upper()} for row in sorted(rows, key=lambda row: row["name"])]


@bad
def adds_column(rows, options):
    return [{**row, "colour": "red"} for row in rows]


@bad
def returns_nothing(rows, options):
    capitals(rows)


@vitrina.step(columns={"name": "text"}, per_row=True)
def picky(row):
    if row["id"] % 10 == 3:
        raise ValueError(f"{row['name']} is not wanted")
    if row["id"] % 10 == 5:
        raise vitrina.Reject(f"{row['name']} is refused")
    if row["id"] % 10 == 7:
        return {"name": 7}
    return {"name": row["name"].upper()}


@bad
def naps(rows, options):
    time.sleep(1.1)
    return capitals(rows)
