"""What a step declares, and what becomes of its rows."""

import json
import unittest

import vitrina
from vitrina import _step
from vitrina._block import BrokenRule, Failure, failure, run_block


def ask(step, rows, options=None, **more):
    request = {
        "columns": [["id", "bigint"], ["name", "text"]],
        "sets": [[name, type_name] for name, type_name in step.columns.items()],
        "arrays": "text",
        "options": json.dumps(options or {}),
        "context": {"pipeline_id": "p", "id": "r", "correlation_id": "c"},
        "rows": rows,
        **more,
    }
    return json.loads(run_block(step, request, lambda place: None))["rows"]


ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


def rows():
    return [dict(row) for row in ROWS]


class Steps(unittest.TestCase):
    def setUp(self):
        _step.registered.clear()

    def test_rows_of_a_block_are_told_apart_by_their_key(self):
        @vitrina.step(columns={"slug": "text"})
        def slug(rows):
            return sorted(({"slug": row["name"].upper()} for row in rows), key=lambda row: row["slug"], reverse=True)

        with self.assertRaises(BrokenRule):
            ask(slug, rows(), key=["id"])

        @vitrina.step(columns={"upper": "text"})
        def upper(rows):
            return [{"id": row["id"], "upper": row["name"].upper()} for row in rows]

        self.assertEqual(ask(upper, rows(), key=["id"]), [["A"], ["B"]])

    def test_a_declaration_is_json(self):
        for default in (float("inf"), {1, 2}):
            with self.assertRaises(ValueError):
                schema = {"type": "object", "properties": {"most": {"default": default}}}
                vitrina.step(columns={"slug": "text"}, options=schema, name="odd")(lambda rows, options: rows)

    def test_a_step_of_one_row_rejects_the_row_that_it_raises_for(self):
        @vitrina.step(columns={"slug": "text"}, per_row=True)
        def slug(row):
            if row["id"] == 2:
                raise ValueError("no")
            return {"slug": row["name"].upper()}

        self.assertEqual(ask(slug, rows()), [["A"], "ValueError: no"])

    def test_a_block_may_have_rejected_rows_and_gets_options_with_their_defaults(self):
        schema = {"type": "object", "properties": {"sign": {"type": "string", "default": "!"}, "n": {"type": "integer"}}}

        @vitrina.step(columns={"name": "text"}, options=schema)
        def shout(block, options):
            self.assertEqual(vitrina.context().pipeline_id, "p")
            for row in block:
                row["name"] += options["sign"] * options["n"]
            return [block[0], vitrina.Reject("bad")]

        self.assertEqual(ask(shout, rows(), {"n": 2}), [["a!!"], "bad"])
        with self.assertRaises(RuntimeError):
            vitrina.context()

    def test_what_breaks_the_rules_fails_the_batch_and_quotes_no_value(self):
        for does, words in [
            (lambda block: block[:1], "got 2 rows and returns 1"),
            (lambda block: block + block, "got 2 rows and returns 4"),
            (lambda block: block[::-1], "changes the column `id`"),
            (lambda block: [{**row, "id": 7} for row in block], "changes the column `id`"),
            (lambda block: [None, None], "returns None in a row's place"),
            (lambda block: None, "returns None"),
        ]:
            _step.registered.clear()
            step = vitrina.step(columns={"name": "text"}, name="broken")(lambda block, does=does: does(block))
            step.takes_options = False
            with self.subTest(words=words), self.assertRaisesRegex(BrokenRule, words):
                ask(step, rows())

    def test_a_column_that_is_not_declared_fails_the_batch_in_the_step_s_own_words(self):
        @vitrina.step()
        def more(block):
            return [{**row, "secret": 7} for row in block]

        with self.assertRaises(Failure) as raised:
            ask(more, rows())
        self.assertIn("returns the column `secret`", failure(raised.exception)["message"])
        self.assertNotIn("rule", failure(raised.exception))

    def test_a_value_of_another_type_and_a_missing_one_reject_their_row(self):
        @vitrina.step(columns={"n": "integer"}, per_row=True)
        def number(row):
            return {"n": "one"} if row["id"] == 1 else {}

        answers = ask(number, rows())
        self.assertEqual(answers[0], "column `n` is integer, and the step returned a str")
        self.assertIn("returned no `n`", answers[1])

    def test_classes_become_classes(self):
        self.assertEqual(failure(vitrina.Retry(3))["class"], "RateLimited")
        self.assertEqual(failure(vitrina.Retry())["class"], "Transient")
        self.assertEqual(failure(vitrina.Fatal("x"))["message"], "x")
        self.assertIsNone(failure(MemoryError()))
        self.assertEqual(failure(vitrina.Retry(float("inf")))["after"], 86_400.0)

    def test_reasons_are_texts_that_a_database_can_keep(self):
        @vitrina.step(per_row=True)
        def odd(row):
            raise vitrina.Reject("a\0b\ud800c")

        self.assertEqual(ask(odd, rows())[0], "a\ufffdb?c")
        self.assertEqual(failure(vitrina.Fatal("a\0b\ud800c"))["message"], "a\ufffdb?c")

    def test_declarations_that_cannot_be_kept_are_refused_at_once(self):
        for declared in [
            dict(columns={"a": ""}),
            dict(columns={"a": "text"}, removes=["a"]),
            dict(name="x" * 64),
            dict(options={"type": "array"}),
            dict(options={"type": "object", "properties": {"a": {"pattern": "x"}}}),
        ]:
            with self.subTest(declared=declared), self.assertRaises(ValueError):
                vitrina.step(**declared)(lambda row: row)
        vitrina.step(name="twice")(lambda row: row)
        with self.assertRaises(ValueError):
            vitrina.step(name="twice")(lambda row: row)


if __name__ == "__main__":
    unittest.main()
