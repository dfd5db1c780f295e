"""For whom a step is executed."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Context:
    pipeline_id: str
    #: The run, or the report (a preview, a replay) that executes the step.
    id: str
    #: The request that the run or report was made for.
    correlation_id: str


_current: Optional[Context] = None


def context() -> Context:
    """For whom the step is executed now. Only within a step."""
    if _current is None:
        raise RuntimeError("there is a context only while a worker executes a step")
    return _current


def _enter(current: Optional[Context]) -> None:
    global _current
    _current = current
