//! Payouts in fiat money: form, account, quote, execution; what the bank makes of it; and what comes back.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::acts::{check_fields, check_invalid, check_refusal, text, with};
use super::mining::mine;
use super::stage::{Stage, Wallet};

const START_MS: u64 = 1_780_000_000_000;
/// As long as a payout's quote can be taken.
const QUOTE_MS: u64 = 300_000;

async fn form(stage: &Stage, form: &str, step: &str, body: Value) -> Value {
    stage.ask_as(&stage.account, "POST", &format!("/v1/compliance/forms/{form}/{step}"), Some(body)).await
}

async fn approve(stage: &Stage, name: &str) {
    assert_eq!(form(stage, name, "submit", json!({})).await["compliance_status"], "submitted");
    let decided = form(stage, name, "decide", json!({"state": "approved"})).await;
    assert_eq!(decided["compliance_status"], "approved");
}

/// A payout of USDC into an account at a bank in Lagos.
async fn payout(stage: &Stage, wallet: &Wallet, amount: &str, account: &str) -> Value {
    json!({"asset_id": stage.asset(wallet, "USDC").await, "amount": amount, "currency": "NGN",
        "account_identifier": account, "institution_identifier": "SANDNGLA"})
}

/// Verified, quoted and accepted, below the path of a wallet (""), or of an address under it; the body of the execution.
async fn quoted(stage: &Stage, wallet: &Wallet, place: &str, body: Value) -> Value {
    stage.make(wallet, "/withdraw/fiat/institution-account-verification", body.clone()).await;
    let quote = stage.make(wallet, &format!("{place}/withdraw/fiat/quote"), body.clone()).await;
    let id = text(&quote, "quote_id");
    let accepted = stage.make(wallet, &format!("{place}/withdraw/fiat/quotes/{id}/accept"), json!({})).await;
    assert_eq!(accepted["quote_status"], "accepted");
    with(body, json!({"quote_id": id}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_waits_for_form_account_and_quote_and_is_paid_once() {
    let stage = Stage::open().await.covers(&[
        "*-compliance* answers",
        "verify-account answers",
        "quote-fiat answers",
        "accept-fiat-quote answers",
        "execute-fiat answers",
        "event offramp.processing",
        "event offramp.success",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    let body = payout(&stage, &wallet, "40", "0123456789").await;
    let execute = async |body: &Value| stage.post(&wallet, "/withdraw/fiat/execute", body.clone()).await;

    // Its form first; that of another currency opens nothing.
    let refused = stage.post(&wallet, "/withdraw/fiat/quote", body.clone()).await;
    check_refusal(&refused, (403, "SERVICE_VALIDATION_ERROR", ""));
    approve(&stage, "african-partner-onboarding").await;
    let refused = stage.post(&wallet, "/withdraw/fiat/quote", body.clone()).await;
    check_refusal(&refused, (403, "SERVICE_VALIDATION_ERROR", ""));
    approve(&stage, "naira-onboarding").await;
    let state = stage.ask_as(&wallet.key, "GET", "/v1/compliance", None).await;
    let of = |code: &str| {
        state.as_array().unwrap().iter().find(|row| row["currency"] == code).unwrap()["is_enabled"].clone()
    };
    assert_eq!([of("NGN"), of("KES"), of("BRL")], [json!(true), json!(true), json!(false)]);
    let quote = stage.make(&wallet, "/withdraw/fiat/quote", body.clone()).await;
    assert_eq!(
        (&quote["rate"], &quote["amount"], &quote["quote_status"]),
        (&json!("1510.25"), &json!("40"), &json!("open"))
    );
    // 60 410 naira, less half a percent.
    assert_eq!((&quote["fee"], &quote["payout_amount"]), (&json!("302.05"), &json!("60107.95")));
    let body = with(body, json!({"quote_id": quote["quote_id"], "reference": "salary-1"}));

    // Then its account, then the client's agreement.
    let refused = execute(&body).await;
    check_refusal(&refused, (422, "SERVICE_VALIDATION_ERROR", "account_identifier"));
    assert!(refused.text().contains("has not been verified"), "{}", refused.text());
    let verified = stage.make(&wallet, "/withdraw/fiat/institution-account-verification", body.clone()).await;
    assert_eq!(verified["is_verified"], true);
    assert!(verified["account_name"].as_str().is_some_and(|name| !name.is_empty()), "{verified}");
    let refused = execute(&body).await;
    assert!(refused.text().contains("has not been accepted"), "{}", refused.text());
    let accept = format!("/withdraw/fiat/quotes/{}/accept", text(&quote, "quote_id"));
    stage.make(&wallet, &accept, json!({})).await;
    let refused = execute(&with(body.clone(), json!({"amount": "41"}))).await;
    assert!(refused.text().contains("another request"), "{}", refused.text());
    assert_eq!(stage.available(&wallet, "", "USDC").await, "100", "nothing is held for a refusal");

    let made = execute(&body).await.expect(200).json()["data"].clone();
    let id = text(&made, "id");
    assert_eq!((&made["type"], &made["status"]), (&json!("OFFRAMP"), &json!("PENDING")));
    let told = stage.told_of(&wallet, "offramp.processing", &id).await;
    check_fields(&told, "wallet_id, amount, currency");
    assert_eq!((&told["amount"], &told["currency"]), (&json!("40"), &json!("NGN")));
    let done = stage.until(&wallet, &id, "SUCCESS").await;
    let told = stage.told_of(&wallet, "offramp.success", &id).await;
    check_fields(&told, "wallet_id, amount, currency, institution_identifier");
    assert_eq!((&told["institution_identifier"], &told["transaction_hash"]), (&json!("SANDNGLA"), &done["hash"]));
    assert_eq!(stage.told_names(&id), ["offramp.processing", "offramp.success"]);
    assert_eq!(stage.available(&wallet, "", "USDC").await, "60");
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "60");
    // The same request finds it; another one cannot use the quote.
    assert_eq!(execute(&body).await.expect(200).json()["data"]["id"], id.as_str());
    let again = execute(&with(body, json!({"reference": "salary-2"}))).await;
    check_refusal(&again, (409, "SERVICE_VALIDATION_ERROR", "quote_id"));
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_that_fails_gives_all_of_the_money_back() {
    let stage = Stage::open().await.covers(&[
        "submit-compliance-form answers",
        "decide-compliance-form answers",
        "event offramp.failed",
        "code OFFRAMP_FAILED",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    approve(&stage, "naira-onboarding").await;
    // Closed after the coins have come; blocked; refused by the bank; a quote that the provider does not honour.
    for (amount, account, reason, has_left) in [
        ("40", "0123450001", "ACCOUNT_CLOSED", true),
        ("40", "0123450003", "ACCOUNT_BLOCKED", false),
        ("20.13", "0123456789", "BANK_REFUSED", true),
        ("20.15", "0123456789", "QUOTE_EXPIRED", false),
    ] {
        let body = quoted(&stage, &wallet, "", payout(&stage, &wallet, amount, account).await).await;
        let made = stage.make(&wallet, "/withdraw/fiat/execute", body).await;
        let id = text(&made, "id");
        let failed = stage.until(&wallet, &id, "FAILED").await;
        assert_eq!((&failed["providerReason"], &failed["error_code"]), (&json!(reason), &json!("OFFRAMP_FAILED")));
        assert_eq!((failed["hash"].is_string(), failed["refundHash"].is_string()), (has_left, has_left), "{failed}");
        let told = stage.told_of(&wallet, "offramp.failed", &id).await;
        check_fields(&told, "wallet_id, error_code");
        assert_eq!(told["error_code"], "OFFRAMP_FAILED");
        assert_eq!(stage.available(&wallet, "", "USDC").await, "100", "{reason}");
        stage.agrees(&wallet).await;
        // Its quote was used, and nobody has accepted another one.
        let retried = stage.post(&wallet, &format!("/transactions/{id}/retry"), json!({})).await;
        check_refusal(&retried, (409, "SERVICE_VALIDATION_ERROR", ""));
        assert!(retried.text().contains("A new quote is needed"), "{}", retried.text());
    }
    // What came back was no deposit.
    let deposits = stage.list(&wallet, "/transactions?type=DEPOSIT&assets=USDC").await;
    assert_eq!(deposits["meta"]["totalItems"], 1, "{deposits}");
    // A form that is found wanting closes it again.
    form(&stage, "naira-onboarding", "decide", json!({"state": "rejected"})).await;
    let body = payout(&stage, &wallet, "40", "0123456789").await;
    check_refusal(&stage.post(&wallet, "/withdraw/fiat/quote", body).await, (403, "SERVICE_VALIDATION_ERROR", ""));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_goes_out_from_an_address_and_the_master_wallet_pays_the_gas() {
    let stage = Stage::open().await.covers(&[
        "quote-fiat-from-address answers",
        "accept-fiat-quote-of-address answers",
        "execute-fiat-from-address answers",
    ]);
    let wallet = stage.wallet("base").await;
    let address = stage.address_with(&wallet, "base", ("USDC", "30")).await;
    approve(&stage, "naira-onboarding").await;
    let place = format!("/addresses/{}", address.id);
    let body = quoted(&stage, &wallet, &place, payout(&stage, &wallet, "30", "0123456789").await).await;
    // What was quoted for the address is not the wallet's to use.
    let foreign = stage.post(&wallet, "/withdraw/fiat/execute", body.clone()).await;
    assert!(foreign.text().contains("another request"), "{}", foreign.text());
    let made = stage.make(&wallet, &format!("{place}/withdraw/fiat/execute"), body).await;
    let id = text(&made, "id");
    stage.until(&wallet, &id, "SUCCESS").await;
    assert_eq!(stage.told_of(&wallet, "offramp.success", &id).await["address_id"], address.id.as_str());
    assert_eq!(stage.on_chain("base", &address.address, "USDC").await, "0");
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_nobody_took_in_time_pays_nothing() {
    let stage = Stage::open_at(Clock::manual(START_MS), "").await.covers(&["quote-fiat answers"]);
    let mining = mine(&stage, "base");
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    approve(&stage, "naira-onboarding").await;
    let body = payout(&stage, &wallet, "40", "0123456789").await;
    let late = stage.make(&wallet, "/withdraw/fiat/quote", body.clone()).await;
    let body = quoted(&stage, &wallet, "", body).await;
    stage.host.clock.advance(QUOTE_MS);
    let accept = format!("/withdraw/fiat/quotes/{}/accept", text(&late, "quote_id"));
    for refused in
        [stage.post(&wallet, &accept, json!({})).await, stage.post(&wallet, "/withdraw/fiat/execute", body).await]
    {
        check_refusal(&refused, (422, "SERVICE_VALIDATION_ERROR", "quote_id"));
        assert!(refused.text().contains("has expired"), "{}", refused.text());
    }
    assert_eq!(stage.available(&wallet, "", "USDC").await, "100");
    drop(mining);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_paid_out_is_said_before_it_is_asked_for() {
    let stage =
        Stage::open().await.covers(&["list-fiat-* answers", "read-fiat-rates answers", "read-compliance answers"]);
    let wallet = stage.wallet("base").await;
    let currencies = stage.get(&wallet, "/withdraw/fiat/currencies").await;
    let codes: Vec<String> = currencies.as_array().unwrap().iter().map(|it| text(it, "currency")).collect();
    assert_eq!(codes, ["NGN", "KES", "TZS", "UGX", "BRL", "MWK"]);
    let naira = &currencies[0];
    check_fields(naira, "name, decimals, minimumAmount, maximumAmount, assets, form, compliance_status");
    assert_eq!(naira["compliance_status"], "not_started");
    let assets = stage.get(&wallet, "/withdraw/fiat/assets").await;
    let symbols: Vec<&Value> = assets.as_array().unwrap().iter().map(|it| &it["asset"]["symbol"]).collect();
    assert_eq!(symbols, ["USDC", "cNGN"]);
    let page = stage.list(&wallet, "/withdraw/fiat/currencies?page=2&limit=4").await;
    assert_eq!((&page["data"][1], &page["meta"]["totalItems"]), (&currencies[5], &json!(6)));
    let banks = stage.get(&wallet, "/withdraw/fiat/institutions?currency=KES").await;
    assert!(banks.as_array().unwrap().iter().any(|it| it["institution_identifier"] == "SANDKENA"), "{banks}");
    let rates = stage.get(&wallet, "/withdraw/fiat/rates?currency=NGN").await;
    let dollar = rates.as_array().unwrap().iter().find(|it| it["asset"] == "USDC").unwrap();
    assert_eq!((&dollar["rate"], &dollar["currency"]), (&json!("1510.25"), &json!("NGN")));
    let asset = stage.asset(&wallet, "USDC").await;
    let one = stage.get(&wallet, &format!("/withdraw/fiat/rates?currency=KES&asset_id={asset}")).await;
    assert_eq!(one, json!([{"asset": "USDC", "currency": "KES", "rate": "129.5"}]));
    let path = format!("/v1/wallets/{}/withdraw/fiat/institutions?currency=USD", wallet.id);
    check_invalid(&stage.call(&wallet.key, "GET", &path, None).await, "currency");
    let unknown = payout(&stage, &wallet, "40", "0123450000").await;
    let path = "/withdraw/fiat/institution-account-verification";
    check_invalid(&stage.post(&wallet, path, unknown).await, "account_identifier");
    let nobody = payout(&stage, &wallet, "40", "0123450004").await;
    check_refusal(&stage.post(&wallet, path, nobody).await, (503, "SERVICE_SERVER_ERROR", ""));
    // Forms are the account's business, not a wallet's, which may read them.
    let forms = stage.ask_as(&wallet.key, "GET", "/v1/compliance", None).await;
    let titles: Vec<&Value> = forms.as_array().unwrap().iter().map(|it| &it["form"]).collect();
    let african = "african-partner-onboarding";
    assert_eq!(titles, ["naira-onboarding", african, african, african, "due-diligence", african]);
    let submit = "/v1/compliance/forms/naira-onboarding/submit";
    check_refusal(&stage.call(&wallet.key, "POST", submit, Some(json!({}))).await, (403, "SERVICE_AUTH_FAILED", ""));
    let unknown = "/v1/compliance/forms/none/submit";
    check_refusal(&stage.call(&stage.account, "POST", unknown, Some(json!({}))).await, (404, "SERVICE_NOT_FOUND", ""));
    let early = stage
        .call(&stage.account, "POST", &submit.replace("submit", "decide"), Some(json!({"state": "approved"})))
        .await;
    check_refusal(&early, (409, "SERVICE_VALIDATION_ERROR", ""));
    stage.finish().await;
}
