#!/usr/bin/env python3
"""Every flow of the clearing interface, between the two tenants of plugins.toml, over HTTP against a running host.

`hub` is the platform that sends payments, `bank` the partner that receives them; bank.py plays the bank's core system.
Everything here is what an integrator does: make clients, say where the other side is, submit, settle, look.

    make run                                    # in another terminal
    python3 examples/clearing/flows.py
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = "target/release/tenon"
# What the two sides ask of each other.
TO_BANK = ["identifier.determine", "credit-transfer.authorise", "credit-transfer.authorise-sync",
           "credit-transfer.complete", "credit-transfer.receive", "direct-debit.receive"]
TO_HUB = ["credit-transfer.authorisation-respond", "credit-transfer.respond", "direct-debit.respond"]
OPEN, CLOSED, PROXY = "62001234567", "62007654321", "ada@bank"


class Client:
    """One client of OAuth, made by the operator of the host."""

    def __init__(self, options, tenant, scopes=()):
        self.url = options.url
        command = [options.tenon, "client", "create", "--plugin", "clearing", "--tenant", tenant, "--json",
                   "--environment", "test", "--admin", options.admin, "--data-dir", options.data_dir]
        for scope in scopes:
            command += ["--scope", f"inbound.{scope}"]
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if told.returncode:
            sys.exit("no client was made: is the host running (make run)?")
        made = json.loads(told.stdout)
        self.id, self.secret = made["client_id"], made["client_secret"]
        form = f"grant_type=client_credentials&client_id={self.id}&client_secret={self.secret}"
        self.token = None
        told = self.send("POST", "/oauth2/token", form.encode(), "application/x-www-form-urlencoded")
        self.token = told["access_token"]

    def send(self, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(self.url + path, body, method=method)
        if body:
            request.add_header("Content-Type", content_type)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer, parse_float=Decimal)
        except urllib.error.HTTPError as refused:
            sys.exit(f"{method} {path}: {refused.code} {refused.read().decode()}")

    def get(self, path):
        return self.send("GET", path)

    def post(self, path, body):
        return self.send("POST", path, json.dumps(body).encode())

    def put(self, path, body):
        return self.send("PUT", path, json.dumps(body).encode())

    def destination(self):
        """How the other side reaches this tenant: as this client."""
        return {"base_url": f"{self.url}/v1", "kind": "oauth2", "token_url": f"{self.url}/oauth2/token",
                "client_id": self.id, "client_secret": self.secret}


class Scene:
    """Both sides, introduced to each other."""

    def __init__(self, options, core):
        self.hub, self.bank = Client(options, "hub"), Client(options, "bank")
        to_bank, to_hub = Client(options, "bank", TO_BANK), Client(options, "hub", TO_HUB)
        self.bank.put("/v1/clearing/destinations/platform", to_hub.destination())
        self.bank.put("/v1/clearing/destinations/bank", {"base_url": core, "kind": "none"})
        self.partner = f"bank-{uuid.uuid4().hex[:8]}"
        self.hub.post("/v1/clearing/partners", {
            "id": self.partner, "payment_schemes": ["ZA_RTC", "ZA_RPP", "ZA_EFT"], "client_ids": [to_hub.id],
            "destination": to_bank.destination()})

    def submit(self, operation, scheme, **fields):
        """The hub sends a payment of 100.50 to the bank."""
        uetr = str(uuid.uuid4())
        self.hub.post("/v1/clearing/payments", {
            "operation": operation, "partner": self.partner, "uetr": uetr, "payment_scheme": scheme,
            "end_to_end_identification": f"E2E-{uetr[:8]}", "message_identification": f"M-{uetr[:8]}",
            "bank_settlement_amount_value": 100.50, "bank_settlement_amount_currency": "ZAR", **fields})
        return uetr

    def settle(self, uetr, **fields):
        """What the scheme made of it."""
        today = time.strftime("%Y-%m-%d", time.gmtime())
        self.hub.post(f"/v1/clearing/payments/{uetr}/settlement", {"settlement_date": today, **fields})

    def until(self, client, uetr, **wanted):
        """The payment, as this side sees it, once its members are these."""
        shown, end = None, time.monotonic() + 60
        while time.monotonic() < end:
            shown = client.get(f"/v1/clearing/transactions/{uetr}")
            if all(shown.get(member) == value for member, value in wanted.items()):
                return shown
            time.sleep(0.05)
        sys.exit(f"{uetr} is not {wanted} in time: {json.dumps(shown, default=str)}")


def pay(scene, operation, scheme, **fields):
    uetr = scene.submit(operation, scheme, **fields)
    scene.until(scene.hub, uetr, state="approved")
    scene.settle(uetr)
    scene.until(scene.hub, uetr, state="completed", delivery="delivered")
    return scene.until(scene.bank, uetr, state="completed", bank_notification="delivered")


def real_time(scene):
    return pay(scene, "credit-transfer-authorisation", "ZA_RTC", creditor_account_number=OPEN)


def real_time_synchronous(scene):
    return pay(scene, "credit-transfer-authorisation-sync", "ZA_RTC", creditor_account_number=OPEN)


def rapid_by_proxy(scene):
    done = pay(scene, "credit-transfer-authorisation", "ZA_RPP", creditor_account_proxy=PROXY)
    assert done["account_number"] == OPEN, done
    return done


def rapid_synchronous(scene):
    return pay(scene, "credit-transfer-authorisation-sync", "ZA_RPP", creditor_account_number=OPEN)


def rejected(scene):
    uetr = scene.submit("credit-transfer-authorisation", "ZA_RTC", creditor_account_number=CLOSED)
    scene.until(scene.hub, uetr, state="rejected")
    return scene.until(scene.bank, uetr, state="rejected", status_reason="AC04", bank_notification="delivered")


def not_settled(scene):
    """The scheme says no after the bank said yes: its hold is released, and the payment stays unfinished."""
    uetr = scene.submit("credit-transfer-authorisation", "ZA_RTC", creditor_account_number=OPEN)
    scene.until(scene.hub, uetr, state="approved")
    scene.settle(uetr, transaction_status="REJECTED")
    scene.until(scene.hub, uetr, delivery="delivered")
    done = scene.until(scene.bank, uetr, state="approved", bank_notification="delivered")
    assert done["completion"]["transaction_status"] == "REJECTED", done
    return done


def transfer(scene):
    uetr = scene.submit("credit-transfer", "ZA_EFT", creditor_account_number=OPEN)
    scene.until(scene.hub, uetr, state="completed")
    return scene.until(scene.bank, uetr, state="completed", response="delivered", bank_notification="delivered")


def transfer_sent_back(scene):
    """The money has come; the response asks the platform to take it back."""
    uetr = scene.submit("credit-transfer", "ZA_EFT", creditor_account_number=CLOSED)
    scene.until(scene.hub, uetr, state="rejected")
    done = scene.until(scene.bank, uetr, state="rejected", response="delivered", bank_notification="delivered")
    assert done["transaction_status"] == "REJECTED", done
    return done


def debit(scene):
    uetr = scene.submit("direct-debit", "ZA_EFT", debtor_account_number=OPEN)
    scene.until(scene.hub, uetr, state="approved")
    return scene.until(scene.bank, uetr, state="approved", response="delivered", bank_notification="delivered")


def debit_refused(scene):
    uetr = scene.submit("direct-debit", "ZA_EFT", debtor_account_number=CLOSED)
    scene.until(scene.hub, uetr, state="rejected")
    return scene.until(scene.bank, uetr, state="rejected", bank_notification="delivered")


FLOWS = [real_time, real_time_synchronous, rapid_by_proxy, rapid_synchronous, rejected, not_settled, transfer,
         transfer_sent_back, debit, debit_refused]


def find_program(named):
    """The program that --tenon names, else the one that `make run` builds, else the one in the PATH."""
    if named:
        return shutil.which(named) or sys.exit(f"{named} is no program: name the one of the host with --tenon")
    found = shutil.which(BUILT) or shutil.which("tenon")
    return found or sys.exit(f"there is no {BUILT} (`make run` builds it), and no tenon in the PATH: name it with --tenon")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="where the interfaces are")
    parser.add_argument("--admin", default=os.environ.get("TENON_ADMIN") or "127.0.0.1:9090",
                        help="where the operators' listener is; default: TENON_ADMIN, else 127.0.0.1:9090")
    parser.add_argument("--data-dir", default=os.environ.get("TENON_DATA_DIR") or "data",
                        help="the host's data folder, with the operators' token; default: TENON_DATA_DIR, else data")
    parser.add_argument("--tenon", help=f"the program; default: {BUILT}, else tenon in the PATH")
    options = parser.parse_args()
    options.tenon = find_program(options.tenon)
    with tempfile.TemporaryDirectory() as folder:
        core = subprocess.Popen([sys.executable, HERE / "bank.py", "0", f"{folder}/decisions.db"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            scene = Scene(options, core.stdout.readline().split()[-1])
            for flow in FLOWS:
                began = time.monotonic()
                done = flow(scene)
                taken_ms = (time.monotonic() - began) * 1000
                print(f"{flow.__name__.replace('_', ' '):24}{done['state']:12}{done['uetr']}  {taken_ms:4.0f} ms")
            print("what needs a look:", json.dumps(scene.hub.get("/v1/clearing/reports/concerns")))
            # Nobody listens there any more.
            scene.bank.send("DELETE", "/v1/clearing/destinations/bank")
        finally:
            core.terminate()
            core.wait()


if __name__ == "__main__":
    main()
