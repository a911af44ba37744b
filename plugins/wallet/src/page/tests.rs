//! The page and its status as a browser gets them: every state, hostile texts, headers.

mod browser;

use serde_json::Value;
use tenon_plugin::test_kit::{START_MS, TestAnswer};

use super::{Payment, Status, document, notice, policy, show, status};
use crate::rules::amount::Units;
use crate::rules::asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::network::Network;

/// 25 USDC on the test network of Base, not paid.
pub fn payment() -> Payment {
    Payment {
        name: "Blue Bookshop".to_owned(),
        description: None,
        asset: asset::find("USDC", Blockchain::Base).unwrap(),
        amount: Some(Units::new(25_000_000)),
        blockchain: Blockchain::Base,
        network: Network::Testnet,
        address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed".to_owned(),
        status: Status::Waiting,
        expires_ms: None,
        success_message: Some("See you soon".to_owned()),
        inactive_message: Some("Sold out".to_owned()),
        redirect_url: Some("https://shop.example/thanks?order=1&x=2".to_owned()),
    }
}

fn page(status: Status) -> String {
    document::text(&Payment { status, ..payment() }).unwrap()
}

fn said(status: Status) -> Value {
    serde_json::to_value(notice::of(&Payment { status, ..payment() })).unwrap()
}

/// Title, detail, message.
fn check(status: Status, expected: (&str, &str, Option<&str>)) {
    let said = said(status);
    let words = (said["title"].as_str().unwrap(), said["detail"].as_str().unwrap(), said["message"].as_str());
    assert_eq!(words, expected, "{status:?}");
    let page = page(status);
    for text in [expected.0, expected.1, expected.2.unwrap_or_default()] {
        assert!(page.contains(text), "{status:?}: {text}");
    }
}

#[test]
fn every_status_has_its_words() {
    let units = |units: u128| Units::new(units * 1_000_000);
    check(
        Status::Waiting,
        ("Waiting for your payment", "Send 25 USDC to the address below. This page updates by itself.", None),
    );
    check(
        Status::Seen { confirmations: 2, required: 12 },
        ("Your payment has been seen", "2 of 12 confirmations. There is nothing more to send.", None),
    );
    check(
        Status::Underpaid { received: units(10) },
        (
            "A part of the amount has arrived",
            "10 of 25 USDC have arrived. Send the remaining 15 USDC to the same address.",
            None,
        ),
    );
    check(Status::Paid, ("Paid", "The payment has arrived.", Some("See you soon")));
    check(
        Status::Overpaid { received: units(26) },
        (
            "Paid, with more than was asked for",
            "26 USDC have arrived, 1 more than asked for. Ask the recipient about the difference.",
            Some("See you soon"),
        ),
    );
    let nothing = "Send nothing more to its address.";
    check(Status::Expired, ("This payment link has expired", nothing, None));
    check(Status::Inactive, ("This payment link is closed", nothing, Some("Sold out")));
}

#[test]
fn the_address_is_shown_while_something_is_to_be_sent() {
    let address = payment().address;
    for status in [Status::Waiting, Status::Underpaid { received: Units::new(1) }] {
        assert!(page(status).contains(&address) && !page(status).contains("aria-label=\"How to pay\" hidden"));
        assert_eq!((&said(status)["open"], &said(status)["over"]), (&true.into(), &false.into()));
    }
    let seen = Status::Seen { confirmations: 0, required: 12 };
    assert!(page(seen).contains("aria-label=\"How to pay\" hidden"));
    assert_eq!((&said(seen)["open"], &said(seen)["over"]), (&false.into(), &false.into()));
    for status in [Status::Paid, Status::Overpaid { received: Units::new(1) }, Status::Expired, Status::Inactive] {
        assert!(!page(status).contains(&address), "{status:?}");
        assert_eq!((&said(status)["open"], &said(status)["over"]), (&false.into(), &true.into()));
    }
}

#[test]
fn what_is_due_is_what_can_be_copied() {
    assert_eq!(said(Status::Waiting)["due"], "25");
    assert!(said(Status::Paid)["due"].is_null() && said(Status::Expired)["due"].is_null());
    assert_eq!(said(Status::Underpaid { received: Units::new(24_999_999) })["due"], "0.000001");
    assert!(page(Status::Underpaid { received: Units::new(24_999_999) }).contains("id=\"due\">0.000001<"));
}

#[test]
fn the_payer_may_choose_the_amount() {
    let page = document::text(&Payment { amount: None, ..payment() }).unwrap();
    assert!(page.contains("Send any amount of USDC") && page.contains("as much as you choose"));
    assert!(!page.contains("id=\"due\""));
}

#[test]
fn the_payer_is_told_how_long_there_is() {
    let timed = document::text(&Payment { expires_ms: Some(START_MS), ..payment() }).unwrap();
    assert!(timed.contains("<time datetime=\"2026-05-07T08:30:00.000000Z\">2026-05-07 08:30 UTC</time>"), "{timed}");
    assert!(!page(Status::Waiting).contains("<time"));
}

#[test]
fn a_screen_reader_says_what_changes_and_only_that() {
    let live = page(Status::Waiting);
    let (_, status) = live.split_once("<div role=\"status\" aria-live=\"polite\" aria-atomic=\"false\">").unwrap();
    assert!(status.starts_with("<h2 id=\"title\"") && status.split_once("</div>").unwrap().0.contains("id=\"detail\""));
}

#[test]
fn a_test_network_is_marked_and_a_real_one_is_not() {
    assert!(page(Status::Waiting).contains("Test network: Base Sepolia"));
    let real = document::text(&Payment { network: Network::Mainnet, ..payment() }).unwrap();
    assert!(!real.contains("Test network") && real.contains("Base, Mainnet"));
}

#[test]
fn the_payer_is_told_what_else_would_be_lost() {
    let page = page(Status::Waiting);
    assert!(page.contains("Send only USDC on Base.") && page.contains("USDC (USD Coin, ERC20)"));
}

#[test]
fn without_a_script_the_page_loads_itself_until_it_is_over() {
    assert!(page(Status::Waiting).contains("<noscript><meta http-equiv=\"refresh\" content=\"15\"></noscript>"));
    let paid = page(Status::Paid);
    assert!(paid.contains("content=\"5; url=https://shop.example/thanks?order=1&amp;x=2\""), "{paid}");
    assert!(!page(Status::Expired).contains("http-equiv"));
}

#[test]
fn the_payer_is_led_on_by_a_link_without_a_referrer() {
    assert!(page(Status::Paid).contains("rel=\"noreferrer\" href=\"https://shop.example/thanks?order=1&amp;x=2\""));
    assert_eq!(said(Status::Paid)["redirect_url"], "https://shop.example/thanks?order=1&x=2");
    assert_eq!(said(Status::Waiting)["redirect_url"], Value::Null);
    let hostile = Payment { redirect_url: Some("javascript:alert(1)".to_owned()), status: Status::Paid, ..payment() };
    assert!(!document::text(&hostile).unwrap().contains("alert(1)"));
}

/// Breaks out of tags, attributes, the title, the script; turns what follows around.
const HOSTILE: &str =
    "</title></script><script>alert(1)</script><img src=x onerror='alert(1)'>\" onload=\"alert(1)\u{202e}\u{0}";

#[test]
fn what_a_link_says_is_text_and_nothing_else() {
    for status in [Status::Waiting, Status::Paid, Status::Inactive] {
        let hostile = || Some(HOSTILE.to_owned());
        let url = Some(format!("https://shop.example/{HOSTILE}").replace([' ', '\u{202e}', '\u{0}'], ""));
        let page = document::text(&Payment {
            name: HOSTILE.to_owned(),
            description: hostile(),
            success_message: hostile(),
            inactive_message: hostile(),
            address: HOSTILE.to_owned(),
            redirect_url: url,
            status,
            ..payment()
        });
        let page = page.unwrap();
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert_eq!(page.matches("</script>").count(), 1, "{page}");
        assert!(
            !page.contains("<img") && !page.contains("\" onload") && !page.contains(['\u{202e}', '\u{0}']),
            "{page}"
        );
    }
}

#[test]
fn a_message_of_the_status_turns_nothing_around_either() {
    let said =
        notice::of(&Payment { success_message: Some("a\u{202e}b".to_owned()), status: Status::Paid, ..payment() });
    assert_eq!(said.message.as_deref(), Some("ab"));
}

fn header<'a>(headers: &'a [(&'static str, String)], wanted: &str) -> &'a str {
    headers.iter().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value)
}

#[test]
fn nobody_else_may_keep_frame_or_learn_the_address_of_the_page() {
    let (document, status) = (policy::of_document(), policy::of_status());
    for headers in [&document, &status] {
        assert_eq!(header(headers, "cache-control"), "no-store");
        assert_eq!(header(headers, "referrer-policy"), "no-referrer");
        assert_eq!(header(headers, "x-content-type-options"), "nosniff");
    }
    assert_eq!(header(&document, "x-frame-options"), "DENY");
}

#[test]
fn the_policy_allows_one_script_one_style_and_the_status() {
    let headers = policy::of_document();
    let policy = header(&headers, "content-security-policy");
    for part in
        ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "connect-src 'self'"]
    {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert_eq!(policy.matches("'sha256-").count(), 2);
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
}

#[test]
fn the_page_names_no_other_place() {
    let page = page(Status::Waiting);
    assert!(
        !page.contains("://") && !page.contains("src=") && !page.contains("@import") && !page.contains("url("),
        "{page}"
    );
}

#[test]
fn the_status_comes_in_the_envelope_of_the_interface() {
    let answer = TestAnswer::from_answer(status(&payment()).unwrap());
    let whole = r#"{"statusCode":200,"message":"Payment status","data":{"state":"waiting","title":"#;
    assert!(answer.status == 200 && answer.body.starts_with(whole), "{}", answer.body);
    let page = TestAnswer::from_answer(show(&payment()).unwrap());
    assert!(page.headers.contains(&("content-type".to_owned(), "text/html; charset=utf-8".to_owned())));
}

#[test]
fn the_example_of_the_documents_is_the_status() {
    let received = Units::new(10_000_000);
    let answer = status(&Payment { status: Status::Underpaid { received }, ..payment() });
    let document = include_str!("../../../../docs/wallet/payment-page.md");
    let (_, example) = document.split_once("```json\n").unwrap();
    let example: Value = serde_json::from_str(example.split_once("```").unwrap().0).unwrap();
    assert_eq!(TestAnswer::from_answer(answer.unwrap()).json(), example);
}
