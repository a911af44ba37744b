#!/bin/sh
# Builds and runs all tests with the given cargo flags (TESTS: only tests whose names contain it) and prints one summary line in cargo's
# format. Programs are built first, because tests start the real `tenon`. The build includes all targets, so that both builds use the
# same set of features. Otherwise most dependencies of the host would be compiled twice.
set -eu

cargo=${CARGO:-cargo}
TESTS=${TESTS:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

$cargo build --all-targets "$@"
# dash has no pipefail, so the status is passed through a file.
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
