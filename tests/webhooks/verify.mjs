// Checks signatures with the npm library of Standard Webhooks. Run `npm ci` first. A test of the host then runs this script:
// cargo test --workspace --lib -- --ignored independent
//
// On standard input: {"secret", "wrongSecret", "body" (base64), "fresh": headers, "old": headers}.

import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, wrongSecret, body, fresh, old } = JSON.parse(readFileSync(0, "utf8"));
const bytes = Buffer.from(body, "base64");
const text = bytes.toString("utf8");
const changed = (text[0] === "{" ? "[" : "{") + text.slice(1);

function accepts(secret, text, headers) {
  try {
    new Webhook(secret).verify(text, headers);
    return true;
  } catch {
    return false;
  }
}

const cases = [
  ["signed message is accepted", accepts(secret, text, fresh), true],
  ["changed byte is rejected", accepts(secret, changed, fresh), false],
  ["old timestamp is rejected", accepts(secret, text, old), false],
  ["wrong secret is rejected", accepts(wrongSecret, text, fresh), false],
];
for (const [name, got, expected] of cases) {
  console.log(`${got === expected ? "ok" : "FAILED"}: ${name}`);
}
process.exit(cases.every(([, got, expected]) => got === expected) ? 0 : 1);
