//! Stand-ins for the companies that the wallet interface needs (docs/wallet/providers.md): payouts in fiat money, swaps, the
//! gateway, rates, screening, virtual accounts.
//!
//! Owns the table of what is served. `rules` decides by tables, `api` reads and answers, `intake` waits for coins of customers,
//! `delivery` sends coins, `callbacks` tells customers; `records` is the only place that reads and writes what is stored. Banks and
//! prices are made up; what happens on blockchains is not.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod api;
mod callbacks;
mod delivery;
mod intake;
mod records;
pub mod rules;
mod settings;
mod tasks;
#[cfg(test)]
mod tests;
pub mod words;

use tenon_plugin::{Plugin, Route, delete, get, post, put};

use api::{gateway, liquidity, lists, payout, rates, screening, treasury, virtual_accounts, webhook};
use rules::limits::CHUNK_BYTES_MAX;

pub static PLUGIN: Plugin = Plugin::new("sandbox-providers", env!("CARGO_PKG_VERSION"))
    .title("Sandbox providers: payouts, liquidity, gateway, rates, screening, virtual accounts")
    .key_in_header("x-api-key")
    .routes(ROUTES)
    .collections(records::COLLECTIONS)
    .tasks(tasks::TASKS)
    .settings(include_str!("settings.schema.json"))
    .failures(words::FAILURES)
    .invalid(422, words::INVALID)
    .render_error(words::words)
    .openapi(include_str!("openapi.json"));

tenon_plugin::export!(PLUGIN);

const ROUTES: &[Route] = &[
    get("/v1/payout/currencies", "list-payout-currencies", payout::list_currencies),
    get("/v1/payout/institutions", "list-institutions", payout::list_institutions),
    post("/v1/payout/account-verifications", "verify-account", payout::verify_account),
    post("/v1/payout/quotes", "quote-payout", payout::quote),
    post("/v1/payouts", "create-payout", payout::execute),
    get("/v1/payouts/{id}", "read-payout", payout::show),
    post("/v1/swap/quotes", "quote-swap", liquidity::quote),
    post("/v1/swaps", "create-swap", liquidity::execute),
    get("/v1/swaps/{id}", "read-swap", liquidity::show),
    get("/v1/gateway/networks", "list-gateway-networks", gateway::list_networks),
    get("/v1/gateway/balance", "read-gateway-balance", gateway::balance),
    post("/v1/gateway/deposits", "create-gateway-deposit", gateway::deposit),
    get("/v1/gateway/deposits/{id}", "read-gateway-deposit", gateway::show_deposit),
    post("/v1/gateway/withdrawals", "create-gateway-withdrawal", gateway::withdraw),
    get("/v1/gateway/withdrawals/{id}", "read-gateway-withdrawal", gateway::show_withdrawal),
    get("/v1/rates", "list-rates", rates::list),
    get("/v1/screening", "screen-address", screening::screen),
    post("/v1/virtual-accounts", "create-virtual-account", virtual_accounts::create),
    get("/v1/virtual-accounts", "list-virtual-accounts", virtual_accounts::list),
    get("/v1/virtual-accounts/{id}", "read-virtual-account", virtual_accounts::show),
    post("/v1/virtual-accounts/{id}/activate", "activate-virtual-account", virtual_accounts::activate),
    post("/v1/virtual-accounts/{id}/deactivate", "deactivate-virtual-account", virtual_accounts::deactivate),
    post("/v1/virtual-accounts/{id}/regenerate", "regenerate-virtual-account", virtual_accounts::regenerate),
    get("/v1/virtual-accounts/{id}/payments", "list-payments", virtual_accounts::list_payments),
    get("/v1/virtual-accounts/{id}/payments/{payment_id}", "read-payment", virtual_accounts::show_payment),
    // Of the sandbox alone.
    post("/v1/virtual-accounts/{id}/simulate-payment", "simulate-payment", virtual_accounts::simulate_payment),
    get("/v1/treasury/{blockchain}", "read-treasury", treasury::show),
    get("/v1/webhook", "read-webhook", webhook::show),
    put("/v1/webhook", "put-webhook", webhook::put),
    get("/v1/sanctions/lists", "list-sanctions-lists", lists::list),
    get("/v1/sanctions/lists/{name}", "read-sanctions-list", lists::show),
    put("/v1/sanctions/lists/{name}", "put-sanctions-list", lists::put).body_bytes_max(CHUNK_BYTES_MAX),
    delete("/v1/sanctions/lists/{name}", "delete-sanctions-list", lists::delete),
];
