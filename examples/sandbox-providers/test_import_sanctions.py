"""The importer, by what it reads from samples made by hand and by what it sends.

    python3 examples/sandbox-providers/test_import_sanctions.py
"""

import contextlib
import datetime
import io
import json
import os
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from unittest import mock

import import_sanctions

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples")
ETH, TRON, XBT = (
    "0x8589427373D6D84E98730D7795D8f6f8731FDA16",
    "TNiq9AXBp9EjUqhDhrwrfvAA8U3GUQZH81",
    "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
)


def sample(name):
    return os.path.join(SAMPLES, name)


class Reading(unittest.TestCase):
    def test_the_advanced_file_gives_addresses_with_asset_name_and_number(self):
        entries, published = import_sanctions.read(sample("sdn_advanced.xml"))
        self.assertEqual(published, datetime.date(2026, 5, 6))
        self.assertEqual(entries, [
            {"address": ETH, "asset": "ETH", "name": "EXAMPLE MIXER", "source_id": "10001"},
            {"address": XBT, "asset": "XBT", "name": "DOE", "source_id": "10002"},
            {"address": TRON, "asset": "USDT", "name": "EXAMPLE MIXER", "source_id": "10001"},
        ])

    def test_the_plain_file_gives_what_stands_in_its_remarks(self):
        entries, _ = import_sanctions.read(sample("sdn.csv"))
        self.assertEqual(entries, [
            {"address": ETH, "asset": "ETH", "name": "EXAMPLE MIXER", "source_id": "10001"},
            {"address": XBT, "asset": "XBT", "name": "EXAMPLE MIXER", "source_id": "10001"},
            {"address": TRON, "asset": "USDT", "name": "DOE, John", "source_id": "10002"},
        ])

    def test_a_text_gives_each_address_once_and_nothing_else(self):
        entries, _ = import_sanctions.read(sample("addresses.txt"))
        self.assertEqual(entries, [{"address": ETH}, {"address": TRON}])

    def test_the_version_follows_from_what_is_in_it(self):
        day = datetime.date(2026, 5, 6)
        one, other = [{"address": ETH}], [{"address": TRON}]
        self.assertEqual(import_sanctions.version_of(one, day), import_sanctions.version_of(list(one), day))
        self.assertNotEqual(import_sanctions.version_of(one, day), import_sanctions.version_of(other, day))
        self.assertTrue(import_sanctions.version_of(one, day).startswith("2026-05-06-"))

    def test_many_entries_come_in_chunks(self):
        entries = [{"address": f"0x{number:040x}"} for number in range(1_001)]
        chunks = list(import_sanctions.chunks_of(entries, datetime.date(2026, 5, 6)))
        self.assertEqual([len(chunk["entries"]) for chunk in chunks], [500, 500, 1])
        self.assertEqual([(chunk["chunk"], chunk["chunks"]) for chunk in chunks], [(0, 3), (1, 3), (2, 3)])


class Sending(unittest.TestCase):
    """A server that fails once, then takes everything."""

    def setUp(self):
        self.taken = taken = []
        failures = [503]

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status = failures.pop() if failures else 200
                if status == 200:
                    taken.append((self.path, self.headers["authorization"], body))
                answer = {"current": {"version": body["version"], "entries": len(body["entries"])}}
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def run_with(self, *arguments):
        os.environ["TENON_KEY"] = "tk_test"
        url = f"http://127.0.0.1:{self.server.server_port}/sandbox-providers"
        out = io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch("import_sanctions.time.sleep"):
            import_sanctions.main([*arguments, "--list", "ofac-sdn", "--url", url])
        return out.getvalue()

    def test_a_file_is_sent_with_the_key_and_again_where_the_host_was_busy(self):
        out = self.run_with(sample("sdn_advanced.xml"))
        (path, authorization, body), = self.taken
        self.assertEqual((path, authorization), ("/sandbox-providers/v1/sanctions/lists/ofac-sdn", "Bearer tk_test"))
        self.assertEqual((body["published_at"], len(body["entries"])), ("2026-05-06T00:00:00Z", 3))
        self.assertIn("3 entries", out)

    def test_a_file_without_addresses_changes_nothing(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as empty:
            with self.assertRaises(SystemExit):
                self.run_with(empty.name)
        self.assertEqual(self.taken, [])

    def test_a_file_that_is_broken_in_the_middle_changes_nothing(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as broken, open(sample("sdn_advanced.xml")) as whole:
            text = whole.read()
            broken.write(text[:len(text) * 9 // 10])
            broken.flush()
            with self.assertRaises(SystemExit):
                self.run_with(broken.name)
        self.assertEqual(self.taken, [])

    def test_a_dry_run_sends_nothing(self):
        out = self.run_with(sample("sdn.csv"), "--dry-run")
        self.assertEqual((len(out.splitlines()), self.taken), (3, []))


if __name__ == "__main__":
    unittest.main()
