//! Both sides for real, on the clock of this machine, with a proxy between them that loses, repeats and breaks what they say, and
//! a swap of the plugin and a restart of the host in the middle. Owns what must hold when everything has come to rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use clearing::rules::state::{EDGES, State};
use serde_json::{Value, json};
use tenon_bench::guests::stamped;

use super::{
    coverage::Side::{self, Bank, Hub},
    look::{at_once, edges},
    messages::{ACCOUNT, AUTHORISE, AUTHORISE_SYNC, DEBIT, PROXY, TRANSFER, payment, uetr},
    stage::Stage,
};
use crate::support::{FaultyProxy, ReceiverResponse, component, eventually};

const SEED: u64 = 0x5eed_2026;
/// The bank's own system is asked, and its rules where it has no answer.
const ASKED: &str = "decide = \"ask\"\nbank-ms = 300\nfallback = \"rules\"";
const CLOSED: &str = "62009";

/// All that a side shows, by uetr.
type Shown = BTreeMap<String, Value>;

/// A different amount for each, so that no two can be mistaken for each other.
fn minor(number: u64) -> i128 {
    i128::from(number) * 100 + 5
}

fn submission(number: u64) -> Value {
    let kinds = [
        (AUTHORISE, "ZA_RTC"),
        (AUTHORISE, "ZA_RPP"),
        (AUTHORISE_SYNC, "ZA_RTC"),
        (TRANSFER, "ZA_EFT"),
        (DEBIT, "ZA_EFT"),
    ];
    let (path, scheme) = kinds[(number % 5) as usize];
    let account = if number % 7 == 6 { CLOSED } else { ACCOUNT };
    let value: Value = serde_json::from_str(&format!("{number}.05")).unwrap();
    let mut changes = json!({
        "uetr": uetr(number), "payment_scheme": scheme, "bank_settlement_amount_value": value,
        "debtor_account_number": account, "creditor_account_number": account,
    });
    if scheme == "ZA_RPP" {
        let proxy = if number.is_multiple_of(3) { "bob@bank" } else { PROXY };
        changes.as_object_mut().unwrap().remove("creditor_account_number");
        changes["creditor_account_proxy"] = json!(proxy);
    }
    payment(path, changes)
}

impl Stage {
    /// Twice, as somebody does who has not heard the first answer.
    async fn submit_all(&self, numbers: std::ops::Range<u64>) {
        let submit = async |number| {
            let submitted = submission(number);
            for _ in 0..2 {
                self.hub.post("/v1/clearing/payments", submitted.clone()).await.check(202);
            }
        };
        at_once(numbers.map(submit)).await;
    }

    /// Once nothing is decided, asked or told any more, and nothing waits for an answer.
    async fn quiet(&self) {
        eventually("quiet", async || {
            let timers = self.tasks("timer").await;
            let is_busy = timers.iter().any(|timer| timer["id"].as_str().is_some_and(|id| id.starts_with("decide:")))
                || !self.tasks("effect").await.is_empty();
            let waiting = self.hub.get("/v1/clearing/transactions?state=processing&limit=1").await.expect(200).json();
            (!is_busy && waiting["transactions"] == json!([])).then_some(())
        })
        .await;
    }

    async fn shown_by(&self, side: Side) -> Shown {
        let all = self.staff(side).all("/v1/clearing/transactions", "transactions").await;
        all.into_iter().map(|shown| (text(&shown, "uetr").to_owned(), shown)).collect()
    }

    /// What the scheme says of everything that was approved; of some it says nothing.
    async fn settle_all(&self) {
        let approved = self.hub.all("/v1/clearing/transactions?state=approved", "transactions").await;
        let authorised = approved.iter().filter(|shown| shown["operation"] != "direct-debit");
        let settle = async |shown: &Value| {
            let uetr = text(shown, "uetr");
            let status = if uetr.ends_with('1') { "REJECTED" } else { "APPROVED" };
            let body = json!({"settlement_date": "2026-05-07", "transaction_status": status});
            self.hub.post(&format!("/v1/clearing/payments/{uetr}/settlement"), body).await.check(202);
        };
        at_once(authorised.filter(|shown| !text(shown, "uetr").ends_with('2')).map(settle)).await;
    }
}

fn text<'a>(shown: &'a Value, member: &str) -> &'a str {
    shown[member].as_str().unwrap_or_default()
}

/// The bank's own system: most are approved, some are not, some make it stumble. The same whenever it is asked.
fn ask_bank(asked: &Value) -> ReceiverResponse {
    let rejected =
        |reason: &str| ReceiverResponse::Json(200, json!({"transaction_status": "REJECTED", "status_reason": reason}));
    match asked["uetr"].as_str().map(|uetr| uetr[24..].parse::<u64>().unwrap() % 13) {
        Some(3) => rejected("NOCM"),
        Some(5) => ReceiverResponse::Never,
        Some(7) => ReceiverResponse::Status(500),
        None if asked["creditor_account_proxy"] != PROXY => rejected("BE23"),
        _ => ReceiverResponse::Json(200, json!({"transaction_status": "APPROVED", "account_number": ACCOUNT})),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_agree_whatever_happens_between_them() {
    agree("", SEED, 250).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_agree_where_the_banks_own_system_is_asked() {
    agree(ASKED, SEED + 1, 100).await;
}

async fn agree(settings: &str, seed: u64, payments: u64) {
    let stage = Stage::both_now(settings).await;
    stage.peer.respond_with(ReceiverResponse::FromBody(ask_bank));
    stage.peer.respond_at("/outcomes", ReceiverResponse::Status(204));
    stage.bank.post("/v1/clearing/accounts", json!({"account_number": CLOSED, "status": "closed"})).await.check(201);
    let proxy = FaultyProxy::start(stage.host.base(), seed).await;
    stage.reach_through(proxy.base()).await;

    let swapped = stamped(&fs::read(component("clearing")).unwrap(), "the same rules");
    let operator = stage.host.operator();
    let headers = [("content-type", "application/wasm")];
    let swap = operator.send("PUT", "/v1/plugins/clearing/component", &headers, swapped);
    stage.submit_all(0..payments / 2).await;
    let (swap, ()) = futures_util::future::join(swap, stage.submit_all(payments / 2..payments)).await;
    swap.check(200);
    proxy.set_calm(true);
    stage.quiet().await;

    proxy.set_calm(false);
    stage.settle_all().await;
    let stage = stage.reopen(|| ()).await;
    proxy.set_target(stage.host.base());
    stage.reach_through(proxy.base()).await;
    proxy.set_calm(true);
    proxy.wait_for_duplicates().await;
    stage.quiet().await;

    let happened = proxy.fault_counts();
    assert!(happened.len() == 11 && happened.values().all(|count| *count > 0), "{happened:?}");
    let (hub, bank) = (stage.shown_by(Hub).await, stage.shown_by(Bank).await);
    assert_eq!(hub.len(), payments as usize);
    for (uetr, hub) in &hub {
        check_agreement(hub, bank.get(uetr));
    }
    assert!(hub.values().chain(bank.values()).all(|shown| edges(shown).iter().all(is_edge)));
    check_answers(&stage, &bank).await;
    check_notices(&stage, &bank);
    check_books(&stage, &bank).await;
    check_events(&stage).await;
    stage.finish().await;
}

fn is_edge((from, to): &(String, String)) -> bool {
    let [from, to] = [from, to].map(|name| State::of_name(name).unwrap());
    EDGES.contains(&(from, to))
}

/// What one side takes for final, the other does not contradict.
fn check_agreement(hub: &Value, bank: Option<&Value>) {
    let state = bank.map_or("none", |bank| text(bank, "state"));
    let which = format!("{hub:#} {bank:#?}");
    match (text(hub, "operation"), text(hub, "state")) {
        ("credit-transfer", ours) => {
            assert_eq!(ours, state, "{which}");
            assert!(["completed", "rejected"].contains(&ours), "{which}");
            let decided = bank.map_or("", |bank| text(bank, "transaction_status"));
            assert_eq!(text(&hub["response"], "transaction_status"), decided, "{which}");
        }
        ("direct-debit", ours) => assert_eq!(ours, state, "{which}"),
        (_, "completed") => assert_eq!(state, "completed", "{which}"),
        (_, "approved") => assert_eq!(state, "approved", "{which}"),
        (_, "rejected") => assert!(["none", "rejected"].contains(&state), "{which}"),
        // The partner may have approved in vain, but never paid.
        (_, "timed_out" | "failed") => assert_ne!(state, "completed", "{which}"),
        _ => panic!("{which}"),
    }
}

/// Each response was delivered, or stands in the list of those that were not. One that was received, but not acknowledged in
/// time, leaves the list when the completion is applied.
async fn check_answers(stage: &Stage, bank: &Shown) {
    let listed = stage.bank.all("/v1/clearing/transactions?concern=undelivered", "transactions").await;
    let listed: BTreeSet<&str> = listed.iter().map(|shown| text(shown, "uetr")).collect();
    for (uetr, shown) in bank {
        let is_listed = listed.contains(uetr.as_str());
        let expected = if is_listed { "undelivered" } else { "delivered" };
        let is_settled = shown["completion"]["applied"] == true;
        assert!(shown["response"] == expected || (is_settled && !is_listed), "{shown:#}");
    }
}

/// Where the bank's own system decides, it is notified of the end of each payment, always with the same body.
fn check_notices(stage: &Stage, bank: &Shown) {
    let mut notified: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for arrived in stage.peer.received().iter().filter(|arrived| arrived.line == "POST /core/outcomes") {
        let body = arrived.json();
        let parts = ["tenant", "outcome", "uetr"].map(|name| text(&body, name));
        assert_eq!(arrived.header("idempotency-key"), format!("bank-notified:{}", parts.join(":")));
        notified.entry(text(&body, "uetr").to_owned()).or_default().insert(body.to_string());
    }
    for (uetr, shown) in bank.iter().filter(|(_, shown)| shown.get("bank_notification").is_some()) {
        let outcome = match (text(shown, "operation"), text(shown, "state")) {
            (_, "completed") | ("direct-debit", "approved") => "post",
            (_, "approved") if shown["completion"].is_null() => "",
            _ => "release",
        };
        let bodies = notified.remove(uetr).unwrap_or_default();
        let expected = usize::from(!outcome.is_empty());
        assert_eq!(bodies.len(), expected, "{bodies:?} {shown:#}");
        for body in bodies {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["outcome"], outcome, "{body} {shown:#}");
        }
    }
    assert!(notified.is_empty(), "{notified:?}");
}

/// No money is made, and every account holds what the transactions say.
async fn check_books(stage: &Stage, bank: &Shown) {
    let (mut held, mut paid) = (0, 0);
    for shown in bank.values() {
        let minor = minor(text(shown, "uetr")[24..].parse().unwrap());
        match (text(shown, "operation"), text(shown, "state"), text(shown, "transaction_status")) {
            ("credit-transfer", _, "APPROVED") => paid += minor,
            ("direct-debit", "approved", _) => paid -= minor,
            ("credit-transfer", ..) | ("direct-debit", ..) => {}
            (_, "completed", _) => paid += minor,
            (_, "approved", _) if shown["completion"].is_null() => held += minor,
            _ => {}
        }
    }
    let books = stage.books().await;
    let on = |prefix: &str| books.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, sum)| sum).sum::<i128>();
    assert_eq!((on(""), on("held/"), on("customer/"), on("unapplied/")), (0, held, paid, 0));
    assert!(held > 0 && paid != 0);
    assert!(stage.host.balances("hub/test").await.is_empty());
}

/// However often a message came, it had one effect.
async fn check_events(stage: &Stage) {
    let mut told = BTreeSet::new();
    let events = stage.host.events().await.into_iter().filter(|event| !event.event_type.contains("determination"));
    for event in events {
        assert!(told.insert((event.tenant, event.event_type.clone(), event.subject)), "{} twice", event.event_type);
    }
}
