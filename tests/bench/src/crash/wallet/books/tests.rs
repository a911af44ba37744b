use serde_json::json;

use super::*;

fn entry(id: &str, body: Value) -> (String, Entry) {
    (id.to_owned(), Entry { id: id.to_owned(), body })
}

fn withdrawal(status: &str, reference: &str) -> Value {
    json!({
        "kind": "WITHDRAW", "status": status, "listed": "w", "reference": reference,
        "outgoing": { "task": { "withdraw": {
            "money": { "asset": "base/USDC", "units": "1500000" }, "destination_address": "0x1",
        } } },
    })
}

fn letter(event: &str, about: &str) -> (String, Letter) {
    let body = hash_of(format!("{event} {about}").as_bytes());
    (format!("{event} {about}"), Letter { event: event.to_owned(), about: about.to_owned(), body })
}

/// One withdrawal that came to this, and what was told of it.
fn scene(status: &str, told: &[(&str, &str)]) -> (Books, HashMap<String, Letter>) {
    let letters: HashMap<String, Letter> = told.iter().map(|(event, about)| letter(event, about)).collect();
    let events = letters.iter().map(|(id, letter)| (id.clone(), (letter.event.clone(), letter.body))).collect();
    let balances = vec![("external/base".to_owned(), "base/USDC".to_owned(), "-5".to_owned())];
    let entries = HashMap::from([entry("t1", withdrawal(status, "ref-a"))]);
    (Books { entries, balances, events }, letters)
}

fn wrong(books: &Books, letters: &HashMap<String, Letter>) -> String {
    let made = [("ref-a".to_owned(), "t1".to_owned())];
    books.check(&made, letters).map(|()| String::new()).unwrap_or_else(|error| error.to_string())
}

#[test]
fn a_payment_that_ended_and_was_told_once_is_right() {
    let (books, letters) = scene("success", &[("withdraw.success", "t1"), ("wallet.created", "w")]);
    assert_eq!(wrong(&books, &letters), "");
    let stranger = Stranger { blockchain: "base".into(), address: "0x1".into(), symbol: "USDC".into() };
    assert_eq!(books.strangers(), BTreeMap::from([(stranger.clone(), 1_500_000)]));
    let (failed, _) = scene("failed", &[]);
    assert_eq!(failed.strangers(), BTreeMap::from([(stranger, 0)]));
}

#[test]
fn what_was_told_wrongly_or_not_at_all_is_noticed() {
    for (status, told, expected) in [
        ("success", vec![], "withdraw.success was told 0 times"),
        ("failed", vec![("withdraw.success", "t1"), ("withdraw.failed", "t1")], "withdraw.success was told of"),
        ("success", vec![("withdraw.success", "t1"), ("withdraw.success", "t2")], "withdraw.success was told of"),
    ] {
        let (books, letters) = scene(status, &told);
        assert!(wrong(&books, &letters).contains(expected), "{}", wrong(&books, &letters));
    }
    let (books, _) = scene("success", &[("withdraw.success", "t1")]);
    assert!(wrong(&books, &HashMap::new()).contains("did not arrive"));
}

#[test]
fn a_balance_below_zero_and_money_that_is_left_aside_are_noticed() {
    for (account, units, expected) in
        [("available/wallet/w", "-1", "has -1"), ("held/wallet/w", "1", "nothing is under way")]
    {
        let (mut books, letters) = scene("success", &[("withdraw.success", "t1")]);
        books.balances.push((account.to_owned(), "base/USDC".to_owned(), units.to_owned()));
        assert!(wrong(&books, &letters).contains(expected), "{}", wrong(&books, &letters));
    }
}

#[test]
fn what_was_lost_or_made_twice_is_noticed() {
    let (mut books, letters) = scene("success", &[("withdraw.success", "t1")]);
    books.entries.extend([entry("t2", withdrawal("cancelled", "ref-b"))]);
    assert!(wrong(&books, &letters).contains("never acknowledged"));
    books.entries.clear();
    assert!(wrong(&books, &letters).contains("and lost"));
}

#[test]
fn amounts_are_counted_in_base_units() {
    for (amount, decimals, units) in [("1.5", 6, 1_500_000), ("0", 6, 0), ("7", 0, 7), ("0.000001", 6, 1)] {
        assert_eq!(base_units(amount, decimals).unwrap(), units, "{amount}");
    }
    assert!(base_units("0.0000001", 6).is_err());
}
