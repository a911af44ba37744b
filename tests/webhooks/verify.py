"""Checks signatures with the Python library of Standard Webhooks.

`pip install -r requirements.txt` first; a test of the host then feeds it:
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


given = json.load(sys.stdin)
text = base64.b64decode(given["body"]).decode()
changed = ("[" if text[0] == "{" else "{") + text[1:]
cases = [
    ("what was signed is accepted", accepts(given["secret"], text, given["fresh"]), True),
    ("a changed byte is refused", accepts(given["secret"], changed, given["fresh"]), False),
    ("an old timestamp is refused", accepts(given["secret"], text, given["old"]), False),
    ("a wrong secret is refused", accepts(given["wrongSecret"], text, given["fresh"]), False),
]
for name, got, expected in cases:
    print("ok" if got == expected else "FAILED", name, sep=": ")
sys.exit(0 if all(got == expected for _, got, expected in cases) else 1)
