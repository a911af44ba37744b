//! The pictures of docs/clearing.md: each flow is run between both sides, and drawn again from the journal of each.

use clearing::rules::scheme::Operation;
use serde_json::{Value, json};
use tenon_bench::guests::workspace_root;

use super::{
    coverage::Side::{self, Bank, Hub},
    messages::{ACCOUNT, AUTHORISE, AUTHORISE_SYNC, DEBIT, PROXY, TRANSFER, UETR, payment},
    stage::Stage,
};
use crate::{docs::markdown::blocks, support::eventually};

/// "platform->>partner: credit-transfer 202": one message and how it was taken.
fn drawn(heading: &str) -> Vec<String> {
    let page = std::fs::read_to_string(workspace_root().join("docs/clearing.md")).unwrap();
    let (_, section) = page.split_once(&format!("\n### {heading}\n")).expect("a flow of that name");
    let picture = blocks(section).into_iter().find(|block| block.language == "mermaid").expect("a picture");
    let mut messages: Vec<String> = Vec::new();
    for line in picture.text.lines().map(str::trim) {
        match (line.split_once("-->>"), line.contains("->>")) {
            (Some((_, answer)), _) => {
                let (_, status) = answer.split_once(": ").expect("a status");
                messages.last_mut().expect("a message before its answer").push_str(&format!(" {status}"));
            }
            (None, true) => messages.push(line.to_owned()),
            (None, false) => {}
        }
    }
    messages
}

/// The same from what one side wrote down: what it sent with the reply to it, and what it was sent. How the other side took
/// a message stands in the sender's journal alone.
fn written(journal: &[Value], side: Side) -> Vec<String> {
    let (us, them) = if side == Hub { ("platform", "partner") } else { ("partner", "platform") };
    let reply_to = |operation: &str| {
        journal.iter().find(|line| line["direction"] == "reply" && line["operation"] == operation).expect("a reply")
    };
    // What operators ask for is no message between the two.
    let is_message = |line: &&Value| Operation::of_name(line["operation"].as_str().unwrap()).is_some();
    let messages = journal.iter().filter(|line| line["direction"] != "reply").filter(is_message);
    let draw = |line: &Value| {
        let operation = line["operation"].as_str().unwrap();
        if line["direction"] == "in" {
            assert_eq!(line["outcome"], "accepted");
            return format!("{them}->>{us}: {operation}");
        }
        format!("{us}->>{them}: {operation} {}", reply_to(operation)["outcome"].as_str().unwrap())
    };
    messages.map(draw).collect()
}

async fn compare(stage: Stage, heading: &str) {
    let drawn = drawn(heading);
    for (side, tenant, name) in [(Hub, "hub/test", "platform"), (Bank, "bank/test", "partner")] {
        let seen_from_here: Vec<&str> = drawn
            .iter()
            .map(|message| if message.starts_with(name) { message } else { message.rsplit_once(' ').unwrap().0 })
            .collect();
        let journal = eventually("the reply to the last message", async || {
            let journal = stage.host.journal(tenant).await;
            let count = |direction: &str| journal.iter().filter(|line| line["direction"] == direction).count();
            (count("out") == count("reply")).then_some(journal)
        });
        assert_eq!(written(&journal.await, side), seen_from_here, "{heading}, as {} saw it", side.name());
    }
    stage.finish().await;
}

async fn settled(operation: &str, changes: Value) -> Stage {
    let stage = Stage::both().await;
    stage.hub.post("/v1/clearing/payments", payment(operation, changes)).await.check(202);
    stage.until(Hub, UETR, "state", "approved").await;
    let settlement = format!("/v1/clearing/payments/{UETR}/settlement");
    stage.hub.post(&settlement, json!({"settlement_date": "2026-05-07"})).await.check(202);
    stage.until(Hub, UETR, "delivery", "delivered").await;
    stage
}

async fn answered(operation: &str) -> Stage {
    let stage = Stage::both().await;
    stage.hub.post("/v1/clearing/payments", payment(operation, json!({}))).await.check(202);
    stage.until(Bank, UETR, "response", "delivered").await;
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn real_time_clearing_is_as_it_is_drawn() {
    compare(settled(AUTHORISE, json!({})).await, "ZA_RTC").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_time_clearing_with_the_decision_as_the_answer_is_as_it_is_drawn() {
    compare(settled(AUTHORISE_SYNC, json!({"creditor_account_number": ACCOUNT})).await, "ZA_RTC, synchronous").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rapid_payment_by_proxy_is_as_it_is_drawn() {
    let by_proxy = json!({"payment_scheme": "ZA_RPP", "creditor_account_proxy": PROXY});
    compare(settled(AUTHORISE, by_proxy).await, "ZA_RPP").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eft_credit_is_as_it_is_drawn() {
    compare(answered(TRANSFER).await, "ZA_EFT, credit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eft_debit_is_as_it_is_drawn() {
    compare(answered(DEBIT).await, "ZA_EFT, debit").await;
}
