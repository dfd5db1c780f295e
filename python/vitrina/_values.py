"""Values of columns: from the JSON that a worker sends to Python, and back.

A type is written as SQL writes it, without a length. A value that Python has no object for (the date `infinity`, a year before
Christ) stays the text that it is.
"""

import datetime
import json
import re
import uuid
from decimal import Decimal
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, Callable, Dict, List, Optional

Convert = Callable[[Any], Any]


class WrongType(Exception):
    """A value that a column of its type cannot have."""


# --- To Python ---


def decoder(type_name: str) -> Optional[Convert]:
    """What makes a Python value of a JSON value that is not null; None where that is the same."""
    if type_name.endswith("[]"):
        element, of_text = decoder(type_name[:-2]), text_decoder(type_name[:-2])
        separator = _separator(type_name[:-2])

        def decode_array(value: Any) -> Any:
            if isinstance(value, str):
                return _each(parse_array(value, separator), of_text)
            return value if element is None else _each(value, element)

        return _or_same(decode_array)
    convert = _DECODERS.get(type_name)
    return convert and _or_same(convert)


def _each(value: Any, convert: Convert) -> Any:
    if isinstance(value, list):
        return [_each(one, convert) for one in value]
    return None if value is None else convert(value)


def _or_same(convert: Convert) -> Convert:
    def decode(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, TypeError, ArithmeticError, LookupError):
            return value

    return decode


_TIME = re.compile(r"(.*\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([+-]\d\d(?::?\d\d)?(?::?\d\d)?|Z)?")


def _iso(value: str) -> str:
    """The same in the form that every version of Python reads."""
    match = _TIME.fullmatch(value)
    if match is None:
        raise ValueError("no time")
    clock, fraction, zone = match.groups()
    zone = {None: "", "Z": "+00:00"}.get(zone, zone)
    if len(zone) == 3:
        zone += ":00"
    return f"{clock}.{(fraction or '0').ljust(6, '0')}{zone}"


def _timestamp(value: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(value)
    except ValueError:
        return datetime.datetime.fromisoformat(_iso(value))


def _time(value: str) -> datetime.time:
    try:
        return datetime.time.fromisoformat(value)
    except ValueError:
        return datetime.time.fromisoformat(_iso(value))


def _numeric(value: Any) -> Decimal:
    return value if value.__class__ is Decimal else Decimal(value)


def _bytes(value: str) -> bytes:
    if not value.startswith("\\x"):
        raise ValueError("not in hexadecimal digits")
    return bytes.fromhex(value[2:])


_DECODERS: Dict[str, Convert] = {
    "numeric": _numeric,
    "real": float,
    "double precision": float,
    "uuid": uuid.UUID,
    "bytea": _bytes,
    "date": datetime.date.fromisoformat,
    "timestamp with time zone": _timestamp,
    "timestamp without time zone": _timestamp,
    "time without time zone": _time,
    "time with time zone": _time,
}


def text_decoder(type_name: str) -> Convert:
    """What makes a Python value of the text of an array's element."""
    if type_name in ("smallint", "integer", "bigint", "oid"):
        return int
    if type_name == "boolean":
        return lambda value: {"t": True, "true": True, "f": False, "false": False}[value]
    if type_name in ("json", "jsonb"):
        return lambda value: json.loads(value, parse_float=Decimal)
    return _DECODERS.get(type_name, str)


def _separator(type_name: str) -> str:
    """What stands between the elements of an array. A box is the only type that has commas there already."""
    return ";" if type_name == "box" else ","


def parse_array(text: str, separator: str = ",") -> List[Any]:
    """The elements of an array as PostgreSQL writes it, as texts. One that does not begin at 1 is no list of Python."""
    found, at = _elements(text, 0, separator)
    if at != len(text):
        raise ValueError("no array")
    return found


def _elements(text: str, at: int, separator: str) -> "tuple[List[Any], int]":
    if text[at] != "{":
        raise ValueError("no array")
    found: List[Any] = []
    at += 1
    if text[at] == "}":
        return found, at + 1
    while True:
        if text[at] == "{":
            inner, at = _elements(text, at, separator)
            found.append(inner)
        elif text[at] == '"':
            parts, at = [], at + 1
            while text[at] != '"':
                at += text[at] == "\\"
                parts.append(text[at])
                at += 1
            found.append("".join(parts))
            at += 1
        else:
            end = at
            while text[end] not in separator + "}":
                end += 1
            word = text[at:end]
            found.append(None if word.upper() == "NULL" else word)
            at = end
        if text[at] == "}":
            return found, at + 1
        at += 1


# --- From Python ---


def encoder(type_name: str, arrays_as_text: bool) -> Callable[[Any], str]:
    """What makes JSON of a Python value that is not None, or raises WrongType."""
    if type_name.endswith("[]"):
        if arrays_as_text:
            element, separator = _text_encoder(type_name[:-2]), _separator(type_name[:-2])
            return lambda value: quoted(_array_text(value, element, separator))
        inner = encoder(type_name[:-2], arrays_as_text)
        return lambda value: _array_json(_list(value), inner)
    return _ENCODERS.get(type_name, _text)


def _list(value: Any) -> List[Any]:
    if not isinstance(value, (list, tuple)):
        raise WrongType
    return list(value)


def _array_json(value: Any, encode: Callable[[Any], str]) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([_array_json(one, encode) for one in value]) + "]"
    return "null" if value is None else encode(value)


def _array_text(value: Any, encode: Callable[[Any], str], separator: str) -> str:
    if isinstance(value, str) and value[:1] in ("{", "["):
        # It came like that: Python has no list for it.
        return value
    return _nested_text(_list(value), encode, separator)


def _nested_text(value: Any, encode: Callable[[Any], str], separator: str) -> str:
    if isinstance(value, (list, tuple)):
        return "{" + separator.join([_nested_text(one, encode, separator) for one in value]) + "}"
    if value is None:
        return "NULL"
    return '"' + encode(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _text_encoder(type_name: str) -> Callable[[Any], str]:
    encode = _ENCODERS.get(type_name, _text)

    def of_text(value: Any) -> str:
        made = encode(value)
        return json.loads(made) if made[0] == '"' else made

    return of_text


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongType
    return quoted(value)


def _integer(value: Any) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType
    return int.__repr__(value)


def _decimal(value: Any) -> str:
    if isinstance(value, Decimal):
        if value.is_finite():
            return str(value)
        return '"NaN"' if value.is_nan() else '"Infinity"' if value > 0 else '"-Infinity"'
    return _integer(value)


def _float(value: Any) -> str:
    if isinstance(value, Decimal):
        return _decimal(value)
    if not isinstance(value, float):
        return _integer(value)
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return float.__repr__(value)


def _boolean(value: Any) -> str:
    if not isinstance(value, bool):
        raise WrongType
    return "true" if value else "false"


def _of_classes(*classes: type) -> Callable[[Any], str]:
    def encode(value: Any) -> str:
        if not isinstance(value, classes):
            raise WrongType
        return quoted(str(value))

    return encode


def _datetime(aware: bool) -> Callable[[Any], str]:
    def encode(value: Any) -> str:
        if isinstance(value, str):
            return quoted(value)
        if not isinstance(value, datetime.datetime) or (value.utcoffset() is not None) is not aware:
            raise WrongType
        return quoted(value.isoformat())

    return encode


def _date(value: Any) -> str:
    if isinstance(value, datetime.datetime) or not isinstance(value, (datetime.date, str)):
        raise WrongType
    return quoted(str(value))


def _hex(value: Any) -> str:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise WrongType
    return f'"\\\\x{bytes(value).hex()}"'


def _json(value: Any) -> str:
    """JSON of a value, in which a Decimal is a number with all its digits."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return _json_with_decimals(value)


def _json_with_decimals(value: Any) -> str:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise WrongType
        return str(value)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise WrongType
        return "{" + ",".join(f"{quoted(key)}:{_json_with_decimals(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_json_with_decimals, value)) + "]"
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise WrongType from None


_ENCODERS: Dict[str, Callable[[Any], str]] = {
    "smallint": _integer,
    "integer": _integer,
    "bigint": _integer,
    "oid": _integer,
    "numeric": _decimal,
    "real": _float,
    "double precision": _float,
    "boolean": _boolean,
    "uuid": _of_classes(uuid.UUID, str),
    "bytea": _hex,
    "date": _date,
    "timestamp with time zone": _datetime(aware=True),
    "timestamp without time zone": _datetime(aware=False),
    "time without time zone": _of_classes(datetime.time, str),
    "time with time zone": _of_classes(datetime.time, str),
    "json": _json,
    "jsonb": _json,
}
