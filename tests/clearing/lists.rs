//! Lists: filters that say what they can be, and pages that show each thing once (docs/clearing.md).

use serde_json::{Value, json};

use super::{
    actor::Actor,
    coverage::Side::{Bank, Hub},
    messages::{AUTHORISE_SYNC, DEBIT, TRANSFER, message, payment, uetr},
    refusals::refused,
    routes::{ACCOUNTS, PARTNERS, TRANSACTIONS},
    stage::Stage,
};
use crate::support::eventually;

const EVENTS: &str = "/v1/clearing/events";

/// The last digits of the uetrs that a query finds, in its order.
async fn found(actor: &Actor, query: &str) -> Vec<u64> {
    let list = actor.get(&format!("{TRANSACTIONS}?{query}")).await.expect(200).json();
    let shown = list["transactions"].as_array().unwrap().iter();
    shown.map(|it| it["message"]["uetr"].as_str().unwrap().rsplit('-').next().unwrap().parse().unwrap()).collect()
}

/// Four payments, a minute apart: approved, rejected, completed, and approved again.
async fn four(stage: &Stage) {
    for (number, path, changes) in [
        (1, AUTHORISE_SYNC, json!({"payment_scheme": "ZA_RPP", "end_to_end_identification": "E & E"})),
        (2, AUTHORISE_SYNC, json!({"creditor_account_number": "999"})),
        (3, TRANSFER, json!({})),
        (4, DEBIT, json!({})),
    ] {
        let mut body = message(path, changes);
        body["uetr"] = json!(uetr(number));
        assert!(stage.to_bank.post(path, body).await.status < 300);
        if path != AUTHORISE_SYNC {
            stage.until(Bank, &uetr(number), "response", "delivered").await;
        }
        stage.advance_ms(60_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_are_found_by_what_they_are_and_when_they_came() {
    let stage = Stage::bank("").await.covers(&["list-transactions: 200", "read-transaction: 200"]);
    four(&stage).await;
    assert_eq!(stage.bank.transaction(&uetr(1)).await["uetr"], json!(uetr(1)));
    let table: [(&str, &[u64]); 17] = [
        ("", &[4, 3, 2, 1]),
        ("state=approved", &[4, 1]),
        ("state=rejected", &[2]),
        ("state=completed", &[3]),
        ("state=timed_out", &[]),
        ("payment_scheme=ZA_EFT", &[4, 3]),
        ("payment_scheme=ZA_RPP", &[1]),
        ("payment_scheme=CBPR%2B", &[]),
        ("state=approved&payment_scheme=ZA_EFT", &[4]),
        ("end_to_end_identification=E%20%26%20E", &[1]),
        ("end_to_end_identification=E-1&state=approved", &[]),
        ("from=2026-05-07", &[4, 3, 2, 1]),
        ("from=2026-05-07T08:31:00Z", &[4, 3, 2]),
        ("from=2026-05-07T08:31:00Z&to=2026-05-07T08:32:00Z", &[3, 2]),
        ("from=2026-05-07T10:31:00%2B02:00&to=2026-05-07T08:32:00Z", &[3, 2]),
        ("to=2026-05-06", &[]),
        ("from=2026-05-08", &[]),
    ];
    for (query, expected) in table {
        assert_eq!(found(&stage.bank, query).await, expected, "{query}");
    }
    stage.advance_ms(60_000);
    let overdue = eventually("overdue", async || {
        Some(found(&stage.bank, "concern=overdue").await).filter(|found| !found.is_empty())
    });
    assert_eq!(overdue.await, [1]);
    assert_eq!(found(&stage.bank, "concern=overdue&state=rejected").await, [0; 0]);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_filter_cannot_be_is_told_by_its_name() {
    let stage = Stage::both().await;
    let named = "must be one of: received, processing, approved, rejected, completed, timed_out, failed.";
    let (number, page) = ("must be between 1 and 200.", "must be where a page of this list ended.");
    let time = "must be a day or a time, like 2026-05-07 or 2026-05-07T08:30:00Z.";
    let long = format!("{TRANSACTIONS}?end_to_end_identification={}", "x".repeat(36));
    let table: [(&str, &str, &str); 22] = [
        (TRANSACTIONS, "state=Approved", named),
        (TRANSACTIONS, "state=", named),
        (TRANSACTIONS, "payment_scheme=za_rtc", "must be one of: ZA_RTC, ZA_RPP, ZA_EFT, CBPR+."),
        (TRANSACTIONS, "concern=none", "must be one of: overdue, undelivered, undecided, contradicted."),
        (TRANSACTIONS, "partner=Bank%20A", "must be the id of a partner."),
        (TRANSACTIONS, "end_to_end_identification=%00", "must not contain control characters."),
        (TRANSACTIONS, "from=1", time),
        (TRANSACTIONS, "to=2026-02-30", time),
        (TRANSACTIONS, "limit=0", number),
        (TRANSACTIONS, "limit=201", number),
        (TRANSACTIONS, "limit=-1", number),
        (TRANSACTIONS, "limit=1e2", number),
        (TRANSACTIONS, "limit=99999999999999999999", number),
        (TRANSACTIONS, "after=nowhere", page),
        (TRANSACTIONS, "after=%00", page),
        (ACCOUNTS, "after=nowhere", page),
        (ACCOUNTS, "limit=x", number),
        (PARTNERS, "after=nowhere", page),
        (PARTNERS, "limit=", number),
        (EVENTS, "after=event_00000000000000000000000000000000", "must be an event that is still kept."),
        (EVENTS, "uetrs=1", "must be UUIDs with commas between."),
        (EVENTS, "limit=0", number),
    ];
    for (path, query, expected) in table {
        let answer = stage.hub.get(&format!("{path}?{query}")).await;
        let name = query.split('=').next().unwrap();
        assert_eq!(refused(&answer, 422, "INBOUND_UNPROCESSABLE"), format!("{name} {expected}"), "{query}");
    }
    refused(&stage.hub.get(&long).await, 422, "INBOUND_UNPROCESSABLE");
    let many = vec![uetr(1); 101].join(",");
    refused(&stage.hub.get(&format!("{EVENTS}?uetrs={many}")).await, 422, "INBOUND_UNPROCESSABLE");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_that_an_operation_does_not_have_is_refused_and_names_those_that_it_has() {
    let stage = Stage::bank("").await;
    for (path, parameter, takes) in [
        (
            TRANSACTIONS,
            "status=approved",
            ": state, payment_scheme, concern, partner, end_to_end_identification, from, to, after, limit",
        ),
        (ACCOUNTS, "offset=1", ": partner, after, limit"),
        (EVENTS, "a%20b%0A=1", ": events, uetrs, after, limit"),
        ("/v1/clearing/reports/concerns", "from=2026-05-07", " none"),
    ] {
        let name = parameter.split('=').next().unwrap();
        let expected = format!("{name} is not a parameter of this operation, which takes{takes}.");
        let answer = stage.bank.get(&format!("{path}?{parameter}")).await;
        assert_eq!(refused(&answer, 422, "INBOUND_UNPROCESSABLE"), expected);
    }
    let written = stage.bank.post(&format!("{ACCOUNTS}?dry_run=true"), json!({"account_number": "7000"})).await;
    let expected = "dry_run is not a parameter of this operation, which takes none.";
    assert_eq!(refused(&written, 422, "INBOUND_UNPROCESSABLE"), expected);
    refused(&stage.bank.get(&format!("{ACCOUNTS}/7000")).await, 404, "INBOUND_NOT_FOUND");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_goes_on_with_its_own_filters_alone() {
    let stage = Stage::bank("").await;
    four(&stage).await;
    let page = stage.bank.get(&format!("{TRANSACTIONS}?payment_scheme=ZA_EFT&limit=1")).await.expect(200).json();
    let next = page["next"].as_str().unwrap();
    assert_eq!(found(&stage.bank, &format!("after={next}&limit=100&payment_scheme=ZA_EFT")).await, [3]);
    for filters in ["", "&payment_scheme=ZA_RPP", "&payment_scheme=ZA_EFT&state=completed", "&from=2026-05-07"] {
        let answer = stage.bank.get(&format!("{TRANSACTIONS}?after={next}{filters}")).await;
        let expected = "after must be sent with the filters of the page that ended there.";
        assert_eq!(refused(&answer, 422, "INBOUND_UNPROCESSABLE"), expected, "{filters}");
    }
    stage.finish().await;
}

/// The members of each page, once through the list.
async fn walk(actor: &Actor, path: &str, member: &str, limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut query) = (Vec::new(), format!("limit={limit}"));
    loop {
        let page = actor.get(&format!("{path}?{query}")).await.expect(200).json();
        pages.push(page[member].as_array().unwrap().clone());
        match page["next"].as_str().filter(|_| page["more"] != json!(false)) {
            Some(next) => query = format!("limit={limit}&after={next}"),
            None => return pages,
        }
        assert!(pages.len() < 50, "{path} has no end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_show_each_thing_once_the_newest_first_whatever_comes_meanwhile() {
    let stage = Stage::both().await.covers(&[
        "list-transactions: 200",
        "list-accounts: 200",
        "list-partners: 200",
        "list-events: 200",
    ]);
    for number in 1..=7 {
        stage.hub.post(PARTNERS, json!({"id": format!("p-{number}"), "payment_schemes": []})).await.check(201);
        stage.bank.post(ACCOUNTS, json!({"account_number": number.to_string()})).await.check(201);
        stage.hub.post("/v1/clearing/payments", payment(DEBIT, json!({"uetr": uetr(number)}))).await.check(202);
        stage.until(Hub, &uetr(number), "state", "approved").await;
        stage.until(Bank, &uetr(number), "response", "delivered").await;
        // Some at the same time, some apart.
        stage.advance_ms(number % 2);
    }
    for (actor, path, member, count) in [
        (&stage.bank, TRANSACTIONS, "transactions", 7),
        (&stage.hub, TRANSACTIONS, "transactions", 7),
        (&stage.bank, ACCOUNTS, "accounts", 8),
        (&stage.hub, PARTNERS, "partners", 8),
        (&stage.bank, EVENTS, "events", 7),
    ] {
        let whole = walk(actor, path, member, 100).await.concat();
        assert_eq!(whole.len(), count, "{path}");
        for limit in [1, 2, 3, 7] {
            let pages = walk(actor, path, member, limit).await;
            assert!(pages.iter().all(|page| page.len() <= limit));
            assert_eq!(pages.concat(), whole, "{path} by {limit}");
        }
        let times: Vec<&str> =
            whole.iter().map(|it| it["created_at"].as_str().or(it["received_at"].as_str()).unwrap()).collect();
        let newest_first = times.windows(2).all(|pair| pair[0] >= pair[1]);
        assert!(newest_first || path == EVENTS, "{path}: {times:?}");
    }
    // What is new stands before the first page, and does not move the others.
    let first = stage.bank.get(&format!("{ACCOUNTS}?limit=3")).await.expect(200).json();
    stage.advance_ms(1);
    stage.bank.post(ACCOUNTS, json!({"account_number": "new"})).await.check(201);
    let next = first["next"].as_str().unwrap();
    let rest = stage.bank.get(&format!("{ACCOUNTS}?after={next}")).await.expect(200).json();
    let ids =
        |page: &Value| page["accounts"].as_array().unwrap().iter().map(|it| it["id"].to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&rest).len(), 5);
    assert!(!ids(&rest).contains(&"\"NEW\"".to_owned()) && ids(&first).iter().all(|id| !ids(&rest).contains(id)));
    // Where a page of another list, or of somebody else's, ended, none of this one begins.
    let foreign = stage.hub.get(&format!("{ACCOUNTS}?after={next}")).await;
    assert!(foreign.status == 422 || foreign.json()["accounts"] == json!([]), "{}", foreign.text());
    stage.finish().await;
}
