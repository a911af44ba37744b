"""Checks signatures with the Python library of Standard Webhooks.

Run `pip install -r requirements.txt` first. A test of the host then runs this script:
cargo test --workspace --lib -- --ignored independent

On standard input: {"secret", "wrongSecret", "body" (base64), "fresh": headers, "old": headers}.
"""

import base64
import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def accepts(secret, text, headers):
    try:
        Webhook(secret).verify(text, headers)
        return True
    except WebhookVerificationError:
        return False


case = json.load(sys.stdin)
text = base64.b64decode(case["body"]).decode()
changed = ("[" if text[0] == "{" else "{") + text[1:]
cases = [
    ("signed message is accepted", accepts(case["secret"], text, case["fresh"]), True),
    ("changed byte is rejected", accepts(case["secret"], changed, case["fresh"]), False),
    ("old timestamp is rejected", accepts(case["secret"], text, case["old"]), False),
    ("wrong secret is rejected", accepts(case["wrongSecret"], text, case["fresh"]), False),
]
for name, got, expected in cases:
    print("ok" if got == expected else "FAILED", name, sep=": ")
sys.exit(0 if all(got == expected for _, got, expected in cases) else 1)
