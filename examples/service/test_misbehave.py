"""The service does what the examples and the tests of Vitrina rely on: python3 -m unittest discover -s examples/service"""

import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import prove
from misbehave import Service, arguments
from trouble import Buckets, choose, dice, parse_rate, parse_spec

HERE = pathlib.Path(__file__).parent
GREET = {"text": "Science fiction", "to": "de"}


class Case(unittest.TestCase):
    """A service within the process of the tests, and what is asked of it."""

    def new_log(self):
        directory = tempfile.TemporaryDirectory(prefix="misbehave-")
        self.addCleanup(directory.cleanup)
        return pathlib.Path(directory.name) / "calls.jsonl"

    def start(self, *options):
        self.log = self.new_log()
        self.service = Service(arguments().parse_args(["--log", str(self.log), *options]))
        thread = threading.Thread(target=self.service.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.addCleanup(self.end)

    def end(self):
        self.service.shutdown()
        self.service.server_close()
        self.service.log.close()

    def ask(self, method, path, body=None, timeout=10, **headers):
        """The status, the headers and the parsed answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.service.server_port, timeout=timeout)
        self.addCleanup(connection.close)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method, path, text, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, json.loads(answer.read())

    def status(self, *asked, **more):
        return self.ask(*asked, **more)[0]

    def lines(self):
        return prove.read(self.log)

    def proof(self, *options):
        """The exit code and the output of prove.py."""
        command = [sys.executable, "-B", HERE / "prove.py", self.log, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class Translating(Case):
    def test_one_text_or_a_list_is_translated_and_the_same_text_always_the_same(self):
        self.start()
        status, _, answer = self.ask("POST", "/translate", GREET)
        self.assertEqual((status, answer), (200, {"translation": "ecneicS noitcif (de)"}))
        _, _, answer = self.ask("POST", "/translate", {"text": ["Drama", "War"], "to": "fr"})
        self.assertEqual([one["translation"] for one in answer["translations"]], ["amarD (fr)", "raW (fr)"])

    def test_what_is_no_order_is_refused_and_not_paid(self):
        self.start()
        for body in ("{", "[]", {"text": " ", "to": "de"}, {"text": "War"}, {"text": ["War", 7], "to": "de"},
                     {"text": "forbidden", "to": "de"}):
            self.assertIn(self.status("POST", "/translate", body), (400, 422), body)
        self.assertEqual(self.status("GET", "/nothing"), 404)
        self.assertEqual([line["paid"] for line in self.lines()], [False] * 7)

    def test_an_input_is_paid_once_for_each_idempotency_key(self):
        self.start()
        for key in ("a", "a", "b"):
            self.assertEqual(self.status("POST", "/translate", GREET, Idempotency_Key=key), 200)
        self.assertEqual([line["paid"] for line in self.lines()], [True, False, True])
        self.assertEqual(self.status("POST", "/translate", {**GREET, "to": "fr"}, Idempotency_Key="a"), 422)

    def test_a_forgetful_service_is_paid_every_time(self):
        self.start("--forgetful")
        for _ in range(2):
            self.ask("POST", "/translate", GREET, Idempotency_Key="a")
        self.assertEqual([line["paid"] for line in self.lines()], [True, True])


class Generating(Case):
    def await_end(self, number):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            answer = self.ask("GET", f"/generate/{number}")[2]
            if answer["state"] != "pending":
                return answer
        raise AssertionError(f"{number} is still pending")

    def test_a_generation_is_pending_and_then_done(self):
        self.start("--pending", "0.2")
        status, _, answer = self.ask("POST", "/generate", {"prompt": "a red fox"})
        self.assertEqual(status, 202)
        self.assertEqual(self.ask("GET", f"/generate/{answer['id']}")[2]["state"], "pending")
        self.assertEqual(self.await_end(answer["id"])["result"]["words"], 3)
        self.assertEqual(self.status("GET", "/generate/unknown"), 404)

    def test_the_same_idempotency_key_gets_the_same_generation_and_another_one_a_new_one(self):
        self.start()
        ids = [self.ask("POST", "/generate", {"prompt": "a"}, Idempotency_Key=key)[2]["id"] for key in ("x", "x", "y")]
        self.assertEqual(ids[0], ids[1])
        self.assertNotEqual(ids[1], ids[2])
        self.assertEqual([line["paid"] for line in self.lines()], [True, False, True])

    def test_words_of_the_prompt_say_what_becomes_of_it(self):
        self.start("--pending", "0")
        self.assertEqual(self.status("POST", "/generate", {"prompt": "forbidden"}), 422)
        statuses = [self.status("POST", "/generate", {"prompt": "flaky"}) for _ in range(3)]
        self.assertEqual(statuses, [503, 503, 202])
        number = self.ask("POST", "/generate", {"prompt": "impossible"})[2]["id"]
        self.assertEqual(self.await_end(number)["state"], "failed")


class Trouble(Case):
    def test_statuses_are_answered_as_often_as_asked_and_again_with_the_same_seed(self):
        def run():
            self.start("--misbehave", "429=0.2,500=0.2,402=0.1")
            return [self.status("POST", "/translate", {"text": f"t{n}", "to": "de"}) for n in range(200)]

        first = run()
        self.assertEqual(first, run())
        for status, least in ((429, 20), (500, 20), (402, 8), (200, 60)):
            self.assertGreater(first.count(status), least)

    def test_an_input_is_not_in_trouble_for_ever(self):
        self.start("--misbehave", "500=0.5")
        statuses = {self.status("POST", "/translate", GREET) for _ in range(40)}
        self.assertEqual(statuses, {200, 500})

    def test_a_reset_is_one_and_was_paid_for_in_half_of_the_cases(self):
        self.start("--misbehave", "reset=1")
        for number in range(20):
            with self.assertRaises(ConnectionResetError) as caught:
                self.ask("POST", "/translate", {"text": f"t{number}", "to": "de"})
            # A connection that is closed in order is that one.
            self.assertNotIsInstance(caught.exception, http.client.RemoteDisconnected)
        paid = [line["paid"] for line in self.lines()]
        self.assertEqual((len(paid), {True, False}), (20, set(paid)))

    def test_rubbish_is_a_page_or_cut_json_or_too_long(self):
        self.start("--misbehave", "rubbish=1")
        kinds = set()
        for number in range(20):
            try:
                answer = self.ask("POST", "/translate", {"text": f"t{number}", "to": "de"})
                kinds.add("long" if int(answer[1]["Content-Length"]) > 1 << 20 else "small")
            except ValueError as wrong:
                kinds.add("page" if "char 0" in str(wrong) else "cut")
        self.assertEqual(kinds, {"page", "cut", "long"})

    def test_a_slow_answer_was_paid_for_and_the_same_key_gets_it_afterwards(self):
        self.start("--slow-seconds", "30")
        with self.assertRaises(socket.timeout):
            self.ask("POST", "/translate", GREET, timeout=0.3, Idempotency_Key="a", Misbehave="slow=1")
        self.assertEqual(self.status("POST", "/translate", GREET, Idempotency_Key="a"), 200)
        self.assertEqual([line["paid"] for line in self.lines()], [True, False])

    def test_it_behaves_as_it_was_told_last(self):
        self.start("--misbehave", "402=1")
        self.assertEqual(self.status("POST", "/translate", GREET), 402)
        self.assertEqual(self.status("PUT", "/behave", ""), 200)
        self.assertEqual(self.status("POST", "/translate", GREET), 200)
        self.assertEqual(self.status("POST", "/translate?misbehave=401%3D1", GREET), 401)
        self.assertEqual(self.status("PUT", "/behave", "teapot=1"), 400)
        self.assertEqual(self.status("GET", "/health"), 200)

    def test_a_spec_says_what_is_wrong_with_it(self):
        self.assertEqual(parse_spec("500=0.1, slow=0.2"), {"500": 0.1, "slow": 0.2})
        for wrong in ("200=0.1", "500=2", "500=0.6,slow=0.6", "late=0.1", "500=-1"):
            with self.assertRaises(ValueError):
                parse_spec(wrong)
        self.assertEqual(choose({"500": 1.0}, dice(1)), "500")
        self.assertIsNone(choose({}, dice(1)))


class Keys(Case):
    def test_a_key_is_known_or_bad_or_limited(self):
        self.start("--keys", "k1,k2", "--bad-key", "k1=401", "--limited-key", "k2=1/s", "--burst", "1")

        def as_key(key):
            return self.ask("POST", "/translate", GREET, Authorization=f"Bearer {key}")

        self.assertEqual([as_key(key)[0] for key in ("k1", "k2", "k3")], [401, 200, 401])
        status, headers, _ = as_key("k2")
        self.assertEqual((status, headers["Retry-After"]), (429, "1"))
        self.assertEqual([line["key"] for line in self.lines()], ["k1", "k2", "k3", "k2"])

    def test_a_bucket_lets_its_rate_through_and_its_burst(self):
        now = [0.0]
        buckets = Buckets(parse_rate("10/s"), 2, {"slow": 0.5}, lambda: now[0])
        taken = 0
        for tick in range(100):
            now[0] = tick / 100
            taken += buckets.take("a") == 0
        self.assertEqual(taken, 11)
        self.assertEqual([buckets.take("slow") for _ in range(3)], [0, 0, 2])
        self.assertEqual(Buckets(0, 1, {}, lambda: 0).take("a"), 0)


class Proving(Case):
    def test_a_second_with_too_many_requests_is_found(self):
        self.start()
        for number in range(8):
            self.ask("POST", "/translate", {"text": f"t{number}", "to": "de"})
        most, _ = prove.busiest_second([line["at"] for line in self.lines()])
        self.assertEqual(self.proof("--rate", str(most), "--burst", "0")[0], 0)
        code, said = self.proof("--rate", str(most - 1), "--burst", "0")
        self.assertEqual(code, 1)
        self.assertIn(f"violated: {most} requests in the second", said)
        self.assertEqual(self.proof("--rate", str(most - 1), "--burst", "0", "--slack", "1")[0], 0)
        self.assertEqual(self.proof("--rate", "1", "--burst", "0", "--path", "/generate")[0], 0)

    def test_the_busiest_second_is_a_sliding_one(self):
        self.assertEqual(prove.busiest_second([0.0, 0.9, 1.0, 1.1, 1.8, 5.0]), (4, 0.9))
        self.assertEqual(prove.busiest_second([0.0, 1.0]), (1, 0.0))
        self.assertEqual(prove.busiest_second([]), (0, 0.0))

    def test_an_input_that_was_paid_twice_is_found(self):
        self.start("--forgetful")
        for _ in range(3):
            self.ask("POST", "/translate", {"text": ["War", "Drama"], "to": "de"})
        code, said = self.proof()
        self.assertEqual(code, 1)
        self.assertIn("4 payments for inputs that were paid before, 0 are allowed", said)
        self.assertEqual(self.proof("--twice", "4")[0], 0)


class Processes(Case):
    def test_it_says_where_it_listens_and_sigterm_ends_it_with_the_log_complete(self):
        log = self.new_log()
        command = [sys.executable, "-B", HERE / "misbehave.py", "--port", "0", "--log", log]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        port = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", process.stdout.readline()).group(1)
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
        self.addCleanup(connection.close)
        connection.request("POST", "/translate", json.dumps(GREET))
        self.assertEqual(connection.getresponse().status, 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=10), -signal.SIGTERM)
        self.assertEqual(len(prove.read(log)), 1)


if __name__ == "__main__":
    unittest.main()
