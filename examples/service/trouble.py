"""Decides how the service misbehaves and whether a client asks too fast.

Nothing is left to chance: a decision depends on the seed, the input and how often this input was sent before. So a run repeats,
in whatever order its requests arrive.
"""

import math
import random
import threading

WORDS = ("slow", "reset", "rubbish")


def parse_spec(text):
    """`500=0.1,slow=0.02` as a dict: each trouble, a status or a word, and how often it happens."""
    spec = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        kind, _, share = part.partition("=")
        if kind not in WORDS and not (kind.isdigit() and 400 <= int(kind) <= 599):
            raise ValueError(f"{kind} is no trouble: take a status of 400 to 599, or one of {', '.join(WORDS)}")
        spec[kind] = float(share)
    if any(share < 0 for share in spec.values()) or sum(spec.values()) > 1:
        raise ValueError(f"the shares of {text} are from 0 to 1, together too")
    return spec


def parse_rate(text):
    """`30/s` as 30.0."""
    number, _, unit = text.partition("/")
    if unit not in ("", "s"):
        raise ValueError(f"{text} is no rate: write 30/s")
    return float(number)


def dice(seed, *what):
    """A random generator that is the same for the same seed and things."""
    return random.Random("|".join(map(str, (seed, *what))))


def choose(spec, rng):
    """The trouble that happens this time, or None."""
    left = rng.random()
    for kind, share in sorted(spec.items()):
        left -= share
        if left < 0:
            return kind
    return None


class Buckets:
    """A token bucket for each key: `rate` requests a second, and up to `burst` at once. A rate of 0 has no limit."""

    def __init__(self, rate, burst, rates, clock):
        self.rate, self.burst, self.rates, self.clock = rate, burst, rates, clock
        self.filled = {}
        self.lock = threading.Lock()

    def take(self, key):
        """Takes a token. Returns 0, or after how many whole seconds there will be one."""
        rate = self.rates.get(key, self.rate)
        if not rate:
            return 0
        with self.lock:
            now = self.clock()
            tokens, before = self.filled.get(key, (self.burst, now))
            tokens = min(self.burst, tokens + (now - before) * rate)
            enough = tokens >= 1
            self.filled[key] = (tokens - enough, now)
        return 0 if enough else max(1, math.ceil((1 - tokens) / rate))
