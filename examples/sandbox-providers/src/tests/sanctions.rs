//! Lists, and who stands on them.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use super::support::*;

const MIXER: &str = "0x8589427373D6D84E98730D7795D8f6f8731FDA16";

fn put(host: &TestHost, version: &str, (chunk, chunks): (u32, u32), addresses: &[&str]) -> TestAnswer {
    let entries: Vec<Value> = addresses
        .iter()
        .map(|it| json!({"address": it, "asset": "ETH", "name": "EXAMPLE MIXER", "source_id": "7"}))
        .collect();
    let body = json!({
        "version": version,
        "published_at": "2026-05-06T00:00:00Z",
        "chunk": chunk,
        "chunks": chunks,
        "entries": entries,
    });
    host.call(TestCall::put("/v1/sanctions/lists/ofac-sdn").json(&body))
}

fn screen(host: &TestHost, address: &str) -> Value {
    get(host, &format!("/v1/screening?blockchain=base&address={address}"))
}

#[test]
fn an_evm_address_is_found_in_any_case_and_others_as_they_are() {
    let host = host();
    assert_eq!(screen(&host, MIXER)["lists"][0]["list"], "sandbox", "as long as there is no other");
    assert_eq!(screen(&host, "0x0000000000000000000000000000000000000BAD")["is_sanctioned"], true);
    put(&host, "v1", (0, 1), &[MIXER, "TNiq9AXBp9EjUqhDhrwrfvAA8U3GUQZH81"]);
    for (address, is_sanctioned) in [
        (MIXER.to_lowercase().as_str(), true),
        (MIXER, true),
        ("TNiq9AXBp9EjUqhDhrwrfvAA8U3GUQZH81", true),
        ("tniq9axbp9ejuqhdhrwrfvaa8u3guqzh81", false),
        (OURS, false),
    ] {
        assert_eq!(screen(&host, address)["is_sanctioned"], is_sanctioned, "{address}");
    }
    let found = screen(&host, MIXER);
    assert_eq!(found["lists"][0]["version"], "v1");
    assert_eq!(
        (&found["lists"][0]["entries"], &found["lists"][0]["published_at"]),
        (&json!(2), &json!("2026-05-06T00:00:00.000000Z"))
    );
    assert_eq!(found["matches"][0]["name"], "EXAMPLE MIXER");
}

#[test]
fn a_new_version_counts_when_all_of_it_is_there_and_replaces_the_whole() {
    let host = host();
    put(&host, "v1", (0, 1), &[MIXER]);
    put(&host, "v2", (1, 2), &[OURS]);
    assert_eq!(
        (screen(&host, MIXER)["is_sanctioned"].clone(), screen(&host, OURS)["is_sanctioned"].clone()),
        (json!(true), json!(false))
    );
    put(&host, "v2", (0, 2), &["TNiq9AXBp9EjUqhDhrwrfvAA8U3GUQZH81"]);
    assert_eq!(
        (screen(&host, MIXER)["is_sanctioned"].clone(), screen(&host, OURS)["is_sanctioned"].clone()),
        (json!(false), json!(true))
    );
    host.run_due();
    assert_eq!(host.record("sanctions-entries", "ofac-sdn/1/0/0"), None, "the old version is cleared");
    assert_eq!(screen(&host, OURS)["lists"][0]["entries"], 2);
}

#[test]
fn a_chunk_again_changes_nothing_and_another_one_in_its_place_is_a_conflict() {
    let host = host();
    put(&host, "v1", (0, 2), &[MIXER]);
    let again = put(&host, "v1", (0, 2), &[MIXER]);
    assert_eq!((again.status, &again.json()["loading"]["received"]), (200, &json!([0])));
    assert_eq!(refusal(&put(&host, "v1", (0, 2), &[OURS])), no(409, "CONFLICT"));
    assert_eq!(refusal(&put(&host, "v1", (1, 3), &[OURS])), no(409, "CONFLICT"));
    put(&host, "v1", (1, 2), &[OURS]);
    let late = put(&host, "v1", (1, 2), &[OURS]);
    assert_eq!((late.status, &late.json()["current"]["entries"]), (200, &json!(2)));
}

#[test]
fn a_version_that_was_given_up_leaves_nothing_behind() {
    let host = host();
    put(&host, "v1", (0, 2), &[MIXER]);
    put(&host, "v2", (0, 2), &[OURS]);
    put(&host, "v1", (0, 1), &["TNiq9AXBp9EjUqhDhrwrfvAA8U3GUQZH81"]);
    host.run_due();
    assert_eq!(screen(&host, MIXER)["is_sanctioned"], false);
    assert_eq!(screen(&host, MIXER)["lists"][0]["entries"], 1);
}

#[test]
fn a_list_can_be_removed_and_an_empty_one_is_refused() {
    let host = host();
    put(&host, "v1", (0, 1), &[MIXER]);
    assert_eq!(refusal(&put(&host, "v2", (0, 1), &[])), no(422, "INVALID_REQUEST"));
    assert_eq!(screen(&host, MIXER)["is_sanctioned"], true);
    assert_eq!(host.call(TestCall::delete("/v1/sanctions/lists/ofac-sdn")).status, 204);
    assert_eq!(screen(&host, MIXER)["lists"][0]["list"], "sandbox");
    host.run_due();
    assert_eq!(host.record("sanctions-entries", "ofac-sdn/1/0/0"), None);
}

#[test]
fn lists_of_one_customer_are_not_those_of_another() {
    let host = host();
    put(&host, "v1", (0, 1), &[MIXER]);
    let other = host.call(TestCall::get(&format!("/v1/screening?address={MIXER}")).tenant("globex/test"));
    assert_eq!(other.json()["lists"][0]["list"], "sandbox");
}
