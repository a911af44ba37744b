//! Payouts: quotes, accounts, and what becomes of them.

use serde_json::json;

use super::support::*;

#[test]
fn an_account_is_verified_with_the_name_of_its_owner() {
    let body =
        |account: &str| json!({"currency": "NGN", "institution_identifier": "SANDNGLA", "account_identifier": account});
    let verify = |account: &str| post(&host(), "/v1/payout/account-verifications", body(account));
    assert_eq!(verify("0123456789").json()["account_name"], verify("0123456789").json()["account_name"]);
    assert_eq!(verify("0123450003").status, 200, "a blocked account is there");
    assert_eq!(refusal(&verify("0123450000")), no(422, "ACCOUNT_NOT_FOUND"));
    let silent = verify("0123450004");
    assert_eq!((refusal(&silent), silent.json()["retryable"].clone()), (no(503, "PROVIDER_UNAVAILABLE"), json!(true)));
}

#[test]
fn every_currency_has_institutions_of_its_own() {
    let host = host();
    let currencies = get(&host, "/v1/payout/currencies");
    for currency in currencies["currencies"].as_array().unwrap() {
        let code = currency["currency"].as_str().unwrap();
        let institutions = get(&host, &format!("/v1/payout/institutions?currency={code}"));
        assert!(institutions["institutions"].as_array().is_some_and(|list| list.len() >= 2), "{code}");
    }
    let unknown = host.call(tenon_plugin::test_kit::TestCall::get("/v1/payout/institutions?currency=XXX"));
    assert_eq!(refusal(&unknown), no(422, "CURRENCY_NOT_SUPPORTED"));
}

#[test]
fn a_payout_is_a_success_a_while_after_its_coins_are_final() {
    let host = host();
    let taken = payout(&host, "p1", "100", "0123456789");
    assert_eq!((taken.status, taken.json()["status"].clone()), (201, json!("awaiting_deposit")));
    assert_eq!(taken.json()["deposit"]["address"], DEPOSIT);
    assert_eq!(taken.json()["payout_amount"], "150269.87");
    pay_in(&host, Some(USDC), "100000000");
    assert_eq!(get(&host, "/v1/payouts/p1")["status"], "processing");
    host.advance_ms(2_000);
    host.run_due();
    let paid = get(&host, "/v1/payouts/p1");
    assert_eq!((&paid["status"], &paid["refund"]), (&json!("success"), &json!(null)));
    assert_eq!(paid["deposit"]["transaction_hash"], "0xpaid");
    assert!(host.watched().is_empty());
}

#[test]
fn a_payout_that_the_bank_refuses_has_failed_when_its_coins_are_back() {
    for (id, amount, account, reason) in
        [("p1", "100.13", "0123456789", "BANK_REFUSED"), ("p2", "100", "0123450001", "ACCOUNT_CLOSED")]
    {
        let host = host();
        payout(&host, id, amount, account);
        pay_in(&host, Some(USDC), "100130000");
        host.advance_ms(2_000);
        host.run_due();
        let shown = get(&host, &format!("/v1/payouts/{id}"));
        assert_eq!((&shown["status"], &shown["reason"]), (&json!("processing"), &json!(reason)));
        give_coins(&host);
        finish(&host);
        let shown = get(&host, &format!("/v1/payouts/{id}"));
        assert_eq!((&shown["status"], &shown["refund"]["amount"]), (&json!("failed"), &json!("100.13")));
        assert_eq!(
            (&shown["refund"]["address"], &shown["refund"]["transaction_hash"]),
            (&json!(OURS), &json!("0xbase-0"))
        );
    }
}

#[test]
fn a_payout_that_stalls_is_never_heard_of_again() {
    for (id, amount, account) in [("p1", "100.14", "0123456789"), ("p2", "100", "0123450002")] {
        let host = host();
        payout(&host, id, amount, account);
        pay_in(&host, Some(USDC), "100140000");
        host.advance_ms(86_400_000);
        host.run_due();
        assert_eq!(get(&host, &format!("/v1/payouts/{id}"))["status"], "processing");
    }
}

#[test]
fn what_goes_wrong_after_the_quote_is_refused_and_nothing_is_stored() {
    let host = host();
    assert_eq!(refusal(&payout(&host, "p1", "100.15", "0123456789")), no(422, "QUOTE_EXPIRED"));
    assert_eq!(refusal(&payout(&host, "p1", "100", "0123450003")), no(422, "ACCOUNT_BLOCKED"));
    assert_eq!(host.call(tenon_plugin::test_kit::TestCall::get("/v1/payouts/p1")).status, 404);
    assert!(host.watched().is_empty());
}

#[test]
fn a_repeat_gets_what_was_taken_and_another_content_a_conflict() {
    let host = host();
    let first = payout(&host, "p1", "100", "0123456789").json();
    let quote = first["quote_id"].as_str().unwrap();
    let again = take_payout(&host, "p1", quote, "0123456789");
    assert_eq!((again.status, again.json()), (200, first.clone()));
    assert_eq!(refusal(&take_payout(&host, "p1", quote, "0123456788")), no(409, "CONFLICT"));
    assert_eq!(refusal(&take_payout(&host, "p2", quote, "0123456789")), no(409, "QUOTE_USED"));
    assert_eq!(host.watched().len(), 1);
}

#[test]
fn a_quote_ends() {
    let host = host();
    let body = json!({"blockchain": "base", "asset": "USDC", "amount": "100", "currency": "NGN"});
    let quote = post(&host, "/v1/payout/quotes", body).json();
    let quote = quote["quote_id"].as_str().unwrap();
    host.advance_ms(300_000);
    assert_eq!(refusal(&take_payout(&host, "p1", quote, "0123456789")), no(422, "QUOTE_EXPIRED"));
    host.advance_ms(86_400_000);
    host.run_due();
    assert_eq!(refusal(&take_payout(&host, "p1", quote, "0123456789")), no(422, "QUOTE_NOT_FOUND"));
}

#[test]
fn coins_that_are_missing_end_a_payout_and_what_comes_later_goes_back() {
    let host = host();
    payout(&host, "p1", "100", "0123456789");
    host.advance_ms(3_600_000);
    host.run_due();
    let shown = get(&host, "/v1/payouts/p1");
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("failed"), &json!("DEPOSIT_MISSING")));
    pay_in(&host, Some(USDC), "100000000");
    give_coins(&host);
    finish(&host);
    let shown = get(&host, "/v1/payouts/p1");
    assert_eq!((&shown["status"], &shown["refund"]["transaction_hash"]), (&json!("failed"), &json!("0xbase-0")));
}

#[test]
fn too_few_coins_go_back_and_other_coins_are_not_looked_at() {
    let host = host();
    payout(&host, "p1", "100", "0123456789");
    pay_in(&host, Some(USDT), "100000000");
    assert_eq!(get(&host, "/v1/payouts/p1")["status"], "awaiting_deposit");
    pay_in(&host, Some(USDC), "99999999");
    give_coins(&host);
    finish(&host);
    let shown = get(&host, "/v1/payouts/p1");
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("failed"), &json!("DEPOSIT_TOO_SMALL")));
    assert_eq!(shown["refund"]["amount"], "99.999999");
}
