//! The parts of `docs/fleet` that are generated: these tests fail where one is stale, and write it with `UPDATE_DOCS=1`.

use std::path::Path;

use crate::api::errors::FAILURES;
use crate::rules::flow::transport;
use crate::rules::progress as edges;
use crate::rules::refusal::table;

const HEAD: &str = "# Errors of the fleet interface\n\n\
    <!-- generated from the rules: UPDATE_DOCS=1 cargo test -p fleet --lib documents:: -->\n\n\
    Every answer of this interface with a status from 400 on has the same body, whether the rules refuse or the host could\n\
    not let them answer. `error` is the first sentence, `errors` has each once (of more than fifty, fifty and \"And 23 more.\"),\n\
    `code` is for programs and stays as it is, `request_id` is what support asks for:\n\n\
    ```json\n\
    {\"error\": \"…\", \"errors\": [\"…\"], \"code\": \"VALIDATION_FAILED\", \"request_id\": \"req_…\"}\n\
    ```\n\n\
    A refused request changes nothing. What belongs to another organization is answered exactly as what does not exist.\n\
    A field is named as it was sent, a position by its coordinate, one within an object or a list with the way to it, items counting from 0:\n\
    \"The payload.entities.3.weight field must be between 0 and 1000000000.\" An object that has a member twice is refused (422), in what is\n\
    free-form as well.\n\
    A field, and a parameter of a list, that nobody reads is named in the headers `X-Unknown-Fields` and `X-Unknown-Parameters` of\n\
    the answer; with `Prefer: handling=strict` or `?strict=true` it is refused instead (422, `VALIDATION_FAILED`).\n\
    What stands in the place of a `limit` that is not possible is told in `X-Changed-Parameters` ([lists](lists.md)).\n\n\
    ## Refusals of the rules\n\n";

const FAILURES_HEAD: &str = "\n## Failures that any request can meet\n\n\
    The host says them before a rule is asked, or after one has failed; the body is the one above. A body that comes too\n\
    slowly is `MALFORMED_REQUEST` with status 408, a transfer coding other than chunked the same with 501, an `Expect` other than `100-continue` with 417. 405 has `Allow`, 429\n\
    `Retry-After`.\n\n\
    | status | code | sentence |\n|---|---|---|\n";

const ELSEWHERE: &str = "\n## Where the interface has no word\n\n\
    A path that begins like none of its own (`/v1/nonsense`), on a host that serves other interfaces at the same address, is\n\
    answered by the host itself, as `application/problem+json` (RFC 9457). Clients that know `code` and `request_id` read it\n\
    as well; the codes are those of [the host](../errors.md):\n\n\
    ```json\n\
    {\"type\": \"about:blank\", \"title\": \"Not Found\", \"status\": 404, \"code\": \"not-found\", \"request_id\": \"req_…\"}\n\
    ```\n\n\
    What is no HTTP at all gets a bare status: 400, or 431 where the headers are too large.\n";

fn page() -> String {
    let mut rows: Vec<String> = FAILURES
        .iter()
        .map(|failure| format!("| {} | `{}` | {} |\n", failure.status, failure.code, failure.message))
        .collect();
    rows.push(
        "| 410 | `EVENT_NOT_KEPT` | The event that `after` names is not known, or not kept any more. |\n".to_owned(),
    );
    rows.sort();
    [HEAD, &table::markdown(), FAILURES_HEAD, &rows.concat(), ELSEWHERE].concat()
}

const STATES_HEAD: &str = "# States of an order\n\n\
    <!-- generated from the rules: UPDATE_DOCS=1 cargo test -p fleet --lib documents:: -->\n\n\
    An order moves along its order configuration; this is the one that every organization has (`transport`). `status` is\n\
    the code of the last activity. One that is refused changes nothing, and says why (`errors.md`).\n\
    Who accepts an ad-hoc order is named in `assign` of start or update-activity, or is the driver whose token it is asked with.\n\n";

const TOURS: &str = "\n## Tours\n\n\
    An order with waypoints stays `started` until its end. Pickup, waypoints and dropoff go the way from `started` on by\n\
    themselves, each with a tracking number of its own, by update-activity of the current stop\n\
    (`payload.current_waypoint`, which set-destination changes). `completed` and `failed` are of the stop; the next one\n\
    that is not done becomes the current one. The last one ends the order: it is completed, or has failed where every stop\n\
    has. `canceled` ends the whole tour.\n";

fn states() -> String {
    [STATES_HEAD, &edges::markdown(&transport()), TOURS].concat()
}

const EVENTS_HEAD: &str = "# Events of the fleet interface, one by one\n\n\
    <!-- generated from the manifest: UPDATE_DOCS=1 cargo test -p fleet --lib documents:: -->\n\n\
    How they are heard stands in [events.md](events.md). `data` is the resource as it then is,\n\
    with other resources as their ids; so is a driver's `photo_url` that is a file. An event is told with the commit that it is about: of what was refused nothing is told.\n\n\
    | event | told when |\n|---|---|\n";

const EVENTS_NOTES: &str = "\n## Ready, and not heard\n\n\
    `order.ready` says that a dispatch would be accepted from now on: the order has a driver or is ad hoc, and `dispatched`\n\
    follows where it stands (with a configuration of your own that may be after an activity like `paid`). It is told each time\n\
    that this becomes so. An order that is made with `dispatch: true` is told as dispatched, not as ready.\n\n\
    `order.dispatch_failed` follows `order.dispatched` where nobody hears of an ad-hoc order: no driver is online within\n\
    `adhoc_distance` of the pickup, or the pickup is not located; `reason` is a sentence that says which. The order stays\n\
    dispatched and is in every driver's list: give it a driver (`PUT /v1/orders/{id}`), or cancel it. A dispatch that the rules\n\
    refuse is answered with the refusal and changes nothing, so nothing is told of it.\n\n\
    ## What an order carries\n\n\
    `entity.activity` follows each activity of the order; on a tour, those of the stop that the entity goes to (`destination`),\n\
    while one without a destination follows the order on a tour as well. `entity.completed` comes besides where the activity\n\
    completes, `entity.driver_assigned` where the order is given to a driver. These three leave out `description`, `photo` and\n\
    `meta`, which `GET /v1/entities/{id}` shows.\n\n\
    What comes and goes with an order or a payload is told with it: `entity.created` is of one that was created by itself.\n\
    One that a list takes into an order or a payload, one that it changes, and one whose stop has gone are told as\n\
    `entity.updated`, one that a new list does not have any more as `entity.deleted`, all without what the three leave out.\n";

fn events() -> String {
    let manifest: serde_json::Value = serde_json::from_str(&crate::PLUGIN.describe()).unwrap();
    let types = manifest["event-types"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let rows = types.map(|event| format!("| `{}` | {} |\n", text(&event["name"]), text(&event["description"])));
    [EVENTS_HEAD, &rows.collect::<String>(), EVENTS_NOTES].concat()
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

#[test]
fn every_event_is_documented_as_it_is() {
    compare("event-types.md", &events());
}
