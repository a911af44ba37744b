//! The six events on both sides, by the feed, by the stream and as signed webhooks: the same bytes each way, with the payload
//! of the specification (spec/clearing: Events).

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use http::HeaderMap;
use hyper::body::Bytes;
use serde_json::{Value, json};
use sha2::Sha256;

use super::{
    actor::Actor,
    coverage::Side::{self, Bank, Hub},
    messages::{ACCOUNT, AUTHORISE, DEBIT, PROXY, TRANSFER, UETR, minimal, payment, uetr},
    routes::{ACCOUNTS, HOOKS},
    stage::Stage,
};
use crate::support::{RawConnection, ReceivedRequest, ReceiverResponse, Response, TestReceiver};

const FEED: &str = "/v1/clearing/events";

/// A stream that has begun.
async fn open(stage: &Stage, actor: &Actor, query: &str, more: &str) -> RawConnection {
    let (mut stream, token) = (RawConnection::open(stage.host.base()).await, actor.token().await);
    let head = format!(
        "GET /v1/clearing/stream{query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n{more}\r\n"
    );
    stream.send(&head).await;
    stream.read_until("retry: ").await;
    let begun = stream.text();
    assert!(begun.starts_with("HTTP/1.1 200") && begun.contains("content-type: text/event-stream"), "{begun}");
    let answer = Response { status: 200, headers: HeaderMap::new(), body: Bytes::new() };
    stage.note_answer("GET", "/v1/clearing/stream", &answer);
    stream
}

/// The ids of the events that came, in their order.
fn ids(stream: &RawConnection) -> Vec<String> {
    stream.text().lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

/// The signature is that of Standard Webhooks: over id, time and body, with the secret that was shown once.
#[track_caller]
pub fn check_signature(secret: &str, arrived: &ReceivedRequest) {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
    mac.update(format!("{}.{}.", arrived.id(), arrived.header("webhook-timestamp")).as_bytes());
    mac.update(&arrived.body);
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    let given = arrived.header("webhook-signature");
    assert!(given.split(' ').any(|signature| signature == expected), "{given} is not {expected}");
}

/// Everything that happens to four payments: one to a proxy, approved and completed; one rejected; one of each EFT sort.
async fn happen(stage: &Stage) {
    stage.bank.post(ACCOUNTS, json!({"account_number": "8", "status": "closed"})).await.check(201);
    let pay = async |number: u64, path: &str, mut changes: Value| {
        changes["uetr"] = json!(uetr(number));
        stage.hub.post("/v1/clearing/payments", payment(path, changes)).await.check(202);
        stage.until(Bank, &uetr(number), "response", "delivered").await;
    };
    pay(1, AUTHORISE, json!({"payment_scheme": "ZA_RPP", "creditor_account_proxy": PROXY})).await;
    let settlement = format!("/v1/clearing/payments/{}/settlement", uetr(1));
    stage.hub.post(&settlement, json!({"settlement_date": "2026-05-07"})).await.check(202);
    stage.until(Bank, &uetr(1), "state", "completed").await;
    pay(2, AUTHORISE, json!({"creditor_account_number": "8"})).await;
    pay(3, TRANSFER, json!({})).await;
    pay(4, DEBIT, json!({})).await;
}

/// What is told of them, payload by payload.
fn expected() -> Vec<(&'static str, Value)> {
    let money = json!({"bank_settlement_amount_value": 100.5, "bank_settlement_amount_currency": "ZAR"});
    let with = |number: u64, more: Value| {
        let mut payload = json!({"uetr": uetr(number), "end_to_end_identification": "E2E-1"});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let authorisation = |number: u64, scheme: &str| {
        let mut more = json!({"message_identification": "M-1", "payment_scheme": scheme});
        more.as_object_mut().unwrap().extend(money.as_object().unwrap().clone());
        with(number, more)
    };
    vec![
        (
            "inbound.identifier.determination_received",
            json!({"creditor_account_proxy": PROXY, "payment_scheme": "ZA_RPP"}),
        ),
        ("inbound.credit_transfer.authorisation_received", authorisation(1, "ZA_RPP")),
        ("inbound.credit_transfer.authorisation_responded", json!({"uetr": uetr(1), "transaction_status": "APPROVED"})),
        ("inbound.credit_transfer.completed", with(1, json!({"settlement_date": "2026-05-07"}))),
        ("inbound.credit_transfer.authorisation_received", authorisation(2, "ZA_RTC")),
        (
            "inbound.credit_transfer.authorisation_responded",
            json!({"uetr": uetr(2), "transaction_status": "REJECTED", "status_reason": "AC04"}),
        ),
        ("inbound.credit_transfer.received", with(3, money.clone())),
        (
            "inbound.direct_debit.received",
            with(4, json!({"bank_settlement_amount_value": 100.5, "debtor_account_number": ACCOUNT})),
        ),
    ]
}

/// The envelope, with nothing beside the payload.
#[track_caller]
fn check_payloads(told: &[Value], side: Side) {
    let mut missing = expected();
    for event in told {
        let (name, data) = (event["event"].as_str().unwrap(), &event["data"]);
        let at = missing.iter().position(|(wanted, payload)| *wanted == name && payload == data);
        missing.remove(at.unwrap_or_else(|| panic!("{} was not to be told by {}: {event}", name, side.name())));
        assert_eq!(event.as_object().unwrap().len(), 4, "{event}");
        assert!(event["id"].is_string() && event["created_at"].is_string(), "{event}");
    }
    assert!(missing.is_empty(), "{} did not tell {missing:?}", side.name());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_event_is_told_by_both_sides_three_ways_in_the_same_bytes() {
    let stage = Stage::both().await.covers(&["event *", "list-events: 200"]);
    let mut told = Vec::new();
    for side in [Bank, Hub] {
        let receiver = TestReceiver::start(ReceiverResponse::Status(204)).await;
        let hook = stage.staff(side).post(HOOKS, json!({"url": receiver.url()})).await.expect(201);
        told.push((side, receiver, hook.text_at("/secret"), open(&stage, stage.staff(side), "", "").await));
    }
    happen(&stage).await;
    for (side, receiver, secret, mut stream) in told {
        let arrived = receiver.wait_for(expected().len()).await;
        let feed = stage.staff(side).get(FEED).await.expect(200);
        let events: Vec<Value> = arrived.iter().map(ReceivedRequest::json).collect();
        check_payloads(&events, side);
        check_payloads(feed.json()["events"].as_array().unwrap(), side);
        for arrived in arrived {
            check_signature(&secret, &arrived);
            let (id, body) = (arrived.id(), String::from_utf8(arrived.body.to_vec()).unwrap());
            let name = arrived.json()["event"].as_str().unwrap().to_owned();
            assert_eq!(arrived.json()["id"], json!(id));
            stream.read_until(&format!("id: {id}\nevent: {name}\ndata: {body}\n\n")).await;
            assert!(feed.text().contains(&body), "{body}");
            stage.note_event(&name, "webhook", side);
            stage.note_event(&name, "stream", side);
        }
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_goes_on_where_it_was_and_sees_what_it_named() {
    let stage = Stage::both().await.covers(&["list-events: 200", "stream-events: 200"]);
    happen(&stage).await;
    let all = stage.bank.get(FEED).await.expect(200).json();
    let all: Vec<String> =
        all["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
    let mut stream = open(&stage, &stage.bank, "", &format!("last-event-id: {}\r\n", all[2])).await;
    stream.read_until(all.last().unwrap()).await;
    assert_eq!(ids(&stream), all[3..]);
    let named = format!(
        "?events=inbound.credit_transfer.completed,inbound.credit_transfer.received&uetrs={},{}",
        uetr(1),
        uetr(4)
    );
    let mut some = open(&stage, &stage.bank, &named, &format!("last-event-id: {}\r\n", all[0])).await;
    some.read_until("completed").await;
    let fed = stage.bank.get(&format!("{FEED}{named}")).await.expect(200).json();
    assert_eq!(fed["events"].as_array().unwrap().len(), 1);
    // What happens now comes after it, and only what was named.
    let more = |number: u64| payment(DEBIT, json!({"uetr": uetr(number)}));
    stage.hub.post("/v1/clearing/payments", more(5)).await.check(202);
    stream.read_until(&uetr(5)).await;
    assert_eq!((ids(&some).len(), ids(&stream).len()), (1, all.len() - 2));
    drop((stream, some));
    stage.finish().await;
}

/// Neither the other environment of a bank nor the platform hears of it, whatever they ask to go on from.
#[tokio::test(flavor = "multi_thread")]
async fn events_are_told_to_their_tenant_alone() {
    let stage = Stage::bank("").await;
    let live = stage.client("bank/live", &[]).await;
    let mut own = open(&stage, &stage.bank, "", "").await;
    let mut others = open(&stage, &live, "", "").await;
    stage.to_bank.post(DEBIT, minimal(DEBIT)).await.check(202);
    own.read_until(UETR).await;
    let id = ids(&own).remove(0);
    let mut back = open(&stage, &live, "", &format!("last-event-id: {id}\r\n")).await;
    back.read_until("event: tenon.reset").await;
    let fed = live.get(&format!("{FEED}?after={id}")).await;
    assert_eq!(
        super::refusals::refused(&fed, 422, "INBOUND_UNPROCESSABLE"),
        "after must be an event that is still kept."
    );
    // One of its own is the first that it hears.
    live.post(
        "/v1/identifiers/inbound/identifier-determination",
        json!({"creditor_account_proxy": "x", "payment_scheme": "ZA_RPP"}),
    )
    .await
    .check(200);
    for stream in [&mut others, &mut back] {
        stream.read_until("determination_received").await;
        assert!(!stream.text().contains(UETR) && ids(stream).len() == 1, "{}", stream.text());
    }
    drop((own, others, back));
    stage.finish().await;
}
