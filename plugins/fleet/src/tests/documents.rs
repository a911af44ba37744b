//! The part of `docs/fleet` that is generated: this test fails where it is stale, and writes it with `UPDATE_DOCS=1`.

use std::path::Path;

use crate::api::errors::FAILURES;
use crate::rules::refusal::table;

const HEAD: &str = "# Errors of the fleet interface\n\n\
    <!-- generated from the rules: UPDATE_DOCS=1 cargo test -p fleet --lib documents:: -->\n\n\
    Every refusal has the same body. `error` is the first sentence, `errors` has all of them, `code` is for programs and\n\
    stays as it is, `request_id` is what support asks for:\n\n\
    ```json\n\
    {\"error\": \"…\", \"errors\": [\"…\"], \"code\": \"VALIDATION_FAILED\", \"request_id\": \"req_…\"}\n\
    ```\n\n\
    A refused request changes nothing. What belongs to another organization is answered exactly as what does not exist.\n\
    A field or a query parameter that nobody reads is named in the headers `X-Unknown-Fields` and `X-Unknown-Parameters` of\n\
    the answer; with `Prefer: handling=strict` or `?strict=true` it is refused instead (422, `VALIDATION_FAILED`).\n\n\
    ## Refusals of the rules\n\n";

const FAILURES_HEAD: &str = "\n## Failures that any request can meet\n\n| status | code | sentence |\n|---|---|---|\n";

fn page() -> String {
    let mut rows: Vec<String> = FAILURES
        .iter()
        .map(|failure| format!("| {} | `{}` | {} |\n", failure.status, failure.code, failure.message))
        .collect();
    rows.push(
        "| 410 | `EVENT_NOT_KEPT` | The event that `after` names is not known, or not kept any more. |\n".to_owned(),
    );
    rows.sort();
    [HEAD, &table::markdown(), FAILURES_HEAD, &rows.concat()].concat()
}

#[test]
fn every_error_is_documented_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet/errors.md");
    let expected = page();
    #[expect(clippy::disallowed_methods, reason = "says what the test does, not what the plugin does")]
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    if update {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/fleet/errors.md is stale: run `UPDATE_DOCS=1 cargo test -p fleet --lib documents::` and review it"
    );
}
