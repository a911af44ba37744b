#!/bin/sh
# Fetches third-party programs for conformance tests into target/conformance, from the configured npm and pip registries: a released
# client of the fleet interface, and a generator of requests from OpenAPI documents. They are not shipped. A program that cannot be
# fetched is reported, and its tests are skipped. Prints nothing if nothing is missing.
set -eu

here=tests/conformance
there=target/conformance

has() { command -v "$1" >/dev/null 2>&1; }

# once NAME LIST FUNCTION: calls FUNCTION unless the programs of LIST have been fetched.
once() {
    if cmp -s "$2" "$there/$1/fetched"; then
        return
    fi
    echo "fetching: $1"
    rm -rf "${there:?}/$1"
    mkdir -p "$there/$1"
    if "$3" "$there/$1" >"$there/$1.log" 2>&1; then
        cp "$2" "$there/$1/fetched"
    else
        tail -n 3 "$there/$1.log" >&2
        echo "$1 cannot be fetched: its tests are skipped. They need nodejs, npm, python3-venv and the registries." >&2
    fi
}

fleet_sdk() {
    cp "$here/fleet-sdk/package.json" "$here/fleet-sdk/.npmrc" "$1" && (cd "$1" && npm install)
}

schemathesis() {
    python3 -m venv "$1" && "$1/bin/pip" install --disable-pip-version-check -r "$here/schemathesis/requirements.txt"
}

if { ! has npm || ! python3 -c "import ensurepip" 2>/dev/null; } && [ "$(id -u)" = 0 ] && has apt-get; then
    echo "installing: nodejs npm python3-venv"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm python3-venv; } ||
        true
fi
once fleet-sdk "$here/fleet-sdk/package.json" fleet_sdk
once schemathesis "$here/schemathesis/requirements.txt" schemathesis
