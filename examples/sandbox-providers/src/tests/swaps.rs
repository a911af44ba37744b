//! Swaps and bridges.

use serde_json::json;

use super::support::*;

#[test]
fn a_swap_is_a_success_when_what_it_brings_is_final() {
    let host = host();
    let taken = swap(&host, "s1", "100");
    assert_eq!((taken.status, taken.json()["delivery"]["transaction_hash"].clone()), (201, json!(null)));
    pay_in(&host, Some(USDC), "100000000");
    let given = give_coins(&host);
    let treasury = "0x0000000000000000000000000000000000000000";
    let wishes = json!([
        {"address": treasury, "token": null, "amount": "200000000000000"},
        {"address": treasury, "token": USDT, "amount": "99900000"},
    ]);
    assert_eq!(json!(given), wishes, "coins for the fee, then what is delivered");
    let shown = get(&host, "/v1/swaps/s1");
    assert_eq!(
        (&shown["status"], &shown["delivery"]["transaction_hash"]),
        (&json!("processing"), &json!("0xpolygon-0"))
    );
    finish(&host);
    let shown = get(&host, "/v1/swaps/s1");
    assert_eq!((&shown["status"], &shown["delivery"]["amount"]), (&json!("success"), &json!("99.9")));
    assert_eq!((&shown["delivery"]["blockchain"], &shown["delivery"]["address"]), (&json!("polygon"), &json!(OURS)));
}

#[test]
fn each_priority_gets_its_offer_first() {
    for (order, arrival_seconds, is_fixed) in
        [("FASTEST", 30, false), ("CHEAPEST", 900, false), ("RECOMMENDED", 180, false), ("NO_SLIPPAGE", 240, true)]
    {
        let offer = offer(&host(), "100", order);
        assert_eq!((&offer["arrival_seconds"], &offer["is_fixed"]), (&json!(arrival_seconds), &json!(is_fixed)));
    }
    let offer = offer(&host(), "100", "RECOMMENDED");
    let texts = ["amount", "minimum_amount", "rate", "fee", "network_fee", "slippage"].map(|name| offer[name].clone());
    assert_eq!(json!(texts), json!(["99.9", "99.4005", "0.999", "0.1", "0.0002", "0.5"]));
}

#[test]
fn a_rate_that_moved_sends_everything_back() {
    let host = host();
    swap(&host, "s1", "100.13");
    pay_in(&host, Some(USDC), "100130000");
    give_coins(&host);
    finish(&host);
    let shown = get(&host, "/v1/swaps/s1");
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("failed"), &json!("RATE_MOVED")));
    assert_eq!((&shown["refund"]["amount"], &shown["refund"]["blockchain"]), (&json!("100.13"), &json!("base")));
    assert_eq!(shown["delivery"], json!(null), "there will be none");
}

#[test]
fn other_amounts_stall_are_refused_or_fall_short() {
    let host = host();
    assert_eq!(refusal(&swap(&host, "s1", "100.15")), no(422, "QUOTE_EXPIRED"));
    let short = swap(&host, "s2", "100.16").json();
    assert_eq!(short["delivery"]["amount"], "90.053856", "a tenth less than 100.05984");
    let host = super::support::host();
    swap(&host, "s3", "100.14");
    pay_in(&host, Some(USDC), "100140000");
    host.advance_ms(86_400_000);
    host.run_due();
    assert_eq!(get(&host, "/v1/swaps/s3")["status"], "processing");
}

#[test]
fn a_minimum_lies_between_that_of_the_offer_and_its_amount() {
    let host = host();
    for (minimum, status) in [("99.4004", 422), ("99.5", 201), ("99.91", 422), ("x", 422)] {
        let offer = offer(&host, "100", "RECOMMENDED");
        let body = json!({
            "id": format!("s-{status}-{minimum}"),
            "offer_id": offer["offer_id"],
            "minimum_amount": minimum,
            "recipient_address": OURS,
            "refund_address": OURS,
        });
        assert_eq!(post(&host, "/v1/swaps", body).status, status, "{minimum}");
    }
}

#[test]
fn the_same_asset_twice_and_unknown_ones_have_no_route() {
    let quote = |from: &str, to: &str| {
        let body = json!({
            "from": {"blockchain": "base", "asset": from},
            "to": {"blockchain": "base", "asset": to},
            "amount": "1",
        });
        refusal(&post(&host(), "/v1/swap/quotes", body))
    };
    for (from, to) in [("USDC", "USDC"), ("USDC", "SHELLS"), ("SHELLS", "USDC")] {
        assert_eq!(quote(from, to), no(422, "ROUTE_NOT_SUPPORTED"), "{from} {to}");
    }
    assert_eq!(quote("USDC", "ETH").0, 201);
}

#[test]
fn a_blockchain_that_does_not_answer_gives_no_quote() {
    let chains = Chains::new();
    chains.answers.set(false);
    let body = json!({
        "from": {"blockchain": "base", "asset": "USDC"},
        "to": {"blockchain": "polygon", "asset": "USDT"},
        "amount": "1",
    });
    assert_eq!(refusal(&post(&host_on(chains), "/v1/swap/quotes", body)), no(503, "PROVIDER_UNAVAILABLE"));
}
