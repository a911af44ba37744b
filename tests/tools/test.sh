#!/bin/sh
# Builds, runs all tests with the given cargo flags (TESTS: only those whose names contain it), and ends with one line that sums them up, in cargo's own words.
# Programs are built first: tests start the real `tenon`. With all targets, so that both builds have one set of features: with
# two, most of what the host stands on would be compiled twice.
set -eu

cargo=${CARGO:-cargo}
TESTS=${TESTS:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

$cargo build --all-targets "$@"
# dash has no pipefail: the status travels through a file.
{ $cargo test --no-fail-fast "$@" -- $TESTS 2>&1 && echo 0 >"$folder/status" || echo 1 >"$folder/status"; } | tee "$folder/output"

awk '
    /^test result: / { passed += $4; failed += $6; ignored += $8 }
    /^test .* \.\.\. FAILED$/ { names = names "\n  " $2 }
    END {
        if (names != "") printf "\nfailed:%s\n", names
        printf "\ntest result: %s. %d passed; %d failed; %d ignored\n", failed ? "FAILED" : "ok", passed, failed, ignored
    }
' "$folder/output"
exit "$(cat "$folder/status")"
