//! What becomes of a resource in an event.

use serde_json::{Value, json};

use super::*;

#[test]
fn resources_within_are_reduced_to_their_ids() {
    let shown = json!({
        "id": "order_1",
        "payload": {"id": "payload_1", "pickup": {"id": "place_1"}},
        "tracking_number": {"id": "track_1", "tracking_number": "ACM1SG"},
        "tracking_statuses": [{"id": "status_1"}, {"id": "status_2"}],
        "files": [],
        "location": {"type": "Point", "coordinates": [1, 2]},
        "meta": {"id": "mine", "seen_at": "2026-05-07T08:30:00.000000Z"},
        "created_at": "2026-05-07T08:30:00.000000Z",
        "scheduled_at": null,
    });
    let extra = [("tracking_number", "\"ACM1SG\"".to_owned()), ("order_id", "\"order_1\"".to_owned())];
    let data: Value = serde_json::from_str(&data(&shown.to_string(), &extra).unwrap()).unwrap();
    let expected = json!({
        "id": "order_1",
        "payload": "payload_1",
        "tracking_number": "ACM1SG",
        "tracking_statuses": ["status_1", "status_2"],
        "files": [],
        "location": {"type": "Point", "coordinates": [1, 2]},
        "meta": {"id": "mine", "seen_at": "2026-05-07T08:30:00.000000Z"},
        "created_at": "2026-05-07 08:30:00",
        "scheduled_at": null,
        "order_id": "order_1",
    });
    assert_eq!(data, expected);
}
