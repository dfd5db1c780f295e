"""What a step says of a row or of a batch besides values."""

from typing import Optional


class Reject(Exception):
    """The row cannot be written, and the other rows go on.

    A block step returns it in the place of the row; a step of one row returns or raises it. The pipeline's `on_row_error`
    decides whether the run fails or the row becomes a dead letter with this reason.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = str(reason)


class Retry(Exception):
    """The batch cannot be written now. It is tried again, three times at most, not before `after` seconds have passed."""

    def __init__(self, after: Optional[float] = None, reason: str = "asks for another attempt") -> None:
        super().__init__(reason)
        if after is not None and not after >= 0:
            raise ValueError("`after` is a number of seconds, 0 or more")
        self.after = None if after is None else min(float(after), 86_400.0)
        self.reason = str(reason)


class Fatal(Exception):
    """The batch can never be written: the run fails at once."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = str(reason)
