"""Takes a block of rows through a step, and holds the step to what it declares.

What concerns one row rejects that row: an exception of a step of one row, a value of a wrong type. What concerns the block as a
whole fails the batch. Only declared columns travel back, so every other value stays as the server wrote it.
"""

import json
import linecache
import re
from decimal import Decimal
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _context
from ._outcomes import Fatal, Reject, Retry
from ._schema import with_defaults
from ._step import Step
from ._values import WrongType, decoder, encoder, quoted

#: Receives the place of an exception for the log.
Report = Callable[[str], None]


class BrokenRule(Exception):
    """The step does what no step may do. The message quotes no value."""


class Failure(Exception):
    """The batch fails, with this answer."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer


def run_block(step: Step, request: Dict[str, Any], report: Report) -> str:
    """The answer to a request: what becomes of each row, as JSON."""
    columns: List[Tuple[str, str]] = request["columns"]
    arrays_as_text = request["arrays"] == "text"
    sets = [(name, type_name, encoder(type_name, arrays_as_text)) for name, type_name in request["sets"]]
    rows = request["rows"]
    _decode(rows, columns)
    given, before = list(rows), [dict(row) for row in rows]
    options = with_defaults(step.options, json.loads(request["options"]))
    _context._enter(_context.Context(**request["context"]))
    try:
        after = (_each_row if step.per_row else _whole_block)(step, rows, options, report)
    finally:
        _context._enter(None)
    kept = [name for name, _ in columns if name not in step.columns and name not in step.removes]
    allowed = {name for name, _ in columns} | set(step.columns)
    # A step of blocks says by them which row is which.
    key = [] if step.per_row else [name for name in request.get("key", []) if name in kept]
    answers = []
    for row, own, was in zip(after, given, before):
        answers.append(_answer(row, was, (kept, [] if row is own else key), allowed, sets))
    return '{"rows":[' + ",".join(answers) + "]}"


def _decode(rows: List[Dict[str, Any]], columns: List[Tuple[str, str]]) -> None:
    for name, type_name in columns:
        decode = decoder(type_name)
        if decode is None:
            continue
        for row in rows:
            value = row.get(name)
            if value is not None:
                row[name] = decode(value)


def _each_row(step: Step, rows: List[Dict[str, Any]], options: Dict[str, Any], report: Report) -> List[Any]:
    function = step.function
    after: List[Any] = []
    reported = False
    for row in rows:
        try:
            after.append(function(row, options) if step.takes_options else function(row))
        except Reject as reject:
            after.append(reject)
        except (Retry, Fatal, MemoryError):
            raise
        except Exception as error:
            after.append(Reject(describe(error)))
            if not reported:
                report(place(error))
                reported = True
    return after


def _whole_block(step: Step, rows: List[Dict[str, Any]], options: Dict[str, Any], _: Report) -> List[Any]:
    given = len(rows)
    try:
        after = step.function(rows, options) if step.takes_options else step.function(rows)
    except Reject as reject:
        raise Failure(
            **{"class": "Fatal", "message": f"raises Reject for a whole block: return it in the row's place ({reject.reason})"}
        ) from reject
    if after is None or isinstance(after, (dict, str, bytes)):
        raise BrokenRule(f"returns {_article(after)}: a step of blocks returns a list with an element for each row")
    try:
        after = list(after)
    except TypeError:
        raise BrokenRule(f"returns {_article(after)}: a step of blocks returns a list of rows") from None
    if len(after) != given:
        raise BrokenRule(f"got {given} rows and returns {len(after)}: an element for each row, in their order, is expected")
    return after


def _answer(
    row: Any, was: Dict[str, Any], names: Tuple[List[str], List[str]], allowed: "set[str]", sets: List[Any]
) -> str:
    kept, key = names
    if isinstance(row, Reject):
        return quoted(sayable(row.reason))
    if not isinstance(row, dict):
        raise BrokenRule(f"returns {_article(row)} in a row's place: return a dict, or vitrina.Reject(reason)")
    if not row.keys() <= allowed:
        unknown = sorted(str(name) for name in row.keys() - allowed)[0]
        # The name may come from a row.
        message = f"returns the column `{unknown}`, which its `columns` do not declare"
        raise Failure(**{"class": "Fatal", "message": message})
    for name in kept:
        if name in row and row[name] is not was.get(name) and row[name] != was.get(name):
            raise BrokenRule(
                f"changes the column `{name}`, which its `columns` do not declare, or returns rows in another order"
            )
    missing = [name for name in key if name not in row]
    if missing:
        raise BrokenRule(
            f"returns rows without `{missing[0]}`, the target's key, so that one could take another's place: return the rows that "
            "it was given, or rows with their key"
        )
    values = []
    for name, type_name, encode in sets:
        if name not in row:
            return quoted(f"the step returned no `{name}`, which its `columns` declare")
        value = row[name]
        try:
            values.append("null" if value is None else encode(value))
        except (WrongType, RecursionError):
            return quoted(f"column `{name}` is {type_name}, and the step returned {_article(value)}")
    return "[" + ",".join(values) + "]"


def sayable(text: str) -> str:
    """The same without what no text of the database can contain: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _article(value: Any) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def describe(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def place(error: BaseException) -> str:
    """Where an exception comes from, without its message, which may quote a value."""
    lines = [type(error).__name__]
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith("<vitrina>"):
            source = linecache.getline(code.co_filename, trace.tb_lineno).strip()
            lines.append(f"  {code.co_filename}:{trace.tb_lineno} in {code.co_name}: {source}")
        trace = trace.tb_next
    return "\n".join(lines)


_MINUS_ZERO = re.compile(rb"[:\[,]\s*-0\s*[,\]}]")


def parse_request(payload: bytes) -> Dict[str, Any]:
    if _MINUS_ZERO.search(payload):
        # Python has no such whole number.
        return json.loads(payload, parse_float=Decimal, parse_int=lambda text: Decimal(text) if text == "-0" else int(text))
    return json.loads(payload, parse_float=Decimal)


def failure(error: BaseException) -> Optional[Dict[str, Any]]:
    """The answer of a block that failed as a whole; none where the process must end."""
    if isinstance(error, MemoryError):
        return None
    answer = _answer_to(error)
    return {**answer, "message": sayable(answer["message"])}


def _answer_to(error: BaseException) -> Dict[str, Any]:
    if isinstance(error, Failure):
        return error.answer
    if isinstance(error, BrokenRule):
        return {"class": "Fatal", "message": str(error), "rule": True}
    if isinstance(error, Retry):
        kind = "Transient" if error.after is None else "RateLimited"
        return {"class": kind, "after": error.after, "message": error.reason}
    return {"class": "Fatal", "message": error.reason if isinstance(error, Fatal) else describe(error)}
