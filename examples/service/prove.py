#!/usr/bin/env python3
"""Reads the log of misbehave.py and proves what a client promised: it never asked too fast, and paid for no input twice.

    python3 prove.py calls.jsonl --rate 20 --burst 5

Exits with 1 and says what is wrong, if something is. A limit of `rate` a second with a burst lets through at most rate + burst
requests in any second; `--slack 0.1` allows a tenth of the rate more, for requests that were under way for different times.
"""

import argparse
import json
import sys
from collections import Counter


def read(path):
    with open(path, encoding="utf-8") as log:
        return sorted((json.loads(line) for line in log), key=lambda line: line["at"])


def busiest_second(times):
    """How many of these times are in the second with the most of them, and when it begins."""
    most, since, first = 0, 0.0, 0
    for last, time in enumerate(times):
        while time - times[first] >= 1:
            first += 1
        if last - first + 1 > most:
            most, since = last - first + 1, times[first]
    return most, since


def payments(lines):
    """How often each input was paid for."""
    return Counter(one for line in lines if line["paid"] for one in line["inputs"])


def excess(most, since, options):
    allowed = options.rate * (1 + options.slack) + options.burst
    if options.rate and most > allowed:
        yield f"{most} requests in the second from {since:.3f}, {allowed:g} are allowed"


def repeated(paid, options):
    too_many = sum(paid.values()) - len(paid)
    if too_many > options.twice:
        worst = ", ".join(f"{one} {times} times" for one, times in paid.most_common(5) if times > 1)
        yield f"{too_many} payments for inputs that were paid before, {options.twice} are allowed: {worst}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--rate", type=float, default=0, help="requests a second; 0 means any")
    parser.add_argument("--burst", type=int, default=1, help="and how many of them at once")
    parser.add_argument("--slack", type=float, default=0, help="a share of the rate")
    parser.add_argument("--path", help="the limit holds for this path alone, for instance /generate")
    parser.add_argument("--twice", type=int, default=0, help="how many payments too many are allowed")
    return parser


def main():
    options = arguments().parse_args()
    lines = read(options.log)
    most, since = busiest_second([line["at"] for line in lines if options.path in (None, line["path"])])
    paid = payments(lines)
    found = [*excess(most, since, options), *repeated(paid, options)]
    again = sum(paid.values()) - len(paid)
    print(f"{len(lines):,} requests, at most {most} in a second; {len(paid):,} inputs paid, {again} payments too many")
    for problem in found:
        print(f"violated: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
