//! The clearing house interface (spec/clearing), both sides: the partner that receives payments, the platform that sends
//! them.
//!
//! Owns the table of what the interface offers. The rules are in `rules` (plain Rust), requests and answers in `api`, what
//! falls due in `tasks`; `carrying` does what the rules said, and `records` is the only file that reads and writes what is
//! stored.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod api;
mod audit;
mod carrying;
mod decision;
pub mod events;
pub mod records;
pub mod rules;
pub mod settings;
mod tasks;
#[cfg(test)]
mod tests;
mod wire;
pub mod words;

use tenon_plugin::{Plugin, Route, delete, get, post, put};

use api::{
    accounts, completions, destinations, identifiers, partners, payments, receipts, reports, responses, stream,
    transactions,
};
use rules::limits::{ACKNOWLEDGEMENT_MS, IMPORT_BYTES_MAX, MESSAGE_BYTES_MAX};

pub static PLUGIN: Plugin = Plugin::new("clearing", env!("CARGO_PKG_VERSION"))
    .title("Clearing house: inbound payments, partner and platform")
    .oauth_only()
    .routes(ROUTES)
    .collections(records::COLLECTIONS)
    .event_types(events::TYPES)
    .envelope(events::ENVELOPE)
    .tasks(tasks::TASKS)
    .settings(include_str!("settings.schema.json"))
    .failures(words::FAILURES)
    .invalid(400, words::BAD_REQUEST)
    .render_error(words::words)
    .strict_queries(words::refuse_query)
    .openapi(include_str!("openapi.json"));

tenon_plugin::export!(PLUGIN);

/// A message of the other side whose answer is more than an acknowledgement: it has the time that the operator gives. Its query
/// may give anything: the specification does not show all that the other side sends, and a payment does not fail for that.
const fn question(route: Route, scope: &'static [&'static str]) -> Route {
    route.scopes(scope).headers(&["traceparent"]).body_bytes_max(MESSAGE_BYTES_MAX).any_query()
}

/// A message of the other side: acknowledged within its time, or refused.
const fn message(route: Route, scope: &'static [&'static str]) -> Route {
    question(route, scope).deadline_ms(ACKNOWLEDGEMENT_MS)
}

const READ: &[&str] = &["inbound.read"];
const READ_ACCOUNTS: &[&str] = &["clearing.accounts.read"];
const WRITE_ACCOUNTS: &[&str] = &["clearing.accounts.write"];
const READ_PARTNERS: &[&str] = &["clearing.partners.read"];
const WRITE_PARTNERS: &[&str] = &["clearing.partners.write"];
const READ_DESTINATIONS: &[&str] = &["clearing.destinations.read"];
const WRITE_DESTINATIONS: &[&str] = &["clearing.destinations.write"];
const WEBHOOKS: &[&str] = &["clearing.webhooks"];

const ROUTES: &[Route] = &[
    // Hosted by the partner.
    question(
        post("/v1/identifiers/inbound/identifier-determination", "identifier-determination", identifiers::determine),
        &["inbound.identifier.determine"],
    ),
    message(
        post(
            "/v1/transactions/inbound/credit-transfer-authorisation",
            "credit-transfer-authorisation",
            receipts::authorise,
        ),
        &["inbound.credit-transfer.authorise"],
    ),
    question(
        post(
            "/v1/transactions/inbound/credit-transfer-authorisation-sync",
            "credit-transfer-authorisation-sync",
            receipts::authorise_sync,
        ),
        &["inbound.credit-transfer.authorise-sync"],
    )
    .on_fault(tasks::SYNC_BROKEN)
    .on_deadline(tasks::SYNC_BROKEN),
    message(
        post(
            "/v1/transactions/inbound/credit-transfer-completion",
            "credit-transfer-completion",
            completions::complete,
        ),
        &["inbound.credit-transfer.complete"],
    ),
    message(
        post("/v1/transactions/inbound/credit-transfer", "credit-transfer", receipts::credit_transfer),
        &["inbound.credit-transfer.receive"],
    ),
    message(
        post("/v1/transactions/inbound/direct-debit", "direct-debit", receipts::direct_debit),
        &["inbound.direct-debit.receive"],
    ),
    // Hosted by the platform.
    message(
        post(
            "/v1/transactions/inbound/credit-transfer-authorisation-response",
            "credit-transfer-authorisation-response",
            responses::authorisation,
        ),
        &["inbound.credit-transfer.authorisation-respond"],
    ),
    message(
        post(
            "/v1/transactions/inbound/credit-transfer-response",
            "credit-transfer-response",
            responses::credit_transfer,
        ),
        &["inbound.credit-transfer.respond"],
    ),
    message(
        post("/v1/transactions/inbound/direct-debit-response", "direct-debit-response", responses::direct_debit),
        &["inbound.direct-debit.respond"],
    ),
    // Around them.
    post("/v1/clearing/payments", "submit-payment", payments::submit)
        .scopes(&["clearing.payments.submit"])
        .headers(&["traceparent"])
        .body_bytes_max(MESSAGE_BYTES_MAX),
    post("/v1/clearing/payments/{uetr}/settlement", "settle-payment", payments::settle)
        .scopes(&["clearing.payments.settle"]),
    get("/v1/clearing/transactions", "list-transactions", transactions::list).scopes(READ).query(transactions::QUERY),
    get("/v1/clearing/transactions/{uetr}", "read-transaction", transactions::show).scopes(READ),
    post("/v1/clearing/transactions/{uetr}/redelivery", "redeliver-message", transactions::redeliver)
        .scopes(&["clearing.transactions.redeliver"]),
    get("/v1/clearing/reports/reconciliation", "report-reconciliation", reports::reconciliation)
        .scopes(READ)
        .query(&["from", "to", "after"]),
    get("/v1/clearing/reports/concerns", "report-concerns", reports::concerns).scopes(READ),
    post("/v1/clearing/accounts", "create-account", accounts::create).scopes(WRITE_ACCOUNTS),
    get("/v1/clearing/accounts", "list-accounts", accounts::list)
        .scopes(READ_ACCOUNTS)
        .query(&["partner", "after", "limit"]),
    post("/v1/clearing/accounts/import", "import-accounts", accounts::import)
        .scopes(WRITE_ACCOUNTS)
        .body_bytes_max(IMPORT_BYTES_MAX),
    get("/v1/clearing/accounts/{id}", "read-account", accounts::show).scopes(READ_ACCOUNTS),
    put("/v1/clearing/accounts/{id}", "update-account", accounts::update).scopes(WRITE_ACCOUNTS),
    delete("/v1/clearing/accounts/{id}", "delete-account", accounts::delete).scopes(WRITE_ACCOUNTS),
    post("/v1/clearing/partners", "create-partner", partners::create).scopes(WRITE_PARTNERS),
    get("/v1/clearing/partners", "list-partners", partners::list).scopes(READ_PARTNERS).query(&["after", "limit"]),
    get("/v1/clearing/partners/{id}", "read-partner", partners::show).scopes(READ_PARTNERS),
    put("/v1/clearing/partners/{id}", "update-partner", partners::update).scopes(WRITE_PARTNERS),
    delete("/v1/clearing/partners/{id}", "delete-partner", partners::delete).scopes(WRITE_PARTNERS),
    get("/v1/clearing/destinations/{id}", "read-destination", destinations::show).scopes(READ_DESTINATIONS),
    put("/v1/clearing/destinations/{id}", "put-destination", destinations::put).scopes(WRITE_DESTINATIONS),
    delete("/v1/clearing/destinations/{id}", "delete-destination", destinations::delete).scopes(WRITE_DESTINATIONS),
    get("/v1/clearing/events", "list-events", stream::list).scopes(READ).query(&["events", "uetrs", "after", "limit"]),
    get("/v1/clearing/stream", "stream-events", stream::open).scopes(READ).query(&["events", "uetrs"]),
    hook(post("/v1/clearing/webhook-endpoints", "create-webhook", api::webhooks::create)),
    hook(get("/v1/clearing/webhook-endpoints", "list-webhooks", api::webhooks::list).query(&["limit"])),
    hook(get("/v1/clearing/webhook-endpoints/{id}", "read-webhook", api::webhooks::show)),
    hook(put("/v1/clearing/webhook-endpoints/{id}", "update-webhook", api::webhooks::update)),
    hook(delete("/v1/clearing/webhook-endpoints/{id}", "delete-webhook", api::webhooks::delete)),
    hook(post("/v1/clearing/webhook-endpoints/{id}/enable", "enable-webhook", api::webhooks::enable)),
    hook(post("/v1/clearing/webhook-endpoints/{id}/disable", "disable-webhook", api::webhooks::disable)),
    hook(post("/v1/clearing/webhook-endpoints/{id}/rotate", "rotate-webhook", api::webhooks::rotate)),
    hook(post("/v1/clearing/webhook-endpoints/{id}/test", "test-webhook", api::webhooks::send_test)),
    hook(post("/v1/clearing/webhook-endpoints/{id}/recover", "recover-webhook", api::webhooks::recover)),
    hook(
        get("/v1/clearing/webhook-endpoints/{id}/deliveries", "list-deliveries", api::webhooks::list_deliveries)
            .query(&["status", "after", "limit"]),
    ),
    hook(get(
        "/v1/clearing/webhook-endpoints/{id}/deliveries/{event}/attempts",
        "list-attempts",
        api::webhooks::attempts,
    )),
    hook(post(
        "/v1/clearing/webhook-endpoints/{id}/deliveries/{event}/redeliver",
        "redeliver-event",
        api::webhooks::redeliver,
    )),
];

const fn hook(route: Route) -> Route {
    route.scopes(WEBHOOKS)
}
