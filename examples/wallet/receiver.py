#!/usr/bin/env python3
"""Receives webhooks of a wallet, checks their signatures, and prints a line for each. Standard library alone.

    python3 examples/wallet/receiver.py --port 8099 --key-file wallet.key [--until deposit.success]

A webhook carries the HMAC-SHA512 of its exact bytes, keyed with the wallet's own API key, in hex. Compare it in constant time, on the
bytes as they came, before anything is read out of them; answer 403 where it does not fit and 200 where it does. The same webhook may
come twice: `event` and `data.id` say whether it is known.
"""

import argparse
import hashlib
import hmac
import http.server
import json
import pathlib
import sys


def signature(key: str, body: bytes) -> str:
    return hmac.new(key.encode(), body, hashlib.sha512).hexdigest()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        key = self.server.key_file.read_text().strip() if self.server.key_file.exists() else ""
        is_good = hmac.compare_digest(self.headers.get("x-service-signature", ""), signature(key, body))
        # Before anybody has the key, nothing can be checked: the sender tries again.
        self.send_response(200 if is_good else 403)
        self.send_header("content-length", "0")
        self.end_headers()
        if not is_good:
            print("a webhook with a wrong signature", file=sys.stderr, flush=True)
            return
        told = json.loads(body)
        amount = told["data"].get("amount")
        print(told["event"], amount if amount is not None else "", "signature good", flush=True)
        if told["event"] == self.server.until:
            self.server.is_over = True

    def log_message(self, *_):
        pass


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--port", type=int, default=8099)
    options.add_argument("--key-file", type=pathlib.Path, default=pathlib.Path("wallet.key"))
    options.add_argument("--until", help="ends after the first webhook of this type")
    given = options.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", given.port), Receiver)
    server.key_file, server.until, server.is_over = given.key_file, given.until, False
    server.timeout = 0.2
    while not server.is_over:
        server.handle_request()


if __name__ == "__main__":
    main()
