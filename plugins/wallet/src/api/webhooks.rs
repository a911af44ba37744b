//! What became of webhooks, and one more attempt.

use std::collections::BTreeMap;

use tenon_plugin::json::Object;
use tenon_plugin::subscriptions::{Attempt, Delivery};
use tenon_plugin::{Call, FeedFilter, Outcome, Route, Stop, get, post, time};

use super::transactions::named;
use super::wallets::of_page;
use super::{access, envelope};
use crate::show::Text;
use crate::words;

pub const ROUTES: &[Route] = &[
    get("/v1/wallets/{walletId}/webhooks", "list-webhooks", list).query(envelope::PAGE),
    get(
        "/v1/wallets/{walletId}/transactions/{transactionId}/webhooks",
        "list-transaction-webhooks",
        list_of_transaction,
    )
    .query(envelope::PAGE),
    post("/v1/wallets/{walletId}/transactions/webhooks/resend", "resend-webhook", resend),
    post("/v1/wallets/{walletId}/transactions/{transactionId}/resend-webhook", "resend-webhook-of-path", resend),
];

/// Deliveries that the host gives at once.
const HOST_PAGE: u32 = 100;
/// The log goes back so many of them.
const HOST_PAGES_MAX: usize = 10;

/// The newest thousand, the newest first.
fn list(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let page = envelope::page(call)?;
    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..HOST_PAGES_MAX {
        let Some(found) = call.subscriptions().deliveries(&wallet.id, None, after.as_deref(), HOST_PAGE) else { break };
        all.extend(found.deliveries);
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    let url = &wallet.body.webhook_url;
    let (rows, skipped) = envelope::rows(page);
    let older = all.get(skipped.saturating_add(rows) as usize).map(|delivery| delivery.event.as_str());
    let references = references(call, &wallet.id, older, rows);
    let rows: Result<Vec<String>, Stop> = of_page(&all, page)
        .map(|delivery| {
            let attempts = call.subscriptions().attempts(&wallet.id, &delivery.event).unwrap_or_default();
            let reference = references.get(&delivery.event).cloned();
            Ok(row(url, delivery, attempts.last())?.raw_or_null("reference", reference).to_text())
        })
        .collect();
    envelope::list("Webhooks fetched successfully", &rows?, page.meta(all.len() as u64), None)
}

/// What the events after this one tell of, by their ids: the reference of a transaction. Others have none.
fn references(call: &Call, wallet: &str, after: Option<&str>, rows: u32) -> BTreeMap<String, String> {
    let filter = FeedFilter { event_types: Vec::new(), subjects: vec![wallet.to_owned()] };
    let found = call.feed(&filter, after, rows).map_or_else(Vec::new, |page| page.events);
    let reference = |body: &str| {
        let told = Object::parse(body).ok()?;
        // Inside of the envelope.
        let data = told.given("data").map(Object::parse).transpose().ok()?;
        data.as_ref().unwrap_or(&told).given("reference").map(str::to_owned)
    };
    found.into_iter().filter_map(|event| Some((event.id, reference(&event.body)?))).collect()
}

fn row(url: &str, delivery: &Delivery, last: Option<&Attempt>) -> Result<Text, Stop> {
    // The real product knows two ends; what is under way has neither.
    let status = match delivery.state.as_str() {
        "delivered" => "success",
        other => other,
    };
    let response = last.map(|last| Text::new().with("status", &last.status)?.with("text", &last.answer)).transpose()?;
    Text::new()
        .with("id", &delivery.event)?
        .with("url", url)?
        .with("event", &delivery.event_type)?
        .raw_or_null("response", response.map(|response| response.to_text()))
        .with("attempts", &delivery.attempts)?
        .with("status", status)?
        .with("outcome", &last.map(|last| last.outcome.as_str()))?
        .with("nextAttemptAt", &delivery.next_at.map(time::to_text))?
        .with("createdAt", &time::to_text(delivery.created_at))
}

/// Every attempt of every event of the transaction.
fn list_of_transaction(call: &Call) -> Outcome {
    let (wallet, found) = named(call)?;
    let mut rows = Vec::new();
    for event in &found.body.about.events {
        for attempt in call.subscriptions().attempts(&wallet.id, event).unwrap_or_default() {
            let response = Text::new().with("status", &attempt.status)?.with("text", &attempt.answer)?;
            let status = if attempt.outcome == "delivered" { "success" } else { "failed" };
            let text = Text::new()
                .with("id", event)?
                .with("url", &wallet.body.webhook_url)?
                .raw("response", response.to_text())
                .with("attempt", &attempt.number)?
                .with("status", status)?
                .with("outcome", &attempt.outcome)?
                .with("createdAt", &time::to_text(attempt.at))?;
            rows.push(text.to_text());
        }
    }
    envelope::paged_list(call, "Webhooks fetched successfully", &rows)
}

/// The last event of the transaction once more.
fn resend(call: &Call) -> Outcome {
    let (wallet, found) = named(call)?;
    let event = found.body.about.events.last().ok_or_else(words::not_found)?;
    if !call.subscriptions().redeliver(&wallet.id, event) {
        return Err(words::not_found());
    }
    let text = Text::new().with("id", &found.id)?.with("event_id", event)?;
    envelope::ok("Webhook resent successfully", &text.to_text())
}
