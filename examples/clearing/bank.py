#!/usr/bin/env python3
"""A bank's core system, as the clearing plugin calls it (docs/clearing.md): POST /decisions and POST /determinations before
a payment is decided, POST /outcomes when its outcome is final.

Any of them may arrive several times for one uetr. A decision is on disk before it is answered, and answered again as it was.
An outcome is applied once; the opposite of it is refused. A decision that is requested after the outcome holds nothing.

    python3 examples/clearing/bank.py 8090 decisions.db
"""
import json
import sqlite3
import sys
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer

ACCOUNTS = {"62001234567": "open", "62007654321": "closed"}
PROXIES = {"ada@bank": "62001234567"}
MOST = Decimal("1000000")
BOOKINGS = {"post": "booked", "release": "released"}


def rejected(reason):
    return {"transaction_status": "REJECTED", "status_reason": reason}


def determine(asked):
    account = PROXIES.get(asked["creditor_account_proxy"])
    return {"transaction_status": "APPROVED", "account_number": account} if account else rejected("BE23")


def decide(payment):
    side = "debtor" if payment["operation"] == "direct-debit" else "creditor"
    account = payment.get(f"{side}_account_number") or PROXIES.get(payment.get("creditor_account_proxy"), "62001234567")
    if account not in ACCOUNTS:
        return rejected("AC01")
    if ACCOUNTS[account] == "closed":
        return rejected("AC04")
    if payment["bank_settlement_amount_value"] > MOST:
        return rejected("AM02")
    return {"transaction_status": "APPROVED", "account_number": account}


def name_of(message):
    """A uetr is unique within a tenant."""
    return f"{message['tenant']} {message['uetr']}"


def decide_once(payment):
    """The first answer for this uetr, which holds the amount; nothing is held once the outcome is known."""
    with DATABASE:
        DATABASE.execute("BEGIN IMMEDIATE")
        known = DATABASE.execute("SELECT answer FROM decisions_by_tenant WHERE payment = ?", [name_of(payment)]).fetchone()
        if known:
            return json.loads(known[0])
        ended = DATABASE.execute("SELECT 1 FROM outcomes_by_tenant WHERE payment = ?", [name_of(payment)]).fetchone()
        answer = rejected("AB05") if ended else decide(payment)
        DATABASE.execute("INSERT INTO decisions_by_tenant VALUES (?, ?)", [name_of(payment), json.dumps(answer)])
    return answer


def conclude(outcome, idempotency_key):
    """Status and body of the answer: the outcome is applied once, and its opposite refused."""
    uetr, booking = outcome.get("uetr"), BOOKINGS.get(outcome.get("outcome"))
    is_whole = uetr and booking and outcome.get("tenant") and idempotency_key
    if not is_whole or not idempotency_key.endswith(f":{uetr}"):
        return 422, {"error": "tenant, uetr, outcome and Idempotency-Key must belong together"}
    if booking == "booked" and outcome.get("account_number") not in ACCOUNTS:
        return 422, {"error": "account_number is not an account of this bank"}
    with DATABASE:
        DATABASE.execute("BEGIN IMMEDIATE")
        known = DATABASE.execute("SELECT booking FROM outcomes_by_tenant WHERE payment = ?", [name_of(outcome)]).fetchone()
        if known and known[0] != booking:
            return 409, {"error": f"the payment is {known[0]} already"}
        if not known:
            DATABASE.execute("INSERT INTO outcomes_by_tenant VALUES (?, ?)", [name_of(outcome), booking])
    if not known:
        print(f"{uetr} {booking}", flush=True)
    return 200, {"uetr": uetr, "booking": booking}


class Core(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])), parse_float=Decimal)
        if self.path == "/outcomes":
            status, answer = conclude(asked, self.headers["Idempotency-Key"])
        else:
            answers = {"/decisions": decide_once, "/determinations": determine}
            status, answer = 200, answers[self.path](asked)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    DATABASE = sqlite3.connect(sys.argv[2], isolation_level=None)
    # A file of an earlier example has the tables `decisions` and `outcomes`, which are keyed by uetr alone.
    DATABASE.execute("CREATE TABLE IF NOT EXISTS decisions_by_tenant (payment TEXT PRIMARY KEY, answer TEXT NOT NULL)")
    DATABASE.execute("CREATE TABLE IF NOT EXISTS outcomes_by_tenant (payment TEXT PRIMARY KEY, booking TEXT NOT NULL)")
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Core)
    print(f"the core system listens on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
