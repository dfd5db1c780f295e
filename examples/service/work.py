"""What the service sells: translations at once, and generations that take a while.

A payment is for an input. The same `Idempotency-Key` gets the same answer again, and it is not paid for again.
"""

import hashlib
import json
import threading
from dataclasses import dataclass, field

from trouble import dice


class Refused(Exception):
    """A request that is answered by a status and the reason, and maybe by when to come again."""

    def __init__(self, status, reason, after=None):
        super().__init__(reason)
        self.status = status
        self.after = after


def digest(*what):
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def item(text):
    """One of several texts, which may be an object with the text in it."""
    return text.get("text") if isinstance(text, dict) else text


def text_of(body, name):
    text = body.get(name)
    if not isinstance(text, str) or not text.strip():
        raise Refused(422, f"`{name}` is a text, and not empty")
    if "forbidden" in text:
        raise Refused(422, "the text asks for something that is forbidden here")
    return text


def inputs_of(path, body):
    """What a request asks for: a digest of each text to translate, or of the one thing to generate."""
    if path != "/translate":
        return [digest(path, body)]
    texts = body.get("text") if isinstance(body.get("text"), list) else [body.get("text")]
    return [digest(path, item(text), body.get("to")) for text in texts]


def translate(body):
    """Turns the letters of every word around, so that everyone sees that it was done."""
    language, text = text_of(body, "to"), body.get("text")

    def turned(text):
        text = text_of({"text": item(text)}, "text")
        return {"translation": " ".join(word[::-1] for word in text.split()) + f" ({language})"}

    return {"translations": [turned(one) for one in text]} if isinstance(text, list) else turned(text)


@dataclass
class Desk:
    """Takes orders. `pending` is how many seconds a generation takes, half as long or half as long again."""

    seed: int
    pending: float
    clock: object
    forgetful: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    orders: dict = field(default_factory=dict)
    jobs: dict = field(default_factory=dict)

    def order(self, path, body, key):
        """Answers a request that is paid for. Returns the answer, and whether it was paid now."""
        inputs = inputs_of(path, body)
        with self.lock:
            if key and not self.forgetful and key in self.orders:
                before, answer = self.orders[key]
                if before != inputs:
                    raise Refused(422, "this Idempotency-Key was sent with another input")
                return answer, False
            answer = translate(body) if path == "/translate" else self.submit(body, inputs[0])
            if key:
                self.orders[key] = (inputs, answer)
            return answer, True

    def submit(self, body, what):
        prompt = text_of(body, "prompt")
        number = f"g{len(self.jobs) + 1}-{what}"
        takes = self.pending * dice(self.seed, "pending", what).uniform(0.5, 1.5)
        self.jobs[number] = (self.clock() + takes, prompt)
        return {"id": number}

    def state(self, number):
        """What has become of a generation so far."""
        if number not in self.jobs:
            raise Refused(404, "there is no such generation")
        ready_at, prompt = self.jobs[number]
        if self.clock() < ready_at:
            return {"id": number, "state": "pending"}
        if "impossible" in prompt:
            return {"id": number, "state": "failed", "error": "the model gave up on this prompt"}
        url = f"https://pictures.example/{number}.png"
        return {"id": number, "state": "done", "result": {"url": url, "words": len(prompt.split())}}
