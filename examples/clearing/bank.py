#!/usr/bin/env python3
"""A bank's core system, as the clearing plugin asks it: POST /decisions and POST /determinations (docs/clearing.md).

It may be asked several times for one uetr, so a decision is on disk before it is told, and told again as it was.

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


def decide_once(payment):
    with DECISIONS:
        DECISIONS.execute("BEGIN IMMEDIATE")
        known = DECISIONS.execute("SELECT answer FROM decisions WHERE uetr = ?", [payment["uetr"]]).fetchone()
        answer = json.loads(known[0]) if known else decide(payment)
        DECISIONS.execute("INSERT OR IGNORE INTO decisions VALUES (?, ?)", [payment["uetr"], json.dumps(answer)])
    return answer


class Core(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])), parse_float=Decimal)
        answers = {"/decisions": decide_once, "/determinations": determine}
        answer = json.dumps(answers[self.path](asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


if __name__ == "__main__":
    DECISIONS = sqlite3.connect(sys.argv[2], isolation_level=None)
    DECISIONS.execute("CREATE TABLE IF NOT EXISTS decisions (uetr TEXT PRIMARY KEY, answer TEXT NOT NULL)")
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Core)
    print(f"the core system listens on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
