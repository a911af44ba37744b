#!/bin/sh
# Checks prerequisites that cargo cannot fetch: a C compiler for SQLite, curl and python3 for documents and examples, the build target
# of guests, the formatter and the linter. Installs them if permitted (root on Debian), otherwise prints the command that does. Prints
# nothing if nothing is missing. With "browser" it checks the prerequisites of tests of pages instead.
set -eu

packages="gcc libc6-dev make git curl ca-certificates python3"

has() { command -v "$1" >/dev/null 2>&1; }

if [ "${1:-}" = browser ]; then
    if has chromium || has chromium-headless-shell || has chromium-browser || has google-chrome; then
        exit 0
    fi
    if [ "$(id -u)" = 0 ] && has apt-get; then
        echo "installing: chromium"
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; then
            exit 0
        fi
    fi
    echo "Chromium is missing: tests of pages are skipped. Install it with:" >&2
    echo "    sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends chromium'" >&2
    exit 0
fi

if ! has cc || ! has curl || ! has python3 || [ ! -e /usr/include/stdio.h ]; then
    line="apt-get update && apt-get install -y --no-install-recommends $packages"
    if [ "$(id -u)" = 0 ] && has apt-get; then
        echo "installing: $packages"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
    else
        echo "A C compiler (for SQLite), curl or python3 (for tests of documents and examples) is missing. Install with:" >&2
        echo "    sudo sh -c '$line'" >&2
        exit 1
    fi
fi

if ! has cargo; then
    echo "cargo is missing. Install Rust from https://rustup.rs, then run this again." >&2
    exit 1
fi

if ! has rustup; then
    # A Rust installation without rustup must include the target. The build fails with a message if it does not.
    exit 0
fi
if ! rustup target list --installed | grep -qx wasm32-wasip2; then
    rustup target add wasm32-wasip2
fi
for component in rustfmt clippy; do
    if ! rustup component list --installed | grep -q "^$component"; then
        rustup component add "$component"
    fi
done
