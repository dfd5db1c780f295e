"""Values keep their type and their digits on the way to Python and back."""

import datetime
import json
import unittest
import uuid
from decimal import Decimal

from vitrina._block import parse_request
from vitrina._values import WrongType, decoder, encoder, parse_array

ZONE = datetime.timezone(datetime.timedelta(hours=2))
DIGITS = "12345678901234567890123456789012345.678901234567890123456789"

#: A type, the value as JSON, and what Python makes of it.
VALUES = [
    ("bigint", "9223372036854775807", 2**63 - 1),
    ("numeric", DIGITS, Decimal(DIGITS)),
    ("numeric", "1.50", Decimal("1.50")),
    ("numeric", '"NaN"', "NaN"),
    ("double precision", "0.1", 0.1),
    ("double precision", '"-Infinity"', float("-inf")),
    ("boolean", "true", True),
    ("text", '"\\u043f \\"q\\" \\\\ \\n"', 'п "q" \\ \n'),
    ("uuid", '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"', uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("bytea", '"\\\\x00ff10"', b"\x00\xff\x10"),
    ("date", '"2026-01-31"', datetime.date(2026, 1, 31)),
    ("date", '"infinity"', "infinity"),
    ("timestamp with time zone", '"2026-03-29T01:30:00.500000+02:00"', datetime.datetime(2026, 3, 29, 1, 30, 0, 500000, ZONE)),
    ("timestamp without time zone", '"2026-03-29T01:30:00"', datetime.datetime(2026, 3, 29, 1, 30)),
    ("time without time zone", '"23:59:59.999999"', datetime.time(23, 59, 59, 999999)),
    ("jsonb", '{"b": 1.50, "a": [null, "x"]}', {"b": Decimal("1.50"), "a": [None, "x"]}),
    ("integer[]", "[1, null, 2]", [1, None, 2]),
    ("numeric[]", "[[1.10], [2]]", [[Decimal("1.10")], [Decimal(2)]]),
]


class Values(unittest.TestCase):
    def test_every_type_is_the_same_there_and_back(self):
        for type_name, text, expected in VALUES:
            with self.subTest(type_name=type_name, text=text):
                value = json.loads(text, parse_float=Decimal)
                decode = decoder(type_name)
                value = decode(value) if decode else value
                if expected == "NaN":
                    self.assertTrue(value.is_nan())
                else:
                    self.assertEqual((value, type(value)), (expected, type(expected)))
                back = encoder(type_name, arrays_as_text=False)(value)
                same = dict(parse_float=str, parse_int=str)
                self.assertEqual(json.loads(back, **same), json.loads(text, **same))

    def test_fractions_of_seconds_are_read_however_many_digits_they_have(self):
        decode = decoder("timestamp with time zone")
        self.assertEqual(decode("2026-01-01 00:00:00.5+02"), datetime.datetime(2026, 1, 1, 0, 0, 0, 500000, ZONE))
        self.assertEqual(decode("0001-01-01 00:00:00 BC"), "0001-01-01 00:00:00 BC")

    def test_arrays_that_travel_as_text(self):
        self.assertEqual(parse_array('{a,NULL,"b,\\"c\\\\",{x}}'), ["a", None, 'b,"c\\', ["x"]])
        self.assertEqual(parse_array("{(1,1),(0,0);(3,3),(2,2)}", ";"), ["(1,1),(0,0)", "(3,3),(2,2)"])
        self.assertEqual(decoder("numeric[]")("{1.50,NULL}"), [Decimal("1.50"), None])
        self.assertEqual(decoder("boolean[]")("{t,f}"), [True, False])
        self.assertEqual(decoder("integer[]")("{1,x}"), "{1,x}", "what cannot be read stays text")
        for type_name, value in [
            ("text[]", ["a", None, 'b,"c\\', ""]),
            ("integer[]", [[1, 2], [3, 4]]),
            ("numeric[]", [Decimal(DIGITS)]),
            ("bytea[]", [b"\x00\\"]),
            ("boolean[]", [True]),
            ("box[]", ["(1,1),(0,0)", "(3,3),(2,2)"]),
            ("integer[]", "[0:1]={1,2}"),
            ("date[]", "{infinity,2026-01-01}"),
        ]:
            with self.subTest(type_name=type_name):
                text = json.loads(encoder(type_name, arrays_as_text=True)(value))
                self.assertEqual(decoder(type_name)(text), value)

    def test_a_zero_keeps_its_sign(self):
        for text in ('{"a":-0}', '{"a": [1, -0]}', '{"a":[-0,1]}', '{"a":-0,"b":1}'):
            with self.subTest(text=text):
                value = parse_request(text.encode())["a"]
                type_name = "double precision[]" if isinstance(value, list) else "double precision"
                found = decoder(type_name)(value)
                self.assertIn("-0.0", str(found))
                self.assertIn("-0.0", encoder(type_name, arrays_as_text=False)(found))
        self.assertEqual(parse_request(b'{"a":"[-0,","b":1}'), {"a": "[-0,", "b": 1})

    def test_values_of_another_type_are_refused(self):
        naive, aware = datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=ZONE)
        for type_name, value in [
            ("text", 1),
            ("integer", 1.0),
            ("integer", True),
            ("numeric", 0.1),
            ("boolean", 1),
            ("bytea", "ab"),
            ("date", aware),
            ("timestamp with time zone", naive),
            ("timestamp without time zone", aware),
            ("uuid", b"a"),
            ("jsonb", {"a": object()}),
            ("jsonb", float("nan")),
            ("integer[]", 1),
            ("integer[]", "1"),
            ("integer[]", ["a"]),
        ]:
            for arrays_as_text in (True, False):
                with self.subTest(type_name=type_name, value=value), self.assertRaises(WrongType):
                    encoder(type_name, arrays_as_text)(value)


if __name__ == "__main__":
    unittest.main()
