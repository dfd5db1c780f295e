"""Steps that do as they should."""

import datetime
import logging
import uuid
from decimal import Decimal

import vitrina

SIGN = {"type": "object", "properties": {"sign": {"type": "string", "default": "-", "maxLength": 3}}}


@vitrina.step(columns={"name": "text", "slug": "text"}, needs=["id"], options=SIGN, pure=True)
def in_blocks(rows, options):
    """Writes names in capitals, and makes a slug of them"""
    for row in rows:
        row["slug"] = row["name"].replace(" ", options["sign"])
        row["name"] = row["name"].upper()
    return rows


@vitrina.step(columns={"name": "text", "slug": "varchar(20)"}, options=SIGN, per_row=True, pure=True)
def one_by_one(row, options):
    return {"name": row["name"].upper(), "slug": row["name"].replace(" ", options["sign"])}


@vitrina.step(removes=["name"], pure=True)
def without_name(rows):
    return [{name: value for name, value in row.items() if name != "name"} for row in rows]


@vitrina.step(removes=["deep"], pure=True, per_row=True)
def without_deep(row):
    return {}


EXPECTED = {
    "big": int,
    "exact": Decimal,
    "rough": float,
    "flag": bool,
    "words": str,
    "at": datetime.datetime,
    "local": datetime.datetime,
    "day": datetime.date,
    "hour": datetime.time,
    "who": uuid.UUID,
    "bytes": bytes,
    "doc": dict,
    "plain": dict,
    "texts": list,
    "amounts": list,
    "grid": list,
}


@vitrina.step(
    columns={
        "big": "bigint",
        "exact": "numeric",
        "rough": "float8",
        "flag": "bool",
        "words": "text",
        "at": "timestamptz",
        "local": "timestamp",
        "day": "date",
        "hour": "time",
        "who": "uuid",
        "bytes": "bytea",
        "doc": "jsonb",
        "plain": "json",
        "texts": "text[]",
        "amounts": "numeric[]",
        "grid": "int4[]",
    },
    pure=True,
    per_row=True,
)
def same_values(row):
    """Writes every value anew, after a look at its type"""
    for name, expected in EXPECTED.items():
        value = row[name]
        # What Python has no object for is a text.
        is_text = isinstance(value, str) and (value == "infinity" or value.endswith("BC"))
        if value is not None and not isinstance(value, expected) and not is_text:
            raise TypeError(f"{name} is {type(value).__name__}")
    if row["id"] == 1:
        assert row["at"].utcoffset() is not None and row["doc"]["b"] == Decimal("1.50"), row
        assert row["amounts"] == [Decimal("1.10"), None] and row["grid"] == [[1, 2], [3, 4]], row
    return {name: row[name] for name in EXPECTED}


BENT = {
    "minus": "float8",
    "minuses": "float8[]",
    "bounded": "int[]",
    "boxes": "box[]",
    "days": "date[]",
    "texts": "text[]",
}


@vitrina.step(columns=BENT, pure=True)
def same_bent(rows):
    """Values that are easily taken for others"""
    assert all(isinstance(row["boxes"], list) for row in rows), rows
    return [{"id": row["id"], **{name: row[name] for name in BENT}} for row in rows]


@vitrina.step(columns={"title": "text", "genres": "text[]", "length": "int"}, pure=True)
def film_words(rows):
    return [
        {"film_id": row["film_id"], "title": row["title"].upper(), "genres": row["genres"] + ["new", None], "length": len(row["title"])}
        for row in rows
    ]


@vitrina.step(columns={"name": "text"}, pure=True, name="talks")
def talks(rows):
    print("printed for", vitrina.context().id)
    logging.getLogger("shop").warning("warned\nin two lines")
    return rows


@vitrina.step(columns={"name": "text"})
def not_pure(rows):
    return rows
