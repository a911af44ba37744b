//! The parts of `docs/fleet` that are generated: these tests fail where one is stale, and write it with `UPDATE_DOCS=1`.

use std::path::Path;

use crate::api::errors::FAILURES;
use crate::rules::flow::transport;
use crate::rules::progress as edges;
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

const STATES_HEAD: &str = "# States of an order\n\n\
    <!-- generated from the rules: UPDATE_DOCS=1 cargo test -p fleet --lib documents:: -->\n\n\
    An order moves along its order configuration; this is the one that every organization has (`transport`). `status` is\n\
    the code of the last activity. One that is refused changes nothing, and says why (`errors.md`).\n\n";

const TOURS: &str = "\n## Tours\n\n\
    An order with waypoints stays `started` until its end. Pickup, waypoints and dropoff go the way from `started` on by\n\
    themselves, each with a tracking number of its own, by update-activity of the current stop\n\
    (`payload.current_waypoint`, which set-destination changes). `completed` and `failed` are of the stop; the next one\n\
    that is not done becomes the current one. The last one ends the order: it is completed, or has failed where every stop\n\
    has. `canceled` ends the whole tour.\n";

fn states() -> String {
    [STATES_HEAD, &edges::markdown(&transport()), TOURS].concat()
}

fn compare(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet").join(name);
    #[expect(clippy::disallowed_methods, reason = "says what the test does, not what the plugin does")]
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    if update {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/fleet/{name} is stale: run `UPDATE_DOCS=1 cargo test -p fleet --lib documents::` and review it"
    );
}

#[test]
fn every_error_is_documented_as_it_is() {
    compare("errors.md", &page());
}

#[test]
fn every_edge_of_an_order_is_documented_as_it_is() {
    compare("states.md", &states());
}
