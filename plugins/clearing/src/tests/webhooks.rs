//! Endpoints of webhooks, and the stream.

use serde_json::json;
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use super::support::*;

const ENDPOINTS: &str = "/v1/clearing/webhook-endpoints";

fn created(host: &TestHost) -> String {
    let answer = send(host, ENDPOINTS, &json!({"url": "https://bank.example.com/hooks"}));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn get(host: &TestHost, path: &str) -> TestAnswer {
    host.call(TestCall::get(&format!("{ENDPOINTS}/{path}")))
}

#[test]
fn the_secret_is_shown_when_it_is_new_and_not_again() {
    let host = partner(json!({}));
    let first = send(&host, ENDPOINTS, &json!({"url": "https://bank.example.com/hooks", "description": "ours"}));
    let id = first.json()["id"].as_str().unwrap().to_owned();
    assert!(first.json()["secret"].as_str().unwrap().starts_with("whsec_"));
    assert!(get(&host, &id).json()["secret"].is_null());
    let rotated = send(&host, &format!("{ENDPOINTS}/{id}/rotate"), &json!({})).json();
    assert_ne!(rotated["secret"], first.json()["secret"]);
    assert_eq!(host.call(TestCall::get(ENDPOINTS)).json()["webhook_endpoints"][0]["description"], "ours");
}

#[test]
fn an_endpoint_hears_of_what_it_asked_for() {
    let host = partner(json!({}));
    let id = created(&host);
    let body = json!({"events": ["inbound.credit_transfer.completed"]});
    assert_eq!(host.call(TestCall::put(&format!("{ENDPOINTS}/{id}")).json(&body)).status, 200);
    send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    send(&host, COMPLETE, &minimal(COMPLETE));
    let list = get(&host, &format!("{id}/deliveries")).json();
    let listed = list["deliveries"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["uetr"]), (1, &json!(UETR)));
    let expected = json!({"uetr": UETR, "end_to_end_identification": "E2E-1", "settlement_date": "2026-05-07"});
    assert_eq!(host.deliveries()[0].payload, expected);
}

#[test]
fn what_is_wrong_with_an_endpoint_is_told_by_name() {
    let host = partner(json!({}));
    for (body, expected) in [
        (json!({}), "url is required."),
        (json!({"url": "ftp://x"}), "url is not accepted: "),
        (json!({"url": "https://a.example.com", "events": ["x"]}), "events must be of: inbound."),
        (json!({"url": "https://a.example.com", "events": "x"}), "events must be a list of texts."),
        (json!({"url": 7}), "url must be a text."),
    ] {
        let (status, _, detail) = refusal(&send(&host, ENDPOINTS, &body));
        assert!(status == 422 && detail.starts_with(expected), "{body}: {detail}");
    }
}

#[test]
fn an_endpoint_that_is_gone_is_not_found() {
    let host = partner(json!({}));
    let id = created(&host);
    let event = format!("event_{:032}", 0);
    assert_eq!(get(&host, &format!("{id}/deliveries/{event}/attempts")).status, 404);
    assert_eq!(send(&host, &format!("{ENDPOINTS}/{id}/deliveries/{event}/redeliver"), &json!({})).status, 404);
    for query in ["status=lost", "after=nowhere", "limit=0"] {
        assert_eq!(get(&host, &format!("{id}/deliveries?{query}")).status, 422, "{query}");
    }
    assert_eq!(send(&host, &format!("{ENDPOINTS}/{id}/recover"), &json!({"since": "x"})).status, 422);
    assert_eq!(host.call(TestCall::delete(&format!("{ENDPOINTS}/{id}"))).status, 200);
    assert_eq!((get(&host, &id).status, get(&host, "webhook_x").status), (404, 404));
}

#[test]
fn the_feed_is_read_page_by_page_and_goes_on_where_it_ended() {
    let host = partner(json!({}));
    let read = |query: &str| host.call(TestCall::get(&format!("/v1/clearing/events?{query}"))).json();
    assert_eq!(read(""), json!({"events": [], "next": null, "more": false}));
    send(&host, AUTHORISE_SYNC, &minimal(AUTHORISE_SYNC));
    let first = read("limit=1");
    assert_eq!((&first["events"][0]["uetr"], &first["more"]), (&json!(UETR), &json!(true)));
    let rest = read(&format!("after={}", first["next"].as_str().unwrap()));
    assert_eq!((rest["events"].as_array().unwrap().len(), &rest["more"]), (1, &json!(false)));
    let next = rest["next"].as_str().unwrap();
    assert_eq!(read(&format!("after={next}"))["next"], next);
    assert_eq!(read("events=inbound.direct_debit.received")["events"], json!([]));
    for query in ["after=nowhere", "events=x", "uetrs=x", "limit=0"] {
        assert_eq!(host.call(TestCall::get(&format!("/v1/clearing/events?{query}"))).status, 422, "{query}");
    }
}

#[test]
fn a_stream_shows_everything_unless_it_names_what() {
    let host = partner(json!({}));
    let open = |query: &str| host.call(TestCall::get(&format!("/v1/clearing/stream{query}")));
    assert_eq!(open("").json(), json!({"event_types": [], "subjects": []}));
    let named = open(&format!("?events=inbound.direct_debit.received&uetrs={}", UETR.to_uppercase()));
    assert_eq!(named.json(), json!({"event_types": ["inbound.direct_debit.received"], "subjects": [UETR]}));
    for query in ["?events=x".to_owned(), "?uetrs=x".to_owned(), format!("?uetrs={}", format!("{UETR},").repeat(101))] {
        assert_eq!(open(&query).status, 422, "{query}");
    }
}
