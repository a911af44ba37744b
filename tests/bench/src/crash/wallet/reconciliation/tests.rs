use serde_json::json;

use super::*;

fn transaction(id: &str, body: Value) -> (String, Transaction) {
    (id.to_owned(), Transaction { id: id.to_owned(), body })
}

fn withdrawal(status: &str, reference: &str) -> Value {
    json!({
        "kind": "WITHDRAW", "status": status, "listed": "w", "reference": reference,
        "outgoing": { "task": { "withdraw": {
            "money": { "asset": "base/USDC", "units": "1500000" }, "destination_address": "0x1",
        } } },
    })
}

fn webhook(event: &str, subject: &str) -> (String, Webhook) {
    let body = hash_of(format!("{event} {subject}").as_bytes());
    (format!("{event} {subject}"), Webhook { event: event.to_owned(), subject: subject.to_owned(), body })
}

/// Returns data with one withdrawal of this status, and the webhooks of these events.
fn data(status: &str, events: &[(&str, &str)]) -> (Reconciliation, HashMap<String, Webhook>) {
    let webhooks: HashMap<String, Webhook> = events.iter().map(|(event, subject)| webhook(event, subject)).collect();
    let events = webhooks.iter().map(|(id, webhook)| (id.clone(), (webhook.event.clone(), webhook.body))).collect();
    let balances = vec![("external/base".to_owned(), "base/USDC".to_owned(), "-5".to_owned())];
    let transactions = HashMap::from([transaction("t1", withdrawal(status, "ref-a"))]);
    (Reconciliation { transactions, balances, events }, webhooks)
}

fn violation(reconciliation: &Reconciliation, webhooks: &HashMap<String, Webhook>) -> String {
    let acknowledged = [("ref-a".to_owned(), "t1".to_owned())];
    reconciliation.check(&acknowledged, webhooks).map(|()| String::new()).unwrap_or_else(|error| error.to_string())
}

#[test]
fn withdrawal_with_one_event_passes() {
    let (reconciliation, webhooks) = data("success", &[("withdraw.success", "t1"), ("wallet.created", "w")]);
    assert_eq!(violation(&reconciliation, &webhooks), "");
    let holding = ExternalHolding { blockchain: "base".into(), address: "0x1".into(), symbol: "USDC".into() };
    assert_eq!(reconciliation.external_holdings(), BTreeMap::from([(holding.clone(), 1_500_000)]));
    let (failed, _) = data("failed", &[]);
    assert_eq!(failed.external_holdings(), BTreeMap::from([(holding, 0)]));
}

#[test]
fn wrong_and_missing_events_are_detected() {
    for (status, events, expected) in [
        ("success", vec![], "withdraw.success was emitted 0 times"),
        ("failed", vec![("withdraw.success", "t1"), ("withdraw.failed", "t1")], "withdraw.success was emitted for"),
        ("success", vec![("withdraw.success", "t1"), ("withdraw.success", "t2")], "withdraw.success was emitted for"),
    ] {
        let (reconciliation, webhooks) = data(status, &events);
        assert!(violation(&reconciliation, &webhooks).contains(expected), "{}", violation(&reconciliation, &webhooks));
    }
    let (reconciliation, _) = data("success", &[("withdraw.success", "t1")]);
    assert!(violation(&reconciliation, &HashMap::new()).contains("did not arrive"));
}

#[test]
fn negative_balance_and_remaining_hold_are_detected() {
    for (account, units, expected) in
        [("available/wallet/w", "-1", "has -1"), ("held/wallet/w", "1", "no transaction is in progress")]
    {
        let (mut reconciliation, webhooks) = data("success", &[("withdraw.success", "t1")]);
        reconciliation.balances.push((account.to_owned(), "base/USDC".to_owned(), units.to_owned()));
        assert!(violation(&reconciliation, &webhooks).contains(expected), "{}", violation(&reconciliation, &webhooks));
    }
}

#[test]
fn lost_and_unacknowledged_transactions_are_detected() {
    let (mut reconciliation, webhooks) = data("success", &[("withdraw.success", "t1")]);
    reconciliation.transactions.extend([transaction("t2", withdrawal("cancelled", "ref-b"))]);
    assert!(violation(&reconciliation, &webhooks).contains("never acknowledged"));
    reconciliation.transactions.clear();
    assert!(violation(&reconciliation, &webhooks).contains("and lost"));
}

#[test]
fn amounts_convert_to_base_units() {
    for (amount, decimals, units) in [("1.5", 6, 1_500_000), ("0", 6, 0), ("7", 0, 7), ("0.000001", 6, 1)] {
        assert_eq!(base_units(amount, decimals).unwrap(), units, "{amount}");
    }
    assert!(base_units("0.0000001", 6).is_err());
}
